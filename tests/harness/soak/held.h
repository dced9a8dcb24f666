/*
 * Counts the resources of a process at the end of each cycle and determines growth by a linear fit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_SOAK_HELD_H
#define XF_TEST_SOAK_HELD_H

/* Columns of a sample. Those from RESIDENT to HEAP are bytes. */
enum held { RESIDENT, PEAK, HEAP, DESCRIPTORS, THREADS, MAPPINGS, HELDS };

struct sample {
    double seconds; /* since the start */
    double cycle;
    double held[HELDS];
};

/* Counts. A thread that has ended is waited for: the kernel shows it for an instant longer. */
struct sample count_held(double seconds, double cycle, int threads_expected);

/* held = at + slope * x by least squares; error is the slope's standard error, with the samples' own memory counted. */
struct line {
    double slope, error;
};
struct line fit(const double *x, const double *y, int count);

/*
 * Prints a table of the samples from `first` on and judges it: how many rows grow.
 * Descriptors and threads must be the same in each sample. Mappings may be a few more. Bytes of the heap must not grow
 * with the cycles, resident memory not with the hours.
 */
int judge(const struct sample *samples, int first, int count);

#endif
