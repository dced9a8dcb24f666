/*
 * train_ranks.c - `translate train` as one of several processes that train one model, as mpirun and srun start them.
 *
 * Every rank runs the same program: it reads the same files, makes the same evaluations and comes to the same end. Rank
 * 0 alone prints and writes. What one rank decides by itself, by its clock, a signal or an error, is told to all where
 * all of them ask, so that none waits for another that has left.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "train.h"

bool is_writer(const struct run *run) { return run->rank == 0; }

bool find_ranks(struct run *run) {
    run->rank = (int)xf_context_rank(run->context);
    run->ranks = (int)xf_context_rank_count(run->context);
    if (run->ranks == 1) return true;
    run->told = allocate((size_t)run->ranks * sizeof *run->told);
    set_rank(run->rank);
    run->terminal = false; /* mpirun gives each rank one */
    if (is_writer(run)) return true;
    run->snapshots.reads_only = true;
    run->flags.report = NULL;
    if (freopen("/dev/null", "w", stdout) != NULL) return true;
    complain("/dev/null can't be opened");
    return false;
}

void print_ranks(const struct run *run) {
    const char *shards = "";
    if (run->ranks == 1) return;
    xf_config_get(xf_trainer_config(run->trainer), "train.shards", &shards, NULL);
    printf("%-12s %d, %s shards a step\n", "ranks", run->ranks, shards);
}

/* This rank's number to all; theirs are in run->told. */
static enum xf_status tell(struct run *run, int64_t number, xf_error *err) {
    return xf_context_all_gather(run->context, number, run->told, err);
}

enum xf_status agree(struct run *run, enum xf_status status, xf_error *err) {
    if (run->ranks == 1) return status;
    xf_error lost;
    if (tell(run, status, &lost) != XF_OK) {
        if (status >= XF_OK) *err = lost;
        return status >= XF_OK ? lost.status : status;
    }
    int failed = -1;
    for (int r = run->ranks; r-- > 0;) {
        if (run->told[r] == XF_ERROR_CANCELLED) return XF_ERROR_CANCELLED;
        if (run->told[r] < XF_OK) failed = r;
        if (run->told[r] == XF_DONE && status == XF_OK) status = XF_DONE;
    }
    if (status < XF_OK || failed < 0) return status;
    err->status = XF_ERROR_PEER;
    err->native_code = 0;
    snprintf(err->message, sizeof err->message, "rank %d failed, so all of them end", failed);
    return XF_ERROR_PEER;
}

int agree_to_go_on(struct run *run, int status) {
    xf_error err;
    if (run->ranks == 1) return status;
    if (tell(run, status, &err) != XF_OK) return status < 0 ? fail(&err) : status;
    for (int r = 0; r < run->ranks && status < 0; ++r) status = (int)run->told[r]; /* that rank has said why */
    return status;
}
