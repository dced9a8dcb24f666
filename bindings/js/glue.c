/*
 * The functions that xformer.js calls. They pass structs of the library on, and JavaScript reads these from memory:
 * the assertions below fix the offsets that it uses.
 *
 * A function that may fail returns an xf_status or NULL; xfjs_error() then has the reason. Options are a sequence of
 * NUL-terminated keys and values that ends with an empty key. A page has one thread, so the state below is static.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "xformer/experimental.h"
#include "xformer/xformer.h"

#define EXPORT __attribute__((used, visibility("default")))

static_assert(sizeof(void *) == 4, "the offsets below are those of wasm32");
#define AT(type, member, offset) static_assert(offsetof(type, member) == (offset), #member)
AT(xf_error, message, 8);
AT(xf_event, id, 8);
AT(xf_event, last, 32);
AT(xf_event, status, 36);
AT(xf_sentence_info, hypothesis_count, 16);
AT(xf_sentence_info, source_ends, 20);
AT(xf_sentence_info, source_token_count, 24);
AT(xf_span, begin, 0);
AT(xf_span, end, 4);
AT(xf_hypothesis, ids, 4);
AT(xf_hypothesis, id_count, 8);
AT(xf_hypothesis, text, 12);
AT(xf_hypothesis, text_length, 16);
AT(xf_hypothesis, token_log_probabilities, 20);
AT(xf_hypothesis, alignment, 24);
AT(xf_hypothesis, text_ends, 28);
AT(xf_hypothesis, log_probability, 32);
AT(xf_hypothesis, score, 40);
AT(xf_hypothesis, finished, 48);
AT(xf_hypothesis, complete, 52);
AT(xf_step_stats, step, 8);
AT(xf_step_stats, sentences, 16);
AT(xf_step_stats, loss, 40);
AT(xf_step_stats, nll, 48);
AT(xf_step_stats, learning_rate, 56);
AT(xf_step_stats, gradient_norm, 64);
AT(xf_step_stats, outcome, 72);

typedef struct xfjs {
    xf_context *context;
    xf_model *model;    /* what save() writes */
    xf_config *weights; /* "model.weights" of the engine's model */
    xf_engine *engine;
    xf_event event; /* received last */
    xf_model *student;
    xf_trainer *trainer;
    xf_batcher *batcher;
} xfjs;

static xf_error err;
static xf_sentence_info sentence;
static xf_hypothesis hypothesis;
static xf_step_stats stats;

EXPORT const xf_error *xfjs_error(void) { return &err; }
EXPORT const char *xfjs_status_name(int32_t status) { return xf_status_name(status); }

static int32_t set_error(int32_t status, const char *message) {
    err.status = status;
    err.native_code = 0;
    strncpy(err.message, message, sizeof err.message - 1);
    return status;
}

static xf_config *config_of(const char *options) {
    xf_config *config = NULL;
    if (xf_config_create(&config, &err) != XF_OK) return NULL;
    while (*options != 0) {
        const char *const value = options + strlen(options) + 1;
        if (xf_config_set(config, options, value, &err) != XF_OK) {
            xf_config_free(config);
            return NULL;
        }
        options = value + strlen(value) + 1;
    }
    return config;
}

static void train_free(xfjs *t) {
    xf_batcher_free(t->batcher);
    xf_trainer_free(t->trainer);
    xf_model_free(t->student);
    t->batcher = NULL;
    t->trainer = NULL;
    t->student = NULL;
}

EXPORT void xfjs_free(xfjs *t) {
    if (t == NULL) return;
    train_free(t);
    xf_hypotheses_free(t->event.hypotheses);
    xf_engine_free(t->engine);
    xf_model_free(t->model);
    xf_context_free(t->context);
    xf_config_free(t->weights);
    free(t);
}

/* The engine's model is the loaded one unless the weights are converted, so that save() has the original numbers. */
EXPORT xfjs *xfjs_load(const void *bytes, size_t size, const char *options, const char *weights) {
    xfjs *const t = calloc(1, sizeof *t);
    if (t == NULL) {
        set_error(XF_ERROR_NO_MEMORY, "out of memory for a translator");
        return NULL;
    }
    xf_config *const config = config_of(options);
    xf_source source = XF_SOURCE_INIT;
    source.kind = XF_IO_MEMORY;
    source.data = bytes;
    source.size = size;
    t->weights = config_of(weights);
    const int loaded = config != NULL && t->weights != NULL &&
                       xf_config_set(config, "engine.thread", "false", &err) == XF_OK &&
                       xf_context_create(config, NULL, &t->context, &err) == XF_OK &&
                       xf_model_load(t->context, &source, t->weights, NULL, &t->model, &err) == XF_OK &&
                       xf_engine_create(t->model, NULL, config, &t->engine, &err) == XF_OK;
    xf_config_free(config);
    if (loaded) return t;
    xfjs_free(t);
    return NULL;
}

/* Returns the id of the request, or a negative status. */
EXPORT double xfjs_submit(xfjs *t, const char *text, size_t length, const char *prefix, size_t prefix_length,
                          const char *options, double deadline_ms, int32_t stream) {
    uint64_t id = 0;
    xf_request request = XF_REQUEST_INIT;
    xf_config *const config = config_of(options);
    if (config == NULL) return err.status;
    request.text = text;
    request.text_length = length;
    request.prefix = prefix_length > 0 ? prefix : NULL;
    request.prefix_length = prefix_length;
    request.config = config;
    request.deadline_ms = (int64_t)deadline_ms;
    request.stream = stream;
    const xf_status status = xf_engine_submit(t->engine, &request, &id, &err);
    xf_config_free(config);
    return status == XF_OK ? (double)id : status;
}

EXPORT int32_t xfjs_cancel(xfjs *t, double id) { return xf_engine_cancel(t->engine, (uint64_t)id, &err); }

EXPORT int32_t xfjs_step(xfjs *t) { return xf_engine_step(t->engine, &err); }

/* Returns the next event or NULL. If the request failed, xfjs_error() has the reason. */
EXPORT const xf_event *xfjs_next(xfjs *t) {
    xf_hypotheses_free(t->event.hypotheses);
    t->event = (xf_event)XF_EVENT_INIT;
    if (xf_engine_next(t->engine, 0, NULL, &t->event, &err) != XF_OK) return NULL;
    sentence = (xf_sentence_info)XF_SENTENCE_INFO_INIT;
    const int described =
        t->event.hypotheses != NULL && xf_hypotheses_get_sentence(t->event.hypotheses, 0, &sentence, &err) == XF_OK;
    if (t->event.status != XF_OK) set_error(t->event.status, described ? sentence.message : "the request failed");
    return &t->event;
}

/* Of the event that was received last. */
EXPORT const xf_sentence_info *xfjs_sentence(void) { return &sentence; }
EXPORT const xf_hypothesis *xfjs_hypothesis(const xfjs *t, size_t index) {
    hypothesis = (xf_hypothesis)XF_HYPOTHESIS_INIT;
    return xf_hypotheses_get(t->event.hypotheses, 0, index, &hypothesis, &err) == XF_OK ? &hypothesis : NULL;
}

/* Prepares to train a copy of the model. texts: count sources, then count targets, concatenated. */
EXPORT int32_t xfjs_train(xfjs *t, const char *texts, const size_t *lengths, size_t count, const char *options) {
    xf_corpus *corpus = NULL;
    if (t->trainer != NULL) return set_error(XF_ERROR_BUSY, "the model is being trained, expected one call of train()");
    xf_config *const config = config_of(options);
    const char **const begins = calloc(2 * count + 1, sizeof *begins);
    if (config == NULL || begins == NULL) {
        xf_config_free(config);
        free(begins);
        return config == NULL ? err.status : set_error(XF_ERROR_NO_MEMORY, "out of memory for the pairs");
    }
    for (size_t i = 0; i < 2 * count; texts += lengths[i++]) begins[i] = texts;
    const int ready =
        xf_corpus_from_pairs(t->context, begins, lengths, begins + count, lengths + count, count, config, NULL, &corpus,
                             &err) == XF_OK &&
        xf_config_set(config, "model.weights", "fp32", &err) == XF_OK &&
        xf_model_copy(t->model, NULL, config, NULL, &t->student, &err) == XF_OK &&
        xf_batcher_create(corpus, xf_model_tokenizer(t->student), config, NULL, &t->batcher, &err) == XF_OK &&
        xf_trainer_create(t->student, config, &t->trainer, &err) == XF_OK;
    free(begins);
    xf_corpus_free(corpus);
    xf_config_free(config);
    if (ready) return XF_OK;
    train_free(t);
    return err.status;
}

EXPORT const xf_step_stats *xfjs_train_step(xfjs *t) {
    stats = (xf_step_stats)XF_STEP_STATS_INIT;
    xf_status status = xf_train_next(t->trainer, t->batcher, NULL, &stats, &err);
    if (status == XF_DONE) status = xf_train_next(t->trainer, t->batcher, NULL, &stats, &err); /* the next epoch */
    return status == XF_OK ? &stats : NULL;
}

/* Ends the training. keep: later requests and save() use the trained model. */
EXPORT int32_t xfjs_train_end(xfjs *t, int32_t keep) {
    xf_model *quantized = NULL;
    int32_t status = XF_OK;
    if (keep) {
        xf_trainer_free(t->trainer); /* frees the moments before the copy needs memory, and unlocks the model */
        t->trainer = NULL;
        status = xf_model_copy(t->student, NULL, t->weights, NULL, &quantized, &err);
        if (status == XF_OK) status = xf_engine_set_model(t->engine, quantized, NULL, &err);
        xf_model_free(quantized);
        if (status == XF_OK) {
            xf_model_free(t->model);
            t->model = t->student;
            t->student = NULL;
        }
    }
    train_free(t);
    return status;
}

/* Returns a block for free() with the model file, or NULL. */
EXPORT void *xfjs_save(xfjs *t, const char *options, size_t *size) {
    xf_config *const config = config_of(options);
    if (config == NULL) return NULL;
    uint64_t bytes = 0;
    void *block = NULL;
    xf_sink sink = XF_SINK_INIT;
    sink.kind = XF_IO_MEMORY;
    sink.size = &bytes;
    xf_status status = xf_model_save(t->model, config, NULL, &sink, &err);
    if (status == XF_ERROR_BUFFER_TOO_SMALL) {
        block = bytes <= PTRDIFF_MAX ? malloc((size_t)bytes) : NULL;
        sink.data = block;
        sink.capacity = bytes;
        status = block != NULL ? xf_model_save(t->model, config, NULL, &sink, &err)
                               : set_error(XF_ERROR_NO_MEMORY, "out of memory for the model file");
    }
    xf_config_free(config);
    if (status == XF_OK) {
        *size = (size_t)bytes;
        return block;
    }
    free(block);
    return NULL;
}

/* Returns the value of an option of the model, or NULL. */
EXPORT const char *xfjs_option(const xfjs *t, const char *key) {
    const char *value = NULL;
    return xf_config_get(xf_model_config(t->model), key, &value, &err) == XF_OK ? value : NULL;
}

/* The functions below return a block for free(), or NULL. */

static void *allocate(size_t count, size_t size) {
    void *const block = calloc(count + 1, size);
    if (block == NULL) set_error(XF_ERROR_NO_MEMORY, "out of memory for a result");
    return block;
}

/* Returns the sentences of a text as count xf_span. */
EXPORT xf_span *xfjs_split(const char *text, size_t length, const char *language, size_t max_characters,
                           size_t *count) {
    xf_status status = xf_split_sentences(text, length, language, max_characters, NULL, 0, count, &err);
    if (status != XF_OK && status != XF_ERROR_BUFFER_TOO_SMALL) return NULL;
    xf_span *const spans = allocate(*count, sizeof *spans);
    if (spans == NULL) return NULL;
    status = xf_split_sentences(text, length, language, max_characters, spans, *count, count, &err);
    if (status == XF_OK) return spans;
    free(spans);
    return NULL;
}

/* Returns the ids of a text, with the symbols that the model adds. side: XF_SIDE_... */
EXPORT int32_t *xfjs_encode(const xfjs *t, int32_t side, const char *text, size_t length, const char *options,
                            size_t *count) {
    xf_config *const config = config_of(options);
    int32_t *ids = NULL;
    if (config == NULL) return NULL;
    xf_status status = xf_model_encode(t->model, side, text, length, config, NULL, 0, count, &err);
    if (status == XF_OK || status == XF_ERROR_BUFFER_TOO_SMALL) ids = allocate(*count, sizeof *ids);
    if (ids != NULL) {
        status = xf_model_encode(t->model, side, text, length, config, ids, *count, count, &err);
        if (status != XF_OK) {
            free(ids);
            ids = NULL;
        }
    }
    xf_config_free(config);
    return ids;
}

/* Returns the NUL-terminated name of a token. */
EXPORT char *xfjs_piece(const xfjs *t, int32_t side, int32_t id) {
    const xf_tokenizer *const tokenizer = xf_tokenizer_side(xf_model_tokenizer(t->model), side);
    size_t length = 0;
    xf_status status = xf_tokenizer_get_piece(tokenizer, id, NULL, 0, &length, &err);
    if (status != XF_OK && status != XF_ERROR_BUFFER_TOO_SMALL) return NULL;
    char *const piece = allocate(length, 1);
    if (piece == NULL) return NULL;
    status = xf_tokenizer_get_piece(tokenizer, id, piece, length + 1, &length, &err);
    if (status == XF_OK) return piece;
    free(piece);
    return NULL;
}

/* Returns the attention weights of a layer for one pair of ids, as count numbers. kind: XF_ATTENTION_... */
EXPORT float *xfjs_attention(const xfjs *t, int32_t kind, int32_t layer, const int32_t *source, size_t source_count,
                             const int32_t *target, size_t target_count, size_t *count) {
    const int64_t source_offsets[2] = {0, (int64_t)source_count}, target_offsets[2] = {0, (int64_t)target_count};
    const xf_batch pair = {.struct_size = sizeof pair,
                           .sentences = 1,
                           .src_ids = source,
                           .src_offsets = source_offsets,
                           .tgt_ids = target,
                           .tgt_offsets = target_offsets};
    xf_decoder *decoder = NULL;
    float *weights = NULL;
    if (xf_decoder_create(t->model, NULL, NULL, &decoder, &err) != XF_OK) return NULL;
    xf_status status = xf_attention_weights(decoder, &pair, kind, layer, NULL, 0, count, &err);
    if (status == XF_ERROR_BUFFER_TOO_SMALL) weights = allocate(*count, sizeof *weights);
    if (weights != NULL) {
        status = xf_attention_weights(decoder, &pair, kind, layer, weights, *count, count, &err);
        if (status != XF_OK) {
            free(weights);
            weights = NULL;
        }
    }
    xf_decoder_free(decoder);
    return weights;
}
