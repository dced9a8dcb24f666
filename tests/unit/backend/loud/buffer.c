/*
 * The part of a loud OpenBLAS that is entered first: its constructor, buffers, and the product. See start.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "loud.h"

__attribute__((constructor)) static void gotoblas_init(void) { gotoblas_dynamic_init(); }

void *blas_memory_alloc(int position) {
    (void)position;
    complain("OpenBLAS : Program is Terminated. Because you tried to allocate too many memory regions.");
    exit(1);
}

void blas_memory_free(void *buffer) { (void)buffer; }

void sgemm_(void) { complain("** On entry to SGEMM parameter number 8 had an illegal value"); }
