/*
 * timing.h - measures the time of a function: repeated, with median and range.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_TIMING_H
#define PAPER_TIMING_H

#include <stdbool.h>
#include <stddef.h>

enum { MAX_REPEATS = 101 };

/*
 * Switches to processor time of this process instead of wall-clock time. Use it for single-threaded work on a machine
 * that is busy.
 */
void count_processor_time(void);

/* Seconds; NaN if there is no measurement. If only the median is NaN, the noise hides the value; see time_difference().
 */
struct timing {
    double median, least, most;
};

/* Does the work once. Returns false to stop the measurement. */
typedef bool (*work_fn)(void *user);

/* Returns median and range of the values, and sorts them. */
struct timing timing_of(double *seconds, int count);

/*
 * Times a function: one warm-up call, then `repeats` samples, each with enough rounds to take about 40 ms. Returns
 * false if the function stopped the measurement.
 */
bool time_work(work_fn work, void *user, int repeats, struct timing *out);

/*
 * Times how much longer the second function takes than the first: the median of the differences, divided by `parts`.
 * The samples alternate, so that a machine that slows down affects both. The median is NaN if it is not larger than the
 * noise, the median absolute deviation of the differences.
 */
bool time_difference(work_fn first, void *first_user, work_fn second, void *second_user, double parts, int repeats,
                     struct timing *out);

#endif
