/*
 * count_plugin.h - what count_plugin.cpp noted, for count_tasks.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_BENCH_COUNT_PLUGIN_H
#define XF_BENCH_COUNT_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One operation of the backend, or ("between operations") all that happens outside of them. Seconds of processor time.
 */
typedef struct count_op {
    const char *name;
    int64_t regions, tasks; /* parallel regions and their tasks */
    double serial;          /* outside of parallel regions */
    double work;            /* of all tasks */
    double longest;         /* of the longest task */
    double length;          /* sum over all regions, each with its tasks on this number of workers */
} count_op;

/* Forgets everything; tasks are cut for so many workers from now on. Before the first device is opened, too. */
void count_start(int32_t workers);
/* Pauses and resumes the measurement; not within a task. */
void count_pause(void);
void count_resume(void);
/* Begins another round of the same: of each task, the least of its times counts. After count_stop(). */
void count_again(void);
/* Ends the noting; not 0 when a round was not the same as those before. */
int32_t count_stop(void);
/* Time of each operation with its tasks on this number of workers; *ops lives until the next call. Returns the number
 * of operations. */
int32_t count_summary(int32_t workers, const count_op **ops);

#ifdef __cplusplus
}
#endif

#endif
