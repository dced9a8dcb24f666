/*
 * What a plugin that carries messages between ranks exports, and how it is asked. In C, as lib/backend/plugin_abi.h is.
 *
 * There are two kinds. One makes an xf_comm, which moves host memory. The other is a lane beside an xf_comm that is
 * there already: it moves memory of devices, in a stream of theirs, and no more than that. Who is there, what is
 * checked and when to give up is told over the xf_comm.
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

#define XF_LANE_PLUGIN_ABI 1u
#define XF_LANE_PLUGIN_NAME "xf_lane_plugin_open"

#define XF_LANE_ID_BYTES 128
#define XF_LANE_BUSY 1 /* no status: not yet */

typedef struct xf_lane xf_lane; /* one rank's end */

/* Each function but close returns XF_OK or an error with its sentence, and none waits for another rank. All but make_id
 * and close are called while the device is current. One thread at a time for a lane. */
typedef struct xf_lane_plugin {
    uint32_t size;       /* sizeof(xf_lane_plugin) of the plugin */
    uint32_t abi;        /* XF_LANE_PLUGIN_ABI of the plugin */
    const char *kind;    /* of the devices whose memory it moves: "cuda" */
    const char *version; /* for people */

    /* What all ranks of a lane must be given: one of them makes it. */
    int32_t (*make_id)(char *id, xf_error *err);
    /* Begins to join the others, from the current device. */
    int32_t (*open)(const char *id, int32_t rank, int32_t ranks, xf_lane **lane, xf_error *err);
    /* XF_OK when what open or exchange began is there or in the stream; XF_LANE_BUSY; an error, also a later one that
     * came while the stream was at it. */
    int32_t (*poll)(xf_lane *lane, xf_error *err);
    /* Sends and receives device memory, all at once, in the stream's order; at most one part each way with each rank.
     */
    int32_t (*exchange)(xf_lane *lane, void *native_stream, const xf_comm_part *sends, size_t send_count,
                        const xf_comm_part *receives, size_t receive_count, xf_error *err);
    /* Ends what is under way and frees the lane. 1 when that was done within seconds; 0: it goes on by itself, and the
     * stream may stand still for ever. */
    int32_t (*close)(xf_lane *lane, double seconds);
} xf_lane_plugin;

/* NULL, with the reason, when it can't serve. */
typedef const xf_lane_plugin *(*xf_lane_plugin_fn)(uint32_t abi, xf_error *err);

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_COMM_PLUGIN_H */
