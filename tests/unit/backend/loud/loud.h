/* What the two files of a loud OpenBLAS have of each other, by the names of the real one. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LOUD_H
#define LOUD_H

void complain(const char *text);
void gotoblas_dynamic_init(void);
char *openblas_get_config(void);
void *blas_memory_alloc(int position);
void blas_memory_free(void *buffer);
void sgemm_(void);

#endif
