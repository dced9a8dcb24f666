/*
 * snapshots.h - the last models of a run, MODEL.avg-STEP each, which are averaged at its end as in s. 6.1 of the paper.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_SNAPSHOTS_H
#define EXAMPLE_SNAPSHOTS_H

#include "common.h"

enum { MOST_SNAPSHOTS = 64 };

struct snapshots {
    const char *model;             /* their names begin so; the caller's, fewer than 4096 bytes */
    int64_t wanted;                /* how many, up to MOST_SNAPSHOTS; at most 1: no average is made */
    int64_t every;                 /* steps between them */
    bool reads_only;               /* another process writes and deletes them */
    int64_t steps[MOST_SNAPSHOTS]; /* of the files, oldest first */
    size_t count;
};

/* Whether one is to be taken after this step. */
bool snapshot_is_due(const struct snapshots *list, int64_t step);

/*
 * Writes one; those too old for the average are deleted, whether or not it could be written. A step that is there
 * already is left alone.
 */
enum xf_status snapshot_save(struct snapshots *list, const xf_model *model, int64_t step, xf_error *err);

/*
 * Finds those that a run left which goes on from this step. Deletes the one before them: the run may have been killed
 * before it did.
 */
void snapshots_find(struct snapshots *list, int64_t step);

/* The average, which the caller frees. NULL with XF_OK when there are fewer than two. */
enum xf_status snapshots_average(const struct snapshots *list, xf_context *context, xf_model **out, xf_error *err);

/* Prints how many were averaged. */
void print_average(const struct snapshots *list);

/* Deletes all. */
void snapshots_remove(struct snapshots *list);

#endif
