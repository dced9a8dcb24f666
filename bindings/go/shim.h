/*
 * shim.h - C functions that call Go, and a check that the headers have the version that this package was written for.
 *
 * C refers to a Go function by a cgo.Handle. If the function fails with an error or a panic, the failure is stored for
 * the thread until the call of the library has ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFGO_SHIM_H
#define XFGO_SHIM_H

#include <stdlib.h>
#include <xformer/experimental.h>
#include <xformer/xformer.h>

#if XF_VERSION_MAJOR != 0 || XF_VERSION_MINOR != 1
#error "package xformer is for libxformer 0.1, and pkg-config found the headers of another version"
#endif

/* An xf_call and its cancel flag. */
typedef struct xfgo_call {
    xf_call call;
    int32_t cancelled;
} xfgo_call;

/* Each sets the callback of a struct to the Go function of a handle. */
void xfgo_set_log(xf_host *host, uintptr_t handle);
void xfgo_set_progress(xf_call *call, uintptr_t handle);
void xfgo_set_constraint(xf_constraint *constraint, uintptr_t handle);
void xfgo_set_reader(xf_source *source, uintptr_t handle);
void xfgo_set_writer(xf_sink *sink, uintptr_t handle);

/* The callback for a request of an engine, which the library calls on any thread. */
void xfgo_set_request_constraint(xf_constraint *constraint, uintptr_t handle);

/* Go must not keep a handle in a pointer. */
void xfgo_set_request_user(xf_request *request, uintptr_t handle);
uintptr_t xfgo_event_user(const xf_event *event);

/* Stores the cgo.Handle of a failure for this thread, 0 for none, and returns the previous one. */
uintptr_t xfgo_keep(uintptr_t failure);

#endif
