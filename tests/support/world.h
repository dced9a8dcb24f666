/*
 * One small world for tests of the public API in C: a corpus, a tokenizer, a model, and one object of each other kind,
 * made in milliseconds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_SUPPORT_WORLD_H
#define XF_TEST_SUPPORT_WORLD_H

#include "api.h"
#include "small_model.h"

/* Pairs that a small model learns fast. */
static const char corpus_text[] =
    "one two three\teins zwei drei\n"
    "two three four\tzwei drei vier\n"
    "three four\tdrei vier\n"
    "four one\tvier eins\n"
    "one one two\teins eins zwei\n"
    "four four three two\tvier vier drei zwei\n"
    "two\tzwei\n"
    "three one four two\tdrei eins vier zwei\n"
    "one four\teins vier\n"
    "two two\tzwei zwei\n"
    "three three three\tdrei drei drei\n"
    "four two one\tvier zwei eins\n";

/* One live handle of each kind, made from each other. */
struct world {
    xf_config *config;
    xf_context *context;
    xf_corpus *corpus;
    xf_tokenizer *tokenizer;
    xf_batcher *batcher;
    xf_model *model;
    xf_trainer *trainer;
    xf_decoder *decoder;
    xf_hypotheses *hypotheses;
};

/* A config for a model of a few thousand parameters. */
static inline xf_status make_config(const char *device, xf_config **out, xf_error *err) {
    static const char *const values[][2] = {
        XF_TEST_SMALL_MODEL,
        {"tokenizer.vocab_size", "290"},
        {"data.batch_tokens", "40"},
        {"train.warmup_steps", "5"},
        {"train.schedule", "constant"},
        {"train.learning_rate", "0.01"},
        {"decode.max_extra_tokens", "8"},
        {"context.threads", "2"},
        {"data.seed", "7"},
    };
    xf_status status = xf_config_create(out, err);
    if (status == XF_OK) status = xf_config_set(*out, "context.device", device, err);
    for (size_t i = 0; status == XF_OK && i < sizeof values / sizeof *values; ++i)
        status = xf_config_set(*out, values[i][0], values[i][1], err);
    return status;
}

/* Makes all objects; w is zero before. */
static inline xf_status make_world(struct world *w, const char *device, xf_error *err) {
    static const char *const texts[] = {"one two", ""};
    xf_status status = make_config(device, &w->config, err);
    if (status == XF_OK) status = xf_context_create(w->config, NULL, &w->context, err);
    if (status == XF_OK)
        status = corpus_from_text(w->context, NULL, corpus_text, sizeof corpus_text - 1, &w->corpus, err);
    if (status == XF_OK) status = xf_tokenizer_train(w->context, w->corpus, w->config, NULL, &w->tokenizer, err);
    if (status == XF_OK) status = xf_batcher_create(w->corpus, w->tokenizer, w->config, NULL, &w->batcher, err);
    if (status == XF_OK) status = xf_model_create(w->context, w->tokenizer, w->config, &w->model, err);
    if (status == XF_OK) status = xf_trainer_create(w->model, w->config, &w->trainer, err);
    if (status == XF_OK) status = xf_decoder_create(w->model, NULL, w->config, &w->decoder, err);
    if (status == XF_OK) status = xf_translate(w->decoder, texts, NULL, 2, NULL, NULL, &w->hypotheses, err);
    return status;
}

static inline void free_objects(struct world *w) {
    xf_hypotheses_free(w->hypotheses);
    xf_decoder_free(w->decoder);
    xf_trainer_free(w->trainer);
    xf_model_free(w->model);
    xf_batcher_free(w->batcher);
    xf_tokenizer_free(w->tokenizer);
    xf_corpus_free(w->corpus);
    xf_context_free(w->context);
    xf_config_free(w->config);
    memset(w, 0, sizeof *w);
}

#endif
