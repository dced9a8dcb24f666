/*
 * An OpenBLAS that complains and ends the process where the real one can: what confine.cpp has to hold.
 *
 * It prints by every name a C compiler makes of a print, and obeys a variable. LOUD_EXIT_AT_START: it calls exit() when
 * it is loaded, as one without kernels for the processor; otherwise when a work buffer is asked for (buffer.c). In two
 * files, because the linker wraps only what crosses from one object to another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "loud.h"

#include <stdio.h>
#include <stdlib.h>

void complain(const char *text) {
    if (getenv("OPENBLAS_VERBOSE")) exit(3);
    puts(text);
    printf("%s\n", text);
    printf("%s %d\n", text, 1);
    putchar('!');
    fprintf(stderr, "%s %d\n", text, 2);
    fputs(text, stderr);
    fputc('!', stdout);
    fwrite(text, 1, 4, stdout);
    perror(text);
    fflush(stdout);
    fflush(stderr);
}

void gotoblas_dynamic_init(void) {
    complain("OpenBLAS : Architecture Initialization failed. No initialization function found.");
#ifdef LOUD_EXIT_AT_START
    exit(1);
#endif
}

char *openblas_get_config(void) {
    static char text[] = "a loud OpenBLAS";
    return text;
}
