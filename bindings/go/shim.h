/*
 * shim.h - the functions of C by which C calls Go, and the check that the headers are those this package was written
 * for.
 *
 * A Go function is known to C by a cgo.Handle. What it fails with, an error or a panic, is kept for its thread until
 * the call of the library within which it ran has ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFGO_SHIM_H
#define XFGO_SHIM_H

#include <stdlib.h>
#include <xformer/xformer.h>

#if XF_VERSION_MAJOR != 0 || XF_VERSION_MINOR != 1
#error "package xformer is for libxformer 0.1, and pkg-config found the headers of another version"
#endif

/* Each lets C call the Go function behind a handle. */
void xfgo_set_log(xf_host *host, uintptr_t handle);
void xfgo_set_progress(xf_host *host, uintptr_t handle);
void xfgo_set_constraint(xf_decode_params *params, uintptr_t handle);
void xfgo_set_reader(xf_source *source, uintptr_t handle);

/* Keeps the cgo.Handle of a failure for this thread, 0 for none, and gives what was kept. */
uintptr_t xfgo_keep(uintptr_t failure);

#endif
