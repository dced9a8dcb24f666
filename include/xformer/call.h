/*
 * xformer/call.h - parameters of one call: cancellation, deadline, and progress.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_CALL_H
#define XFORMER_CALL_H

#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup call Calls
 * @brief Cancellation, deadline, and progress of a single call.
 * @{
 */

/** @brief Progress of a call. Filled by the library. @since 0.1 */
typedef struct xf_progress {
    /** sizeof(xf_progress) of the library. */
    size_t struct_size;
    /**
     * Name of the task, a static string. In parentheses, the unit of done and total: "tokenizer" (learned tokens; for
     * unigram, removed pieces), "encode" (sentence pairs; bytes of text for xf_corpus_encode(), whose total may grow if
     * it is not known), "load" and "save" (bytes), "translate" (sentences), "evaluate" (batches). Scoring, copying, and
     * steps of training report nothing, except "encode" when xf_train_next() begins an epoch with "data.sampling" or
     * "data.augment". Later versions may add tasks.
     */
    const char *task;
    /**
     * Number of completed units, from 0 to total.
     */
    int64_t done;
    /** Total number of units. */
    int64_t total;
} xf_progress;

/**
 * @brief Receives the progress of a call.
 *
 * Called on the thread that made the call, at most ten times per second and once at the end. A call that takes less
 * than 0.1 seconds does not report progress. Must not throw or longjmp. Must not use the objects of the call, except to
 * cancel.
 *
 * @return 0 to continue; any other value stops the call with XF_ERROR_CALLBACK
 * @since 0.1
 */
typedef int32_t (*xf_progress_fn)(void *user, const xf_progress *progress);

/**
 * @brief Parameters of one call. Functions that may take a long time accept a pointer to this struct; NULL selects the
 * defaults.
 *
 * The struct and its cancel flag must remain valid until the call returns. Several calls may share them.
 *
 * @since 0.1
 */
typedef struct xf_call {
    /** sizeof(xf_call) of the caller. */
    size_t struct_size;
    /**
     * Cancel flag, or NULL. If *cancelled is not 0, the call stops after its current operation and returns
     * XF_ERROR_CANCELLED, even if the flag was set before the call began. Any thread or a signal handler may set the
     * flag; the library only reads it. An aligned int32_t store is sufficient; a C11 or C++ host may store to it as an
     * atomic.
     */
    const volatile int32_t *cancelled;
    /**
     * Time limit in milliseconds from the start of the call; 0: no deadline; a negative value is XF_ERROR_OUT_OF_RANGE.
     * After this time, xf_decode() and xf_translate() return the best hypotheses found so far; other functions return
     * XF_ERROR_DEADLINE and change nothing.
     */
    int64_t deadline_ms;
    /** Progress callback, or NULL. */
    xf_progress_fn progress;
    /** Passed to progress. */
    void *user;
} xf_call;

/** @brief An xf_call with its struct_size and defaults. @since 0.1 */
#define XF_CALL_INIT \
    { sizeof(xf_call), NULL, 0, NULL, NULL }

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_CALL_H */
