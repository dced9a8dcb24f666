/*
 * snapshots.h - the last models of a run, in files MODEL.avg-STEP. They are averaged at its end (paper, section 6.1).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_SNAPSHOTS_H
#define EXAMPLE_SNAPSHOTS_H

#include "common.h"

enum { MOST_SNAPSHOTS = 64 };

struct snapshots {
    const char *model;             /* prefix of the names, at most 4095 bytes; owned by the caller */
    int64_t wanted;                /* number of snapshots, up to MOST_SNAPSHOTS; 0 or 1: no average */
    int64_t every;                 /* steps between them */
    bool reads_only;               /* another process writes and deletes them */
    int64_t steps[MOST_SNAPSHOTS]; /* of the files, oldest first */
    size_t count;
};

/* Returns whether a snapshot is due after this step. */
bool snapshot_is_due(const struct snapshots *list, int64_t step);

/*
 * Writes a snapshot and deletes those that are too old for the average, even if writing fails. Does nothing if the
 * newest snapshot is already of this step.
 */
xf_status snapshot_save(struct snapshots *list, const xf_model *model, int64_t step, xf_error *err);

/*
 * Finds the snapshots of a run that resumes from this step. Deletes the one before them, because the run may have been
 * killed before it deleted that file.
 */
void snapshots_find(struct snapshots *list, int64_t step);

/* Averages the snapshots. The caller frees the model; it is NULL if fewer than two snapshots exist. */
xf_status snapshots_average(const struct snapshots *list, xf_context *context, xf_model **out, xf_error *err);

/* Prints how many snapshots were averaged. */
void print_average(const struct snapshots *list);

/* Deletes all snapshots. */
void snapshots_remove(struct snapshots *list);

#endif
