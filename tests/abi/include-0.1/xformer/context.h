/*
 * xformer/context.h - the root of everything: device, threads, memory, log, cancel.
 *
 * A context owns an opened device, worker threads, a memory account and what the host gave it: an allocator, a log, an
 * executor. Nothing in the library is global, so two users in one process never meet. Every other object belongs to one
 * context and keeps it alive: handles may be freed in any order. What a function gives "owned by" another handle is not
 * yours to free; it goes with its owner.
 *
 * Threads. Distinct handles may be used from distinct threads at the same time. What one handle allows is said by each
 * function: "exclusive" calls need the handle for themselves, "shared-read" calls only read it and may run side by
 * side, "any" calls may run at any time. A call that finds a handle taken returns XF_ERROR_BUSY at once: nothing waits,
 * and nothing breaks. A trainer needs its model for itself while one of its calls runs; many decoders may read one
 * model. Freeing a handle while another thread's call uses it is safe: the object goes when that call returns.
 *
 * Cancel. xf_context_cancel(), xf_decoder_cancel() and xf_trainer_cancel() stop the calls that are running at that
 * moment; each returns XF_ERROR_CANCELLED and its handle stays usable. They may be called from any thread and from a
 * signal handler. While nothing runs they do nothing: a later call is not affected.
 *
 * Forks. After fork() a child may only exec, or create contexts of its own: using a context of the parent gives
 * XF_ERROR_FORKED.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_CONTEXT_H
#define XFORMER_CONTEXT_H

#include "xformer/comm.h"
#include "xformer/config.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup context Context
 * @brief Device, threads, memory, log, cancel.
 * @{
 */

/** @brief The root object. Create with xf_context_create(). @since 0.1 */
typedef struct xf_context xf_context;

/** @brief Severity of a log line. @since 0.1 */
enum xf_log_level {
    /** Something failed; the call that failed also returns it. */
    XF_LOG_ERROR = 0,
    /** Something is not as the caller may think: a skipped line, a backend that could not be used. */
    XF_LOG_WARNING = 1,
    /** What was chosen and done: the device, each load, save and resume. */
    XF_LOG_INFO = 2,
    /** Detail for those who look for a fault. */
    XF_LOG_DEBUG = 3
};

/**
 * @brief Receives log lines. Called on the thread that made the call, never from a worker; must not throw, longjmp, or
 *        call functions on the same context other than the cancel functions.
 * @since 0.1
 */
typedef void (*xf_log_fn)(void *user, enum xf_log_level level, const char *component, const char *message);

/**
 * @brief Hears how far a long call has come: tokenizer training, encoding, loading, saving, averaging, translating,
 *        evaluating.
 *
 * task is a static word: "tokenizer", "encode", "load", "save", "average", "translate", "evaluate". done goes from 0 to
 * total, in units of the task (bytes, sentences, merges). Called on the thread that made the call, at most about ten
 * times a second and once at the end; not at all by calls that end sooner. The rules of xf_log_fn hold. Any answer but
 * 0 ends the call with XF_ERROR_CALLBACK.
 *
 * @since 0.1
 */
typedef int32_t (*xf_progress_fn)(void *user, const char *task, int64_t done, int64_t total);

/** @brief One piece of parallel work, given to the host by xf_parallel_fn. @since 0.1 */
typedef void (*xf_task_fn)(void *arg, int32_t index);

/**
 * @brief The host's executor: runs task(arg, i) once for each i from 0 to count - 1 and returns when all have returned.
 *
 * On whatever threads, side by side or one after the other: for (i = 0; i < count; ++i) task(arg, i) is an executor.
 * Called on the thread that made the call, for one job of a context at a time: a second call meanwhile computes alone,
 * on its own thread. count is at most "context.threads". Results do not depend on how the tasks are run. Must not throw
 * or longjmp.
 *
 * @since 0.1
 */
typedef void (*xf_parallel_fn)(void *user, int32_t count, xf_task_fn task, void *arg);

/**
 * @brief What a host does for a context. Every member may be NULL: the library then does it by itself, or not at all.
 * @since 0.1
 */
typedef struct xf_host {
    /** sizeof(xf_host) of the caller. */
    size_t struct_size;

    /** Passed to alloc and free. */
    void *alloc_user;
    /**
     * Memory for what is large: tensors, arenas, scratch, corpora. Returns size bytes aligned to alignment (a power of
     * two), or NULL. Any thread, several at a time. Small C++ objects use operator new. alloc and free come together.
     */
    void *(*alloc)(void *user, size_t size, size_t alignment);
    /** Frees what alloc returned; size as then. */
    void (*free)(void *user, void *ptr, size_t size);

    /** Passed to log. */
    void *log_user;
    /** NULL: nothing is printed anywhere. */
    xf_log_fn log;
    /** An enum xf_log_level: the least severe level to report. */
    int32_t log_level;
    /** Not used, 0. */
    int32_t reserved;

    /** Passed to progress. */
    void *progress_user;
    /** NULL: nobody wants to know. */
    xf_progress_fn progress;

    /** Passed to parallel. */
    void *parallel_user;
    /** NULL: the context starts threads of its own. With an executor it starts none. */
    xf_parallel_fn parallel;

    /** Passed to release. */
    void *release_user;
    /**
     * Called once, when the context and the last object made from it are gone: none of the functions above is called
     * any more. Not called when xf_context_create() fails. NULL: nobody needs to know.
     */
    void (*release)(void *user);

    /** What carries messages between the ranks of a training job, copied; see comm.h. NULL: this process is alone. */
    const xf_comm *comm;
} xf_host;

/** @brief A zeroed xf_host with its struct_size; the log level is XF_LOG_WARNING. @since 0.1 */
#define XF_HOST_INIT \
    { sizeof(xf_host), NULL, NULL, NULL, NULL, NULL, XF_LOG_WARNING, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/**
 * @brief Creates a context: opens the device and starts the worker threads.
 *
 * Reads the options of the group "context.". A device that is named and can't be opened is an error; "auto" takes the
 * best that opens and tells the log, as a warning, why a better one was not taken. Only the plugins that the device may
 * need are opened: a context on "cpu" never loads the CUDA plugin.
 *
 * @param config [in] NULL: all defaults
 * @param host [in] NULL: none of its services; copied. What its functions need must live as long as the context
 * @param out [out] the new context; the caller frees it with xf_context_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND (no such device), XF_ERROR_UNSUPPORTED (instruction
 *         set, precision, type of weights, a member of host), XF_ERROR_VERSION (a plugin of another version),
 *         XF_ERROR_BACKEND, XF_ERROR_NO_MEMORY
 * @threads any
 * @since 0.1
 */
XF_API enum xf_status xf_context_create(const xf_config *config, const xf_host *host, xf_context **out, xf_error *err);

/**
 * @brief Frees the caller's hold on a context. It goes when the last object made from it is freed too.
 * @param context [in] NULL is allowed and does nothing
 * @threads any
 * @since 0.1
 */
XF_API void xf_context_free(xf_context *context);

/**
 * @brief Cancels every call that runs on this context and its objects at the moment.
 * @param context [in] NULL is allowed and does nothing
 * @threads any; async-signal-safe
 * @since 0.1
 */
XF_API void xf_context_cancel(xf_context *context);

/**
 * @brief Tells what this context computes with, such as "openblas on cpu:0, AMD EPYC, avx512, own kernels only,
 *        2 threads, fp32".
 * @param context [in] the context
 * @return one line owned by the context, for people; NULL when context is not a context
 * @threads any
 * @since 0.1
 */
XF_API const char *xf_context_device(const xf_context *context);

/** @brief Memory of a context's tensors and corpora, in bytes. @since 0.1 */
typedef struct xf_memory_stats {
    /** In: sizeof(xf_memory_stats) of the caller. */
    size_t struct_size;
    /** Bytes held now. */
    int64_t current;
    /** Largest value of current so far. */
    int64_t peak;
    /** The budget, 0 when there is none. */
    int64_t budget;
    /** Allocations made so far: stands still in the steady state of training and decoding. */
    int64_t allocations;
} xf_memory_stats;

/** @brief A zeroed xf_memory_stats with its struct_size. @since 0.1 */
#define XF_MEMORY_STATS_INIT \
    { sizeof(xf_memory_stats), 0, 0, 0, 0 }

/**
 * @brief Reads the memory account of a context.
 * @param context [in] the context
 * @param stats [in,out] struct_size set by the caller
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT
 * @threads any
 * @since 0.1
 */
XF_API enum xf_status xf_context_get_memory(const xf_context *context, xf_memory_stats *stats, xf_error *err);

/**
 * @brief This process's number among the ranks of its training job: 0 to xf_context_rank_count() - 1.
 *
 * What only one of them is to do (print, write files of its own) is for rank 0.
 *
 * @param context [in] the context
 * @return 0 also where there is no comm; -1 when context is not a context
 * @threads any
 * @since 0.1
 */
XF_API int32_t xf_context_rank(const xf_context *context);

/**
 * @brief The number of ranks of the training job.
 * @param context [in] the context
 * @return 1 also where there is no comm; -1 when context is not a context
 * @threads any
 * @since 0.1
 */
XF_API int32_t xf_context_rank_count(const xf_context *context);

/**
 * @brief Gives a number to all ranks and gets theirs, so that they can decide as one: to stop, to save, what to do
 * next.
 *
 * Every rank makes this call in the same place of its collective calls, and waits for the last one, at most
 * "context.comm_timeout" seconds.
 *
 * @param context [in] the context
 * @param value [in] this rank's
 * @param values [out] [xf_context_rank_count()] every rank's, the own one at xf_context_rank(); after an error not
 *        written
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT; XF_ERROR_BUSY (another collective call of this context is under way);
 *         XF_ERROR_PEER (a rank is gone, was silent or makes another call; it stays so), XF_ERROR_NO_MEMORY
 * @threads any; one collective call of the context at a time
 * @since 0.1
 */
XF_API enum xf_status xf_context_all_gather(xf_context *context, int64_t value, int64_t *values, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_CONTEXT_H */
