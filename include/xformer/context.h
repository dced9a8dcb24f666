/*
 * xformer/context.h - the root object: device, threads, memory, log.
 *
 * A context owns an open device, worker threads, a memory account, and the services of the host: allocator, log, and
 * executor. The library has no global state, so independent components of a process cannot affect each other. Every
 * other object, except an xf_config, an xf_tokenizer, and an xf_hypotheses, belongs to one context and keeps it alive;
 * handles may be freed in any order. A handle that is documented as "owned by" another handle need not be freed;
 * freeing it has no effect.
 *
 * Threads. Distinct handles may be used from distinct threads at the same time. For one handle, each function documents
 * its rule: "exclusive" calls require that no other call uses the handle, "shared-read" calls may overlap each other,
 * and "any" calls may be made at any time. A call that finds its handle in use returns XF_ERROR_BUSY immediately,
 * without waiting and without an effect on the other call. A call on a trainer uses its model exclusively; any number
 * of decoders may read one model. To translate while a model is trained, translate with a copy (xf_model_copy()).
 *
 * A handle may be freed while a call that has already begun uses it; the object is destroyed when that call returns.
 * The caller must ensure that no call begins after the handle has been freed.
 *
 * Cancellation. Every function that may take a long time accepts an xf_call with a cancel flag (call.h).
 *
 * Forks. After fork(), the child may call exec or create its own contexts. In the child, functions that use a context
 * of the parent, or an object created from it, return XF_ERROR_FORKED.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_CONTEXT_H
#define XFORMER_CONTEXT_H

#include "xformer/call.h"
#include "xformer/config.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup context Context
 * @brief Device, threads, memory, log.
 * @{
 */

/** @brief The root object. Created by xf_context_create(). @since 0.1 */
typedef struct xf_context xf_context;

/** @brief Severity of a log line. @since 0.1 */
enum {
    /** A failure; the call that failed also returns it. */
    XF_LOG_ERROR = 1,
    /** Something unexpected that is not an error: a skipped line of a corpus, a changed option of a resumed run. */
    XF_LOG_WARNING = 2,
    /** Decisions and completed operations: the selected device, each load, save, and resume. */
    XF_LOG_INFO = 3,
    /** Diagnostic detail. */
    XF_LOG_DEBUG = 4
};

/** @brief A log line. Filled by the library; valid during the callback. @since 0.1 */
typedef struct xf_log_line {
    /** sizeof(xf_log_line) of the library. */
    size_t struct_size;
    /** One of XF_LOG_.... */
    int32_t level;
    /** Not used, 0. */
    int32_t reserved;
    /** The part of the library, for example "model". */
    const char *component;
    /** One line of UTF-8 without a line end. */
    const char *message;
} xf_log_line;

/**
 * @brief Receives log lines.
 *
 * Called on the thread that made the call or on that of an engine, never on a worker thread. Must not throw, longjmp,
 * or call functions on the same context except xf_context_cancel().
 *
 * @since 0.1
 */
typedef void (*xf_log_fn)(void *user, const xf_log_line *line);

/**
 * @brief A job for the host's executor: run(arg, i) for each i from 0 to count - 1. Filled by the library.
 * @since 0.1
 */
typedef struct xf_job {
    /** sizeof(xf_job) of the library. */
    size_t struct_size;
    /** Runs one task of the job. May be called from any thread. */
    void (*run)(void *arg, int32_t index);
    /** Passed to run. */
    void *arg;
    /** Number of tasks: 1 to "context.threads". */
    int32_t count;
    /** Not used, 0. */
    int32_t reserved;
} xf_job;

/**
 * @brief The host's executor: runs every task of a job exactly once and returns after all of them have returned.
 *
 * The tasks may run on any threads, concurrently or in sequence; a loop over run() is a valid executor. Called on the
 * thread that made the call or on that of an engine. A context submits one job at a time; meanwhile, other calls on the
 * context compute on their own threads. Translating one short sentence submits about 100 jobs of well under a
 * millisecond each, so dispatch must be cheap. To avoid a deadlock, the executor must not wait for a thread that is
 * itself waiting in a call of the executor. Results do not depend on how the tasks are run. Must not throw or longjmp.
 *
 * @since 0.1
 */
typedef void (*xf_parallel_fn)(void *user, const xf_job *job);

/** @brief The transport of one rank; defined in experimental.h. @since 0.1 */
struct xf_comm;

/**
 * @brief Services that a host provides to a context. A member that is NULL selects the library's own implementation.
 * The functions must not throw or longjmp.
 * @since 0.1
 */
typedef struct xf_host {
    /** sizeof(xf_host) of the caller. */
    size_t struct_size;

    /** Passed to alloc and free. */
    void *alloc_user;
    /**
     * Allocates a block of size bytes; alignment is a power of two. Used for large blocks: tensors, workspaces, and
     * corpora. Small objects use operator new. Returns NULL on failure. Called from any thread, concurrently. Either
     * both alloc and free are set, or neither.
     */
    void *(*alloc)(void *user, size_t size, size_t alignment);
    /** Frees a block that alloc returned. size is the size that was requested. */
    void (*free)(void *user, void *ptr, size_t size);

    /** Passed to log. */
    void *log_user;
    /** If NULL, nothing is logged. The library never prints. */
    xf_log_fn log;
    /** The least severe level to report, one of XF_LOG_...; 0: XF_LOG_WARNING. */
    int32_t log_level;
    /** Not used, 0. */
    int32_t reserved;

    /** Passed to parallel. */
    void *parallel_user;
    /** If NULL, the context creates its own worker threads; otherwise it creates none. */
    xf_parallel_fn parallel;

    /** Passed to release. */
    void *release_user;
    /**
     * Called once, after the context and all objects created from it have been freed. No other callback is called
     * afterwards. Not called if xf_context_create() fails. May be NULL.
     */
    void (*release)(void *user);

    /** Transport between the ranks of a training job (experimental.h); copied. NULL: a single process. */
    const struct xf_comm *comm;
} xf_host;

/** @brief An xf_host with its struct_size and no services. @since 0.1 */
#define XF_HOST_INIT \
    { sizeof(xf_host), NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL }

/**
 * @brief Creates a context: opens the device and starts the worker threads.
 *
 * Reads the options of the group "context.". If a named device cannot be opened, creation fails; "auto" selects the
 * best available device and logs why a preferred one was not used. Only plugins that the device may need are opened: a
 * context on "cpu" never loads the CUDA plugin.
 *
 * @param config [in] NULL: all defaults
 * @param host [in] NULL: no services. The struct is copied. The data that its functions use must remain valid until
 * xf_host::release is called
 * @param out [out] the new context; free it with xf_context_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT; XF_ERROR_NOT_FOUND (no such device); XF_ERROR_UNSUPPORTED (instruction set,
 *         precision, or an unknown member of host); XF_ERROR_VERSION (a plugin of another version); XF_ERROR_BACKEND;
 *         XF_ERROR_NO_MEMORY; XF_ERROR_PEER (the ranks could not be connected)
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_context_create(const xf_config *config, const xf_host *host, xf_context **out, xf_error *err);

/**
 * @brief Frees a context. It is destroyed after all objects created from it have also been freed.
 * @param context [in] NULL has no effect
 * @threads any
 * @since 0.1
 */
XF_API void xf_context_free(xf_context *context);

/**
 * @brief Cancels all calls that are running on the context and its objects, and all requests of its engines. Later
 * calls and requests are not affected.
 *
 * Intended for shutdown. To cancel one call, use xf_call::cancelled.
 *
 * @param context [in] NULL has no effect
 * @threads any; async-signal-safe
 * @since 0.1
 */
XF_API void xf_context_cancel(xf_context *context);

/** @brief Element types of tensors. @since 0.1 */
enum {
    /** 32-bit floating point. */
    XF_TYPE_FP32 = 1,
    /** 16-bit floating point, IEEE 754 binary16. */
    XF_TYPE_FP16 = 2,
    /** 16-bit floating point with the exponent range of fp32. */
    XF_TYPE_BF16 = 3,
    /** 8-bit integers with one fp32 scale per row. */
    XF_TYPE_INT8 = 4
};

/** @brief Properties of a context. The strings are owned by the context. @since 0.1 */
typedef struct xf_context_info {
    /** In: sizeof(xf_context_info) of the caller. */
    size_t struct_size;
    /** Human-readable description, one line, for example "openblas on cpu:0, AMD EPYC, avx512, 2 threads, fp32". */
    const char *description;
    /** Backend: "ref", "openblas", or "cuda". */
    const char *backend;
    /** Device in the form of "context.device", for example "cpu:openblas" or "cuda:0". */
    const char *device;
    /**
     * Instruction set that determines the bits of the results, together with backend and precision: "fma" (all CPUs
     * with FMA yield the same bits), "base" (CPUs without FMA), "sm_90" and similar (CUDA), or "any" ("ref").
     */
    const char *arithmetic;
    /** Type of activations and matrix products, one of XF_TYPE_...: XF_TYPE_FP32 or XF_TYPE_BF16. */
    int32_t precision;
    /** Number of CPU threads that compute, including the thread that makes the call. */
    int32_t threads;
    /** Rank of this process in its training job: 0 to rank_count - 1; 0 for a single process. */
    int32_t rank;
    /** Number of ranks of the training job; 1 for a single process. */
    int32_t rank_count;
} xf_context_info;

/** @brief An xf_context_info with its struct_size. @since 0.1 */
#define XF_CONTEXT_INFO_INIT \
    { sizeof(xf_context_info), NULL, NULL, NULL, NULL, 0, 0, 0, 0 }

/**
 * @brief Reports the properties of a context.
 * @param context [in] the context
 * @param info [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_context_get_info(const xf_context *context, xf_context_info *info, xf_error *err);

/** @brief Memory account of a context: tensors, workspaces, and corpora. @since 0.1 */
typedef struct xf_memory_stats {
    /** In: sizeof(xf_memory_stats) of the caller. */
    size_t struct_size;
    /** Bytes in use. */
    int64_t current;
    /** Largest value of current so far. */
    int64_t peak;
    /** "context.memory_budget"; 0: no limit. */
    int64_t budget;
    /** Number of allocations so far. It does not change in the steady state of training and decoding. */
    int64_t allocations;
} xf_memory_stats;

/** @brief An xf_memory_stats with its struct_size. @since 0.1 */
#define XF_MEMORY_STATS_INIT \
    { sizeof(xf_memory_stats), 0, 0, 0, 0 }

/**
 * @brief Reports the memory account of a context.
 * @param context [in] the context
 * @param stats [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_context_get_memory(const xf_context *context, xf_memory_stats *stats, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_CONTEXT_H */
