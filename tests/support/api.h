/*
 * Short forms of calls of the public API that most tests make: files by path, a corpus from lines, one property of an
 * object. Usable from C and C++.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_SUPPORT_API_H
#define XF_TEST_SUPPORT_API_H

#include <stdlib.h>
#include <string.h>

#include "xformer/experimental.h"
#include "xformer/xformer.h"

/* `OWNED_MODEL *model` is freed at the end of its block; so are the other kinds, and `OWNED_MEMORY char *text`.
 * XF_FREEING may be defined before as what surrounds the call that frees. */
#ifndef XF_FREEING
#define XF_FREEING(call) call
#endif
#define FREES(kind) \
    static inline void free_owned_##kind(xf_##kind **object) { XF_FREEING(xf_##kind##_free(*object)); }
FREES(config)
FREES(context)
FREES(corpus)
FREES(tokenizer)
FREES(batcher)
FREES(model)
FREES(trainer)
FREES(decoder)
FREES(hypotheses)
FREES(engine)
#undef FREES
static inline void free_owned_memory(void *pointer) {
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}
#define OWNED(kind) __attribute__((cleanup(free_owned_##kind))) xf_##kind
#define OWNED_CONFIG OWNED(config)
#define OWNED_CONTEXT OWNED(context)
#define OWNED_CORPUS OWNED(corpus)
#define OWNED_TOKENIZER OWNED(tokenizer)
#define OWNED_BATCHER OWNED(batcher)
#define OWNED_MODEL OWNED(model)
#define OWNED_TRAINER OWNED(trainer)
#define OWNED_DECODER OWNED(decoder)
#define OWNED_HYPOTHESES OWNED(hypotheses)
#define OWNED_MEMORY __attribute__((cleanup(free_owned_memory)))

static inline xf_source source_path(const char *path) {
    xf_source source = XF_SOURCE_INIT;
    source.kind = XF_IO_PATH;
    source.path = path;
    return source;
}

static inline xf_sink sink_path(const char *path) {
    xf_sink sink = XF_SINK_INIT;
    sink.kind = XF_IO_PATH;
    sink.path = path;
    return sink;
}

static inline xf_source source_memory(const void *data, size_t size) {
    xf_source source = XF_SOURCE_INIT;
    source.kind = XF_IO_MEMORY;
    source.data = data;
    source.size = size;
    return source;
}

static inline xf_status load_model(xf_context *context, const char *path, xf_model **out, xf_error *err) {
    const xf_source source = source_path(path);
    return xf_model_load(context, &source, NULL, NULL, out, err);
}

static inline xf_status save_model(const xf_model *model, const xf_config *config, const char *path, xf_error *err) {
    const xf_sink sink = sink_path(path);
    return xf_model_save(model, config, NULL, &sink, err);
}

static inline xf_status save_model_memory(const xf_model *model, const xf_config *config, void *data, size_t capacity,
                                          size_t *size, xf_error *err) {
    uint64_t bytes = size != NULL ? *size : 0;
    xf_sink sink = XF_SINK_INIT;
    sink.kind = XF_IO_MEMORY;
    sink.data = data;
    sink.capacity = capacity;
    sink.size = size != NULL ? &bytes : NULL;
    const xf_status status = xf_model_save(model, config, NULL, &sink, err);
    if (size != NULL) *size = (size_t)bytes;
    return status;
}

static inline xf_status load_tokenizer(xf_context *context, const char *path, xf_tokenizer **out, xf_error *err) {
    const xf_source source = source_path(path);
    return xf_tokenizer_load(context, &source, NULL, out, err);
}

static inline xf_status save_tokenizer(const xf_tokenizer *tokenizer, const char *path, xf_error *err) {
    const xf_sink sink = sink_path(path);
    return xf_tokenizer_save(tokenizer, NULL, &sink, err);
}

static inline xf_status save_trainer(xf_trainer *trainer, const xf_batcher *batcher, const char *path, xf_error *err) {
    const xf_sink sink = sink_path(path);
    return xf_trainer_save(trainer, batcher, NULL, &sink, err);
}

static inline xf_status resume_trainer(xf_context *context, const char *path, const xf_config *config, xf_trainer **out,
                                       xf_error *err) {
    const xf_source source = source_path(path);
    return xf_trainer_resume(context, &source, config, NULL, out, err);
}

static inline xf_status average_files(xf_context *context, const char *const *paths, size_t count, xf_model **out,
                                      xf_error *err) {
    xf_source sources[32];
    for (size_t i = 0; paths != NULL && i < count && i < 32; ++i) sources[i] = source_path(paths[i]);
    return xf_model_average(context, paths != NULL ? sources : NULL, count, NULL, out, err);
}

/* A status of a helper of the tests. */
static inline xf_status test_error(xf_status status, const char *message, xf_error *err) {
    if (err != NULL) {
        memset(err, 0, sizeof *err);
        err->status = status;
        strncpy(err->message, message, sizeof err->message - 1);
    }
    return status;
}

/* A corpus from lines "source TAB target". A line without a tab has an empty target. */
static inline xf_status corpus_from_text(xf_context *context, const xf_config *config, const char *text, size_t length,
                                         xf_corpus **out, xf_error *err) {
    if (text == NULL && length > 0)
        return test_error(XF_ERROR_INVALID_ARGUMENT, "corpus_from_text(): text is NULL, expected length bytes", err);
    size_t count = 0;
    for (size_t i = 0; i < length; ++i) count += text[i] == '\n' || i + 1 == length;
    const char **const texts = (const char **)calloc(2 * count + 1, sizeof(char *));
    size_t *const lengths = (size_t *)calloc(2 * count + 1, sizeof(size_t));
    if (texts == NULL || lengths == NULL) {
        free(texts);
        free(lengths);
        return test_error(XF_ERROR_NO_MEMORY, "corpus_from_text(): no memory for the lines", err);
    }
    size_t pair = 0;
    for (const char *line = text, *const end = text + length; line < end; ++pair) {
        const char *const newline = (const char *)memchr(line, '\n', (size_t)(end - line));
        const char *const stop = newline != NULL ? newline : end;
        const char *const tab = (const char *)memchr(line, '\t', (size_t)(stop - line));
        const char *const middle = tab != NULL ? tab : stop;
        texts[pair] = line;
        lengths[pair] = (size_t)(middle - line);
        texts[count + pair] = tab != NULL ? tab + 1 : stop;
        lengths[count + pair] = (size_t)(stop - texts[count + pair]);
        line = stop + 1;
    }
    const xf_status status =
        xf_corpus_from_pairs(context, texts, lengths, texts + count, lengths + count, pair, config, NULL, out, err);
    free(texts);
    free(lengths);
    return status;
}

/* The status of one sentence, with its message in err. */
static inline xf_status sentence_status(const xf_hypotheses *hypotheses, size_t sentence, xf_error *err) {
    xf_sentence_info info = XF_SENTENCE_INFO_INIT;
    const xf_status status = xf_hypotheses_get_sentence(hypotheses, sentence, &info, err);
    if (status != XF_OK || info.status == XF_OK) return status;
    return test_error(info.status, info.message, err);
}

static inline size_t hypothesis_count(const xf_hypotheses *hypotheses, size_t sentence) {
    xf_sentence_info info = XF_SENTENCE_INFO_INIT;
    return xf_hypotheses_get_sentence(hypotheses, sentence, &info, NULL) == XF_OK ? info.hypothesis_count : 0;
}

static inline xf_status get_integer(const xf_config *config, const char *key, int64_t *value, xf_error *err) {
    double number = 0;
    const xf_status status = xf_config_get_number(config, key, value != NULL ? &number : NULL, err);
    if (status == XF_OK) *value = (int64_t)number;
    return status;
}

static inline const char *device_of(const xf_context *context) {
    xf_context_info info = XF_CONTEXT_INFO_INIT;
    return xf_context_get_info(context, &info, NULL) == XF_OK ? info.description : NULL;
}

static inline int32_t rank_of(const xf_context *context) {
    xf_context_info info = XF_CONTEXT_INFO_INIT;
    return xf_context_get_info(context, &info, NULL) == XF_OK ? info.rank : -1;
}

static inline int32_t rank_count_of(const xf_context *context) {
    xf_context_info info = XF_CONTEXT_INFO_INIT;
    return xf_context_get_info(context, &info, NULL) == XF_OK ? info.rank_count : -1;
}

static inline xf_tokenizer_info tokenizer_info(const xf_tokenizer *tokenizer) {
    xf_tokenizer_info info = XF_TOKENIZER_INFO_INIT;
    info.start_token = info.end_token = -1;
    xf_tokenizer_get_info(tokenizer, &info, NULL);
    return info;
}
static inline int32_t vocab_size_of(const xf_tokenizer *tokenizer) { return tokenizer_info(tokenizer).vocab_size; }
static inline int32_t start_token_of(const xf_tokenizer *tokenizer) { return tokenizer_info(tokenizer).start_token; }
static inline int32_t end_token_of(const xf_tokenizer *tokenizer) { return tokenizer_info(tokenizer).end_token; }

/* Numbers of a tensor. */
static inline size_t number_count(const xf_tensor_info *info) {
    int64_t count = 1;
    for (int32_t i = 0; i < info->dims; ++i) count *= info->shape[i];
    return (size_t)count;
}

/* xf_evaluate() on the pairs of one batch. */
static inline xf_status evaluate_pairs(xf_decoder *decoder, xf_context *context, const xf_batch *pairs,
                                       xf_eval_stats *stats, xf_error *err) {
    xf_corpus *corpus = NULL;
    xf_batcher *batcher = NULL;
    xf_status status = xf_corpus_from_ids(context, pairs, NULL, &corpus, err);
    if (status == XF_OK) status = xf_batcher_create(corpus, NULL, NULL, NULL, &batcher, err);
    if (status == XF_OK) status = xf_evaluate(decoder, batcher, NULL, stats, err);
    xf_batcher_free(batcher);
    xf_corpus_free(corpus);
    return status;
}

static inline xf_status chrf_of(const char *const *hypotheses, const char *const *references, size_t count,
                                double *score, xf_error *err) {
    xf_chrf_score out = XF_CHRF_SCORE_INIT;
    const xf_status status = xf_chrf(hypotheses, NULL, references, NULL, count, score != NULL ? &out : NULL, err);
    if (status == XF_OK) *score = out.score;
    return status;
}

#endif
