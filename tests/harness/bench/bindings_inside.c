/*
 * bindings_inside.c - tells what of a benchmark's processor time is spent inside xf_translate(). For bindings.py, which
 * preloads it: two processes compare only as well as the machine is quiet, the two parts of one pass compare always.
 *
 * To the file that XF_BENCH_INSIDE names it appends a line for each pass, which is XF_BENCH_CALLS calls: the seconds of
 * the calling thread inside the calls (with context.threads=1 all of the library's), and those of the whole process,
 * other threads included, from the end of the last pass to the end of this one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "xformer/xformer.h"

typedef xf_status translate_fn(xf_decoder *, const char *const *, const size_t *, size_t, const xf_decode_params *,
                               const xf_call *, xf_hypotheses **, xf_error *);

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void report(double inside, double whole) {
    char line[64];
    const char *path = getenv("XF_BENCH_INSIDE");
    const int file = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;
    const int length = snprintf(line, sizeof line, "%.9f %.9f\n", inside, whole);
    if (file < 0 || write(file, line, (size_t)length) != length) abort();
    close(file);
}

xf_status xf_translate(xf_decoder *decoder, const char *const *texts, const size_t *lengths, size_t count,
                       const xf_decode_params *params, const xf_call *call, xf_hypotheses **out, xf_error *err) {
    static translate_fn *real;
    static int calls;
    static double inside, last;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "xf_translate");
    const double start = now(CLOCK_THREAD_CPUTIME_ID);
    const xf_status status = real(decoder, texts, lengths, count, params, call, out, err);
    inside += now(CLOCK_THREAD_CPUTIME_ID) - start;
    if (++calls % atoi(getenv("XF_BENCH_CALLS")) == 0) {
        const double whole = now(CLOCK_PROCESS_CPUTIME_ID);
        report(inside, whole - last);
        inside = 0;
        last = whole;
    }
    return status;
}
