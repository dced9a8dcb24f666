/*
 * shim.c - see shim.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "shim.h"

#include "_cgo_export.h"

static void log_line(void *user, const xf_log_line *line) {
    xfgoLog((uintptr_t)user, line->level, (char *)line->component, (char *)line->message);
}

void xfgo_set_log(xf_host *host, uintptr_t handle) {
    host->log = log_line;
    host->log_user = (void *)handle;
}

static int32_t progress(void *user, const xf_progress *progress) {
    return xfgoProgress((uintptr_t)user, (char *)progress->task, progress->done, progress->total);
}

void xfgo_set_progress(xf_call *call, uintptr_t handle) {
    call->progress = progress;
    call->user = (void *)handle;
}

static int32_t constrain(void *user, const xf_constraint_step *step) {
    return xfgoConstrain((uintptr_t)user, (xf_constraint_step *)step);
}

void xfgo_set_constraint(xf_constraint *constraint, uintptr_t handle) {
    constraint->struct_size = sizeof(xf_constraint);
    constraint->function = constrain;
    constraint->user = (void *)handle;
}

static int32_t constrain_request(void *user, const xf_constraint_step *step) {
    return xfgoConstrainRequest((uintptr_t)user, (xf_constraint_step *)step);
}

void xfgo_set_request_constraint(xf_constraint *constraint, uintptr_t handle) {
    constraint->struct_size = sizeof(xf_constraint);
    constraint->function = constrain_request;
    constraint->user = (void *)handle;
}

void xfgo_set_request_user(xf_request *request, uintptr_t handle) { request->user = (void *)handle; }

uintptr_t xfgo_event_user(const xf_event *event) { return (uintptr_t)event->user; }

static int32_t read_at(void *user, uint64_t offset, void *dst, size_t bytes) {
    return xfgoRead((uintptr_t)user, offset, dst, bytes);
}

void xfgo_set_reader(xf_source *source, uintptr_t handle) {
    source->kind = XF_IO_CALLBACK;
    source->read = read_at;
    source->user = (void *)handle;
}

static int32_t write_at(void *user, uint64_t offset, const void *src, size_t bytes) {
    return xfgoWrite((uintptr_t)user, offset, (void *)src, bytes);
}

void xfgo_set_writer(xf_sink *sink, uintptr_t handle) {
    sink->kind = XF_IO_CALLBACK;
    sink->write = write_at;
    sink->user = (void *)handle;
}

static _Thread_local uintptr_t kept;

uintptr_t xfgo_keep(uintptr_t failure) {
    const uintptr_t before = kept;
    kept = failure;
    return before;
}
