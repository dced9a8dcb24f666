/*
 * timing.h - how long a piece of work takes: repeated, with median and spread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_TIMING_H
#define PAPER_TIMING_H

#include <stdbool.h>
#include <stddef.h>

enum { MAX_REPEATS = 101 };

/*
 * From here on counts processor time of this process rather than time on the wall: for work of one thread on a machine
 * that others use as well.
 */
void count_processor_time(void);

/* Seconds; not a number when there is no measurement. */
struct timing {
    double median, least, most;
};

/* Does the work once; false ends the measurement. */
typedef bool (*work_fn)(void *user);

/* Of measured values, which are put in order. */
struct timing timing_of(double *seconds, int count);

/*
 * Times a piece of work: once to warm up, then `repeats` samples, each of as many rounds as take about 40 ms. False
 * when the work ended it.
 */
bool time_work(work_fn work, void *user, int repeats, struct timing *out);

/*
 * Times what the second work does more than the first, sample beside sample, so that a machine that slows down slows
 * both: the median of the differences, divided by `parts`.
 */
bool time_difference(work_fn first, void *first_user, work_fn second, void *second_user, double parts, int repeats,
                     struct timing *out);

#endif
