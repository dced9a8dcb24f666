/*
 * xformer/context.h - the root of everything: device, threads, memory, log, cancel.
 *
 * A context owns an opened device, a pool of worker threads, a memory account and a log callback. Nothing in the
 * library is global, so two users in one process do not meet. Every other object belongs to one context and keeps it
 * alive: handles may be freed in any order. What a function gives "owned by" another handle is no handle to be freed
 * and goes with its owner.
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

/**
 * @brief The host's allocator for what is large: tensors, arenas, scratch. Small C++ objects use operator new.
 *
 * Both functions are called from any thread, several at a time.
 *
 * @since 0.1
 */
typedef struct xf_allocator {
    /** sizeof(xf_allocator) of the caller. */
    size_t struct_size;
    /** Passed back to both functions. */
    void *user;
    /** Returns size bytes aligned to alignment (a power of two), or NULL. */
    void *(*alloc)(void *user, size_t size, size_t alignment);
    /** Frees what alloc returned; size as then. */
    void (*free)(void *user, void *ptr, size_t size);
} xf_allocator;

/** @brief A zeroed xf_allocator with its struct_size. @since 0.1 */
#define XF_ALLOCATOR_INIT \
    { sizeof(xf_allocator), NULL, NULL, NULL }

/** @brief Weight of a log line. @since 0.1 */
enum xf_log_level {
    /** Something failed; the call that failed also returns it. */
    XF_LOG_ERROR = 0,
    /** Something is not as the caller may think: a skipped line, a backend that could not be used. */
    XF_LOG_WARNING = 1,
    /** What was chosen and done. */
    XF_LOG_INFO = 2,
    /** Detail for those who look for a fault. */
    XF_LOG_DEBUG = 3
};

/**
 * @brief Receives log lines. Called on the thread that made the call, never from a worker; must not throw, longjmp,
 *        or call functions on the same context other than xf_context_cancel().
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

/**
 * @brief Creates a context: loads the backends found beside the library and opens the device.
 *
 * Reads the options "context.device" ("auto", "cpu", "cpu:ref", "cuda", "cuda:1"), "context.threads" (0: one per
 * processor this process may use), "context.memory_budget" (bytes of tensors; 0: no limit), "context.isa",
 * "context.precision" and "context.graphs".
 * A device that is named and can't be opened is an error; "auto" takes the best that opens. Backends that could not
 * be used are told by xf_backend_get().
 *
 * @param config [in] NULL: all defaults
 * @param allocator [in] NULL: the library's own; copied, its functions must live as long as the context
 * @param out [out] the new context; the caller frees it with xf_context_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND (no such device), XF_ERROR_UNSUPPORTED (instruction
 *         set, precision, a member of allocator), XF_ERROR_BACKEND, XF_ERROR_NO_MEMORY
 * @threads any
 * @since 0.1
 */
XF_API enum xf_status xf_context_create(const xf_config *config, const xf_allocator *allocator, xf_context **out,
                                        xf_error *err);

/**
 * @brief Frees the caller's hold on a context. It goes when the last object made from it is freed too.
 * @param context [in] NULL is allowed and does nothing
 * @threads exclusive
 * @since 0.1
 */
XF_API void xf_context_free(xf_context *context);

/**
 * @brief Sets who receives the log of this context. Without it nothing is printed anywhere.
 * @param context [in] the context
 * @param fn [in] NULL: silence
 * @param user [in] passed back to fn
 * @param level [in] the least weighty level that is wanted
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_context_set_log(xf_context *context, xf_log_fn fn, void *user, enum xf_log_level level,
                                         xf_error *err);

/**
 * @brief Cancels every call that runs on this context and its objects at the moment.
 * @param context [in] NULL is allowed and does nothing
 * @threads any; async-signal-safe
 * @since 0.1
 */
XF_API void xf_context_cancel(xf_context *context);

/**
 * @brief Tells what this context computes with, such as "openblas on cpu:0, AMD EPYC, avx512, own kernels only,
 *        2 threads".
 * @param context [in] the context
 * @return one line owned by the context, for people; NULL when context is not a context
 * @threads shared-read
 * @since 0.1
 */
XF_API const char *xf_context_device(const xf_context *context);

/** @brief Memory of a context's tensors, in bytes. @since 0.1 */
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

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_CONTEXT_H */
