/*
 * timing.c - measures the time of a function; see timing.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "common.h"

static bool processor_time;

void count_processor_time(void) { processor_time = true; }

static double clock_now(void) {
    struct timespec time;
    if (!processor_time || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return now();
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int in_order(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct timing timing_of(double *seconds, int count) {
    qsort(seconds, (size_t)count, sizeof *seconds, in_order);
    const double median = count % 2 == 1 ? seconds[count / 2] : (seconds[count / 2 - 1] + seconds[count / 2]) / 2;
    return (struct timing){median, seconds[0], seconds[count - 1]};
}

/* Returns the mean seconds of a round, or a negative value if the function stopped the measurement. */
static double sample(work_fn work, void *user, int rounds) {
    const double began = clock_now();
    for (int i = 0; i < rounds; ++i)
        if (!work(user)) return -1;
    return (clock_now() - began) / rounds;
}

static int rounds_for(double seconds) {
    return seconds >= 0.02 ? 1 : seconds > 1e-5 ? (int)(0.04 / seconds + 0.5) : 4000;
}

bool time_work(work_fn work, void *user, int repeats, struct timing *out) {
    double seconds[MAX_REPEATS];
    double once = sample(work, user, 1);
    if (once >= 0) once = sample(work, user, 1);
    if (once < 0) return false;
    for (int i = 0; i < repeats; ++i)
        if ((seconds[i] = sample(work, user, rounds_for(once))) < 0) return false;
    *out = timing_of(seconds, repeats);
    return true;
}

bool time_difference(work_fn first, void *first_user, work_fn second, void *second_user, double parts, int repeats,
                     struct timing *out) {
    double seconds[MAX_REPEATS];
    /* Two warm-up rounds, because the first one allocates the workspace. */
    double one = sample(first, first_user, 1), two = one < 0 ? -1 : sample(second, second_user, 1);
    if (two >= 0) one = sample(first, first_user, 1);
    if (one >= 0 && two >= 0) two = sample(second, second_user, 1);
    if (one < 0 || two < 0) return false;
    const int rounds = rounds_for(two);
    for (int i = 0; i < repeats; ++i) {
        one = sample(first, first_user, rounds);
        two = one < 0 ? -1 : sample(second, second_user, rounds);
        if (two < 0) return false;
        seconds[i] = (two - one) / parts;
    }
    *out = timing_of(seconds, repeats);
    for (int i = 0; i < repeats; ++i) seconds[i] = fabs(seconds[i] - out->median);
    if (out->median <= timing_of(seconds, repeats).median) out->median = NAN;
    return true;
}
