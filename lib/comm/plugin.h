/*
 * The C interface of communication plugins.
 *
 * There are two kinds of plugins. The first kind creates an xf_comm, which moves host memory. The second kind is a
 * device transport: it moves device memory in the order of a stream of that device. A device transport is used together
 * with an xf_comm, over which the ranks find each other, verify what was received, and detect failures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_COMM_PLUGIN_H
#define XFORMER_COMM_PLUGIN_H

#include "xformer/experimental.h"

#ifdef __cplusplus
extern "C" {
#endif

#define XF_COMM_PLUGIN_ABI 3u
#define XF_COMM_PLUGIN_NAME "xf_comm_plugin_open"

/* The options of the same names, in seconds. */
typedef struct xf_comm_limits {
    double comm_timeout;       /* silence of a rank, as in xf_comm::exchange() */
    double comm_start_timeout; /* until all ranks have joined */
    double comm_work_timeout;  /* for a rank that is alive but does not make the same call */
} xf_comm_limits;

/* Joins the ranks of this job and fills *out. Returns XF_OK, or an error and its message. */
typedef int32_t (*xf_comm_plugin_fn)(uint32_t abi, const xf_comm_limits *limits, xf_comm *out, xf_error *err);

#define XF_TRANSPORT_PLUGIN_ABI 1u
#define XF_TRANSPORT_PLUGIN_NAME "xf_transport_plugin_open"

#define XF_TRANSPORT_ID_BYTES 128
#define XF_TRANSPORT_BUSY 1 /* in progress; not an xf_status */

typedef struct xf_transport xf_transport; /* one rank's connection to the others */

/* Each function except close returns XF_OK, or an error and its message, and never waits for another rank. All except
 * make_id and close are called while the device is current. A transport is used by one thread at a time. */
typedef struct xf_transport_plugin {
    uint32_t size;       /* sizeof(xf_transport_plugin) of the plugin */
    uint32_t abi;        /* XF_TRANSPORT_PLUGIN_ABI of the plugin */
    const char *kind;    /* kind of the devices whose memory is moved: "cuda" */
    const char *version; /* for messages */

    /* Creates the id that all ranks of a transport pass to open. Called by one rank. */
    int32_t (*make_id)(char *id, xf_error *err);
    /* Starts to connect the current device to the other ranks. */
    int32_t (*open)(const char *id, int32_t rank, int32_t ranks, xf_transport **transport, xf_error *err);
    /* Returns XF_OK if what open or exchange started is complete or enqueued in the stream, XF_TRANSPORT_BUSY if it is
     * not, or an error, which may be one that occurred later in the stream. */
    int32_t (*poll)(xf_transport *transport, xf_error *err);
    /* Enqueues sends and receives of device memory in the stream; at most one part in each direction per rank. */
    int32_t (*exchange)(xf_transport *transport, void *native_stream, const xf_comm_part *sends, size_t send_count,
                        const xf_comm_part *receives, size_t receive_count, xf_error *err);
    /* Aborts what is in progress and frees the transport. Returns 1 if this finished within `seconds`. Returns 0 if it
     * did not: it then continues in the background, and the stream may never become idle. */
    int32_t (*close)(xf_transport *transport, double seconds);
} xf_transport_plugin;

/* Returns NULL, and the reason, if the plugin cannot be used. */
typedef const xf_transport_plugin *(*xf_transport_plugin_fn)(uint32_t abi, xf_error *err);

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_COMM_PLUGIN_H */
