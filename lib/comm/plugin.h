/*
 * What a plugin that carries messages between ranks exports, and how it is asked. In C, as lib/backend/plugin_abi.h is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_COMM_PLUGIN_H
#define XFORMER_COMM_PLUGIN_H

#include "xformer/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define XF_COMM_PLUGIN_ABI 1u
#define XF_COMM_PLUGIN_NAME "xf_comm_plugin_open"

/* Joins the ranks of this job and fills *out, within timeout seconds. XF_OK, or an error with its sentence. */
typedef int32_t (*xf_comm_plugin_fn)(uint32_t abi, double timeout, xf_comm *out, xf_error *err);

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_COMM_PLUGIN_H */
