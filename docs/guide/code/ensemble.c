/*
 * ensemble.c - trains a smaller model, and decodes with both: as an ensemble, and with the smaller one as a draft.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "must.h"

/* Trains a model with one layer in each stack and half of the width. */
static xf_model *train_smaller(xf_context *context, const xf_tokenizer *tokenizer) {
    xf_config *config = NULL;
    xf_corpus *corpus = NULL;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    must(xf_config_create(&config, &err));
    must(xf_config_preset(config, "tiny", &err));
    must(xf_config_set(config, "model.encoder_layers", "1", &err));
    must(xf_config_set(config, "model.decoder_layers", "1", &err));
    must(xf_config_set(config, "model.d_model", "32", &err));
    must(xf_config_set(config, "data.batch_tokens", "400", &err));
    must(xf_config_set(config, "train.warmup_steps", "100", &err));
    must(xf_corpus_open(context, "train.tsv", NULL, config, NULL, &corpus, &err));
    must(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, &err));
    must(xf_model_create(context, tokenizer, config, &model, &err));
    must(xf_trainer_create(model, config, &trainer, &err));
    while (xf_trainer_step_count(trainer) < 400) must(xf_train_next(trainer, batcher, NULL, NULL, &err));
    xf_trainer_free(trainer);
    xf_batcher_free(batcher);
    xf_corpus_free(corpus);
    xf_config_free(config);
    return model;
}

/* [log] */
static void print_draft(void *user, const xf_log_line *line) {
    (void)user;
    if (strcmp(line->component, "decode") == 0 && strstr(line->message, "draft") != NULL) puts(line->message);
}
/* [log] */

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_decoder *decoders[3] = {NULL, NULL, NULL}, *greedy = NULL, *drafted = NULL;
    xf_hypotheses *found = NULL, *expected = NULL;
    xf_hypothesis a = XF_HYPOTHESIS_INIT, b = XF_HYPOTHESIS_INIT;
    xf_source source = XF_SOURCE_PATH("numerals.xf");
    xf_host host = XF_HOST_INIT;
    const char *const text = "three two one";
    must(xf_config_create(&config, &err));
    must(xf_config_set(config, "context.threads", "1", &err)); /* fastest for tiny models */
    host.log = print_draft;
    host.log_level = XF_LOG_DEBUG;
    must(xf_context_create(config, &host, &context, &err));

    /* [models] */
    must(xf_model_load(context, &source, NULL, NULL, &model, &err));
    xf_model *smaller = train_smaller(context, xf_model_tokenizer(model)); /* with the same tokenizer */
    /* [models] */

    /* [ensemble] */
    const xf_model *const others[] = {smaller};
    xf_decode_models ensemble = XF_DECODE_MODELS_INIT;
    ensemble.ensemble = others;
    ensemble.ensemble_count = 1;
    must(xf_decoder_create(model, &ensemble, NULL, &decoders[0], &err));
    must(xf_translate(decoders[0], &text, NULL, 1, NULL, NULL, &found, &err));
    must(xf_hypotheses_get(found, 0, 0, &a, &err));
    printf("ensemble: '%s'\n", a.text);
    /* [ensemble] */

    /* [mean] */
    const char *const translation = "drei zwei eins";
    double log_p[3];
    must(xf_decoder_create(model, NULL, NULL, &decoders[1], &err));
    must(xf_decoder_create(smaller, NULL, NULL, &decoders[2], &err));
    for (int i = 0; i < 3; ++i)
        must(xf_score_texts(decoders[i], &text, NULL, &translation, NULL, 1, NULL, &log_p[i], NULL, &err));
    printf("log P: %s\n", log_p[0] == (log_p[1] + log_p[2]) / 2 ? "the mean of both models" : "different");
    /* [mean] */
    xf_hypotheses_free(found);

    /* [draft] */
    xf_decode_models with_draft = XF_DECODE_MODELS_INIT;
    with_draft.draft = smaller;
    must(xf_config_set(config, "decode.beam", "1", &err));
    must(xf_decoder_create(model, NULL, config, &greedy, &err));
    must(xf_decoder_create(model, &with_draft, config, &drafted, &err));
    must(xf_translate(greedy, &text, NULL, 1, NULL, NULL, &expected, &err));
    must(xf_translate(drafted, &text, NULL, 1, NULL, NULL, &found, &err));
    must(xf_hypotheses_get(expected, 0, 0, &a, &err));
    must(xf_hypotheses_get(found, 0, 0, &b, &err));
    printf("draft: '%s', %s\n", b.text,
           a.score == b.score && strcmp(a.text, b.text) == 0 ? "the same bits" : "different bits");
    /* [draft] */

    xf_hypotheses_free(found);
    xf_hypotheses_free(expected);
    xf_decoder_free(greedy);
    xf_decoder_free(drafted);
    for (int i = 0; i < 3; ++i) xf_decoder_free(decoders[i]);
    xf_model_free(smaller);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
