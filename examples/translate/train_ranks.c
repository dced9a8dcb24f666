/*
 * train_ranks.c - `translate train` as one of several processes (ranks) that train one model, started by mpirun or
 * srun.
 *
 * Every rank runs the same program: it reads the same files and makes the same evaluations. Only rank 0 prints and
 * writes. A rank may have to stop because of its clock, a signal, or an error. At fixed points, the ranks exchange
 * their statuses and stop together, so that no rank waits for one that has left.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include <xformer/experimental.h>

#include "system.h"
#include "train.h"

bool is_writer(const struct run *run) { return run->rank == 0; }

bool find_ranks(struct run *run) {
    xf_context_info info = XF_CONTEXT_INFO_INIT;
    xf_error err;
    if (xf_context_get_info(run->context, &info, &err) != XF_OK) return fail(&err), false;
    run->rank = info.rank;
    run->ranks = info.rank_count;
    if (run->ranks == 1) return true;
    run->statuses = allocate((size_t)run->ranks * sizeof *run->statuses);
    set_rank(run->rank);
    run->terminal = false; /* mpirun gives each rank a terminal */
    if (is_writer(run)) return true;
    run->snapshots.reads_only = true;
    run->flags.report = NULL;
    if (freopen(NULL_DEVICE, "w", stdout) != NULL) return true;
    complain("cannot open %s", NULL_DEVICE);
    return false;
}

void print_ranks(const struct run *run) {
    const char *shards = "";
    if (run->ranks == 1) return;
    xf_config_get(xf_trainer_config(run->trainer), "train.shards", &shards, NULL);
    printf("%-12s %d, %s shards per step\n", "ranks", run->ranks, shards);
}

/* Exchanges a number with all ranks, even after a signal. Stores the numbers in run->statuses. */
static xf_status exchange(struct run *run, int64_t number, xf_error *err) {
    return xf_context_all_gather(run->context, number, NULL, run->statuses, err);
}

xf_status agree(struct run *run, xf_status status, xf_error *err) {
    if (run->ranks == 1) return status;
    xf_error lost;
    if (exchange(run, status, &lost) != XF_OK) {
        if (status >= XF_OK) *err = lost;
        return status >= XF_OK ? lost.status : status;
    }
    int failed = -1;
    for (int r = run->ranks; r-- > 0;) {
        if (run->statuses[r] == XF_ERROR_CANCELLED) return XF_ERROR_CANCELLED;
        if (run->statuses[r] < XF_OK) failed = r;
        if (run->statuses[r] == XF_DONE && status == XF_OK) status = XF_DONE;
    }
    if (status < XF_OK || failed < 0) return status;
    err->status = XF_ERROR_PEER;
    err->native_code = 0;
    snprintf(err->message, sizeof err->message, "rank %d failed, so all ranks stop", failed);
    return XF_ERROR_PEER;
}

int agree_on_exit(struct run *run, int status) {
    xf_error err;
    if (run->ranks == 1) return status;
    if (exchange(run, status, &err) != XF_OK) return status < 0 ? fail(&err) : status;
    for (int r = 0; r < run->ranks && status < 0; ++r)
        status = (int)run->statuses[r]; /* that rank has printed the reason */
    return status;
}
