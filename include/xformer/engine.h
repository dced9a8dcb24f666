/*
 * xformer/engine.h - decoding for servers and editors: many requests at once, streaming, and replacing the model.
 *
 * An engine decodes requests that arrive at any time, with one copy of the weights. Between two steps of the search,
 * waiting requests begin and finished ones are removed (continuous batching). Each request has its own options,
 * deadline, and priority. Its result has the same bits as that of xf_translate() or xf_decode() for only this sentence.
 *
 * Every submitted request gets exactly one last event, even if it fails, is cancelled, or passes its deadline, unless
 * the engine is freed first. A program receives events by calling xf_engine_next() from one or more threads; the
 * library does not report events by a callback. A program with an event loop waits until xf_engine_info::descriptor is
 * readable before it calls xf_engine_next().
 *
 * Order. A request with a higher priority begins earlier. One level of priority is worth 64 steps of waiting, so every
 * request begins eventually. Requests of equal priority begin in the order of submission. At most
 * "decode.batch_sentences" times "decode.beam" hypotheses are active at the same time, with the values of these options
 * in the engine's config; a single request may have more. At most 256 source tokens, or one longer sentence, are
 * encoded between two steps. If memory is exhausted ("context.memory_budget"), the engine restarts the active requests
 * later, fewer at a time.
 *
 * Alignment. With "decode.alignment", the engine aligns the hypotheses of a request when its search ends, between two
 * steps. All requests that end in the same step are aligned together. The next step waits for this pass, which computes
 * as many tokens as the sources and hypotheses of these requests have. Partial events have no alignment.
 *
 * Threads. An engine computes on a separate thread and on the worker threads of the context; with an executor
 * (xf_host::parallel), it submits its jobs from its own thread. Constraints and the log function are called on the
 * engine's thread. With the option "engine.thread" set to false, the engine has no thread and computes in
 * xf_engine_step(). The worker threads compute for one call at a time. A call that finds them in use, such as a
 * training step on the same context, computes only on its own thread. After fork(), the functions return
 * XF_ERROR_FORKED in the child, where an engine may only be freed.
 *
 * Devices. On a GPU, requests whose search runs on the GPU share the steps of the decoder only if their "decode.beam"
 * is equal. Requests whose search runs on the CPU (see decode.h) share steps with each other, for any "decode.beam".
 * Because reading the state of a search delays the GPU, the engine reads it only every fourth step, or after each step
 * while a request with partial events, a constraint, "decode.no_repeat_ngram", or "decode.banned_phrases" is active. It
 * may therefore detect the end of a request up to three steps late.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_ENGINE_H
#define XFORMER_ENGINE_H

#include "xformer/decode.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup engine Engine
 * @brief Continuous batching, streaming, and live updates.
 * @{
 */

/** @brief Decodes requests as they arrive. @since 0.1 */
typedef struct xf_engine xf_engine;

/**
 * @brief Creates an engine and starts its thread.
 *
 * Reads the options of the groups "engine.", "decode.", and "text.". While an engine uses a model, the model cannot be
 * trained. Train a copy (xf_model_copy()) instead, and pass it to xf_engine_set_model().
 *
 * @param model [in] kept alive by the engine
 * @param more [in] an ensemble or a draft; NULL: none
 * @param config [in] NULL: all defaults
 * @param out [out] the engine; free it with xf_engine_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT and XF_ERROR_STATE (as for xf_decoder_create()), XF_ERROR_NO_MEMORY,
 *         XF_ERROR_BACKEND, XF_ERROR_BUSY (a model is being trained), XF_ERROR_IO (no descriptor or thread is
 *         available)
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_engine_create(const xf_model *model, const xf_decode_models *more, const xf_config *config,
                                  xf_engine **out, xf_error *err);

/**
 * @brief Frees an engine. Waits until the current step has ended.
 *
 * Requests that have not ended get no last event, and events that have not been received are lost. Waiting calls of
 * xf_engine_next() return XF_ERROR_STATE. Must not be called from a constraint.
 *
 * @param engine [in] NULL has no effect
 * @threads any
 * @since 0.1
 */
XF_API void xf_engine_free(xf_engine *engine);

/**
 * @brief One sentence to decode. xf_engine_submit() copies the data, except the user data of the constraint.
 *
 * Exactly one of text and source_ids must be set.
 *
 * @since 0.1
 */
typedef struct xf_request {
    /** sizeof(xf_request) of the caller. */
    size_t struct_size;
    /** Text to translate; white space around it is ignored. */
    const char *text;
    /** Size of text in bytes; 0: it is NUL-terminated. */
    size_t text_length;
    /** Text with which the translation begins; only if text is set. NULL: none. */
    const char *prefix;
    /** Size of prefix in bytes; 0: it is NUL-terminated. */
    size_t prefix_length;
    /** [source_id_count] source ids including the end symbol. */
    const int32_t *source_ids;
    /** Number of source ids. */
    size_t source_id_count;
    /** [prefix_id_count] ids with which the hypotheses begin; only if source_ids is set. May be NULL. */
    const int32_t *prefix_ids;
    /** Number of prefix ids. */
    size_t prefix_id_count;
    /** Options of the groups "decode." and "text." that are set here override those of the engine. May be NULL. */
    const xf_config *config;
    /**
     * Restricts the tokens that may follow a hypothesis; see experimental.h. xf_partial::sentence is 0. The user data
     * of the constraint must remain valid until the last event. May be NULL.
     */
    const struct xf_constraint *constraint;
    /**
     * Time limit in milliseconds from the submission; 0: no deadline. When it passes, the request ends after the
     * current step. It then returns its best hypotheses so far (xf_hypothesis::complete is 0), or XF_ERROR_DEADLINE if
     * it has not begun.
     */
    int64_t deadline_ms;
    /** Priority from -1000 to 1000; 0 is normal. A higher one begins earlier. */
    int32_t priority;
    /**
     * 1: partial events report the certain tokens, with which every possible result begins. 0: the last event is the
     * only one. There are no partial events if the tokenizer changes decoded text by rules (SentencePiece's
     * denormalizer_spec), because a later token could change earlier text.
     */
    int32_t stream;
    /** Returned in the events of the request. */
    void *user;
} xf_request;

/** @brief An xf_request with its struct_size. @since 0.1 */
#define XF_REQUEST_INIT \
    { sizeof(xf_request), NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL }

/**
 * @brief Submits a request. Encodes its text on the calling thread and never waits for the computation.
 *
 * A request that cannot be decoded, for example because its text is not UTF-8, is accepted; its last event reports the
 * error.
 *
 * @param engine [in,out] the engine
 * @param request [in] the request
 * @param id [out] identifies the request; ids begin with 1 and increase
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (priority or deadline_ms), XF_ERROR_NO_MEMORY;
 *         XF_ERROR_BUSY (the engine already holds "engine.max_requests" requests: receive events, then try again)
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_engine_submit(xf_engine *engine, const xf_request *request, uint64_t *id, xf_error *err);

/**
 * @brief Cancels a request. The last event then has the status XF_ERROR_CANCELLED, unless the current step completes
 * the request.
 * @param engine [in,out] the engine
 * @param id [in] of the request
 * @param err [out] may be NULL
 * @return XF_OK; XF_DONE (the request has already ended), XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND (no request has
 *         had this id)
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_engine_cancel(xf_engine *engine, uint64_t id, xf_error *err);

/** @brief An event of a request. @since 0.1 */
typedef struct xf_event {
    /** In: sizeof(xf_event) of the caller. */
    size_t struct_size;
    /** The request. */
    uint64_t id;
    /** xf_request::user. */
    void *user;
    /**
     * One sentence; free it with xf_hypotheses_free(). In a partial event, it has one hypothesis: all tokens that are
     * certain so far and their text up to the last complete character, with finished and complete 0. Later events of
     * the request repeat this beginning and never change it.
     */
    xf_hypotheses *hypotheses;
    /** xf_engine_info::model_hash of the model that decodes the request; 0 if it never began. */
    uint64_t model_hash;
    /** 1: the last event of the request; 0: a partial event. */
    int32_t last;
    /** XF_OK, or the error of the request: a status of xf_sentence_info or an error of xf_translate(). */
    int32_t status;
} xf_event;

/** @brief An xf_event with its struct_size. @since 0.1 */
#define XF_EVENT_INIT \
    { sizeof(xf_event), 0, NULL, NULL, 0, 0, 0 }

/**
 * @brief Returns the next event and waits for it if necessary.
 *
 * If a request has several events that have not been received, only the newest one is kept.
 *
 * @param engine [in,out] the engine
 * @param timeout_ms [in] maximum time to wait for an event; 0: does not wait; a negative value: no limit
 * @param call [in] a cancel flag and a deadline for the wait; NULL: none
 * @param event [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK; XF_DONE (no event within timeout_ms), XF_ERROR_INVALID_ARGUMENT, XF_ERROR_CANCELLED,
 * XF_ERROR_DEADLINE, XF_ERROR_STATE (the engine was freed during the call), XF_ERROR_NO_MEMORY (the event remains)
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_engine_next(xf_engine *engine, int64_t timeout_ms, const xf_call *call, xf_event *event,
                                xf_error *err);

/**
 * @brief Computes one step on the calling thread, for programs without threads. Requires "engine.thread" false.
 * @param engine [in,out] the engine
 * @param err [out] may be NULL
 * @return XF_OK (requests remain to be decoded); XF_DONE (none remains), XF_ERROR_INVALID_ARGUMENT, XF_ERROR_STATE (the
 *         engine has a thread), XF_ERROR_BUSY (another thread computes a step)
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_engine_step(xf_engine *engine, xf_error *err);

/**
 * @brief Replaces the model. Requests that begin afterwards use the new one; active requests continue with theirs.
 *
 * The earlier model is released after its last request. Until then, the memory of both is in use.
 *
 * @param engine [in,out] the engine
 * @param model [in] kept alive by the engine; of the same context. For 8-bit weights, pass a copy with "model.weights"
 * int8
 * @param more [in] an ensemble or a draft; NULL: none, even if the earlier model had one
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also: a model of another context or with another "model.vocab_size", or
 *         models that cannot decode together), XF_ERROR_STATE (as for xf_decoder_create()), XF_ERROR_NO_MEMORY,
 *         XF_ERROR_BACKEND, XF_ERROR_BUSY (a model is being trained, or requests still use seven earlier models)
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_engine_set_model(xf_engine *engine, const xf_model *model, const xf_decode_models *more,
                                     xf_error *err);

/** @brief State and counters of an engine. @since 0.1 */
typedef struct xf_engine_info {
    /** In: sizeof(xf_engine_info) of the caller. */
    size_t struct_size;
    /** Requests that have not begun. */
    int64_t waiting;
    /** Requests in the search. */
    int64_t active;
    /** Events that have not been received. */
    int64_t events;
    /** Requests since the engine was created. */
    int64_t submitted;
    /** Requests that ended with XF_OK. */
    int64_t completed;
    /** Requests that ended with XF_ERROR_CANCELLED. */
    int64_t cancelled;
    /** Requests that ended with another error. */
    int64_t failed;
    /** Steps of the search. */
    int64_t steps;
    /**
     * Hypotheses of the active requests, summed over all steps; rows / steps is the mean batch size. In each of its
     * steps, a request counts with "decode.beam" hypotheses, or "decode.n_best" with sampling or alternatives.
     */
    int64_t rows;
    /** Steps that ran the encoder. */
    int64_t encoder_passes;
    /** Requests that began again because memory was exhausted. */
    int64_t restarts;
    /**
     * Hash of the options and weights of the current model, or of all models of an ensemble. Equal models have equal
     * hashes.
     */
    uint64_t model_hash;
    /** Models in use: the current one, and earlier ones with active requests. */
    int32_t model_count;
    /**
     * File descriptor that is readable while xf_engine_next() has an event, for poll(), epoll, and similar functions.
     * Owned by the engine: do not read from it or close it. -1 in WebAssembly and on Windows.
     */
    int32_t descriptor;
} xf_engine_info;

/** @brief An xf_engine_info with its struct_size. @since 0.1 */
#define XF_ENGINE_INFO_INIT \
    { sizeof(xf_engine_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * @brief Reports the state of an engine.
 * @param engine [in] the engine
 * @param info [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_engine_get_info(const xf_engine *engine, xf_engine_info *info, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_ENGINE_H */
