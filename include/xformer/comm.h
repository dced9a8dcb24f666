/*
 * xformer/comm.h - several processes that train one model: how their ranks reach each other.
 *
 * A training job may have any number of ranks: processes, often one per GPU, or threads of one process with a context
 * each. Each computes some of a step's "train.shards"; together they make the step that one rank alone would make, to
 * the last bit. What they need from below is one function that moves messages, given as an xf_comm in xf_host: by MPI
 * ("context.comm" opens it), by the loopback of this header, or by whatever a host has.
 *
 * The messages are not trusted. Each has a number and a checksum: one that is lost, cut, doubled, swapped or changed is
 * an error, never a wrong sum. A rank that dies or is stopped is XF_ERROR_PEER on every other within
 * "context.comm_timeout". After that error the ranks are strangers for good: end the process and resume from the last
 * checkpoint. An error of one rank alone (no memory, a cancel) is XF_ERROR_PEER on the others with its message; then
 * all stand where they stood before the step, and the next one is right.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_COMM_H
#define XFORMER_COMM_H

#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup comm Ranks
 * @brief Training in several processes.
 * @{
 */

/** @brief A piece of memory that goes to a rank, or is filled by one. @since 0.1 */
typedef struct xf_comm_part {
    /** The other rank; never the caller's own. */
    int32_t rank;
    /** Not used, 0. */
    int32_t reserved;
    /** Host memory. Of a send it is read only. */
    void *data;
    /** Bytes, at least 1. The receiver's size is the sender's. */
    size_t size;
} xf_comm_part;

/**
 * @brief What carries the messages of one rank. A host fills it and passes it in xf_host; it is copied.
 *
 * Its functions are called one at a time, on the threads that call the library; exchange() also on a thread of the
 * library's, while such a call lasts, with "context.comm_buckets" other than 1. They must not throw or longjmp.
 *
 * @since 0.1
 */
typedef struct xf_comm {
    /** sizeof(xf_comm) of the caller. */
    size_t struct_size;
    /** Passed to the functions. */
    void *user;
    /** This rank, from 0. */
    int32_t rank;
    /** Number of ranks, at least 1. */
    int32_t size;
    /**
     * Sends and receives some parts, all of them under way at once. From one rank to another, parts arrive in the order
     * in which they were sent. Returns XF_OK when every receive is filled and every send may be written over;
     * XF_ERROR_PEER when that has not come to pass within timeout seconds, or the other rank is known to be gone;
     * XF_ERROR_BACKEND when the carrier itself failed. With an error it fills err, and from its return on touches none
     * of the memory.
     */
    int32_t (*exchange)(void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                        size_t receive_count, double timeout, xf_error *err);
    /** Called once when this rank gives the others up: their calls should fail soon. NULL: they wait for their timeout.
     */
    void (*abort)(void *user);
    /**
     * Called once when the context is gone: nothing else is called any more. Not called when xf_context_create() fails.
     * NULL: no need.
     */
    void (*close)(void *user);
} xf_comm;

/** @brief A zeroed xf_comm with its struct_size. @since 0.1 */
#define XF_COMM_INIT \
    { sizeof(xf_comm), NULL, 0, 0, NULL, NULL, NULL }

/**
 * @brief Makes ranks of threads of this process, which reach each other through memory.
 *
 * Each rank gets a context of its own, with its comm in xf_host, and a thread that calls it. A rank whose context is
 * freed is gone for the others.
 *
 * @param comms [out] [size] each filled, struct_size with it. Each must be closed once, by close(user): a context that
 *        was made with it does so, for others it is the caller's work
 * @param size [in] 1 to 1024
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE, XF_ERROR_NO_MEMORY
 * @threads any
 * @since 0.1
 */
XF_API enum xf_status xf_comm_loopback(xf_comm *comms, int32_t size, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_COMM_H */
