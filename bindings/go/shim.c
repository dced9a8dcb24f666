/*
 * shim.c - see shim.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "shim.h"

#include "_cgo_export.h"

static void log_line(void *user, enum xf_log_level level, const char *component, const char *message) {
    xfgoLog((uintptr_t)user, (int32_t)level, (char *)component, (char *)message);
}

void xfgo_set_log(xf_host *host, uintptr_t handle) {
    host->log = log_line;
    host->log_user = (void *)handle;
}

static int32_t progress(void *user, const char *task, int64_t done, int64_t total) {
    return xfgoProgress((uintptr_t)user, (char *)task, done, total);
}

void xfgo_set_progress(xf_host *host, uintptr_t handle) {
    host->progress = progress;
    host->progress_user = (void *)handle;
}

static int32_t ask(void *user, const xf_prefix *prefix, uint32_t *allowed) {
    return xfgoAsk((uintptr_t)user, (xf_prefix *)prefix, allowed);
}

void xfgo_set_constraint(xf_decode_params *params, uintptr_t handle) {
    params->constraint = ask;
    params->constraint_user = (void *)handle;
}

static int32_t read_at(void *user, uint64_t offset, void *dst, size_t bytes) {
    return xfgoRead((uintptr_t)user, offset, dst, bytes);
}

void xfgo_set_reader(xf_source *source, uintptr_t handle) {
    source->read = read_at;
    source->read_user = (void *)handle;
}

static _Thread_local uintptr_t kept;

uintptr_t xfgo_keep(uintptr_t failure) {
    const uintptr_t before = kept;
    kept = failure;
    return before;
}
