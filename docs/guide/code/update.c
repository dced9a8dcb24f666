/*
 * update.c - trains a copy of the model with corrections of users, and replaces the model only if the copy is not much
 * worse on held-out pairs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "must.h"

/* Corrections: the model has seen only sentences of three words. */
static const char *const sources[] = {"one two", "four three", "six six", "five one", "three four", "two five"};
static const char *const targets[] = {"eins zwei", "vier drei", "sechs sechs", "fünf eins", "drei vier", "zwei fünf"};

static double loss_of(const xf_model *model, xf_batcher *batcher) {
    xf_decoder *decoder = NULL;
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    must(xf_decoder_create(model, NULL, NULL, &decoder, &err));
    must(xf_evaluate(decoder, batcher, NULL, &stats, &err));
    xf_decoder_free(decoder);
    return stats.nll;
}

/* [update] */
/* Trains a copy with the corrections, and with the original data so that it forgets nothing. Replaces the model of the
 * engine if the loss on held-out pairs has increased by less than 0.1. */
static int update(xf_engine *engine, const xf_model *model, xf_batcher *corrections, xf_batcher *data,
                  xf_batcher *held_out, const char *learning_rate) {
    xf_config *config = NULL;
    xf_model *copy = NULL;
    xf_trainer *trainer = NULL;
    must(xf_config_create(&config, &err));
    must(xf_config_set(config, "train.schedule", "constant", &err));
    must(xf_config_set(config, "train.warmup_steps", "1", &err));
    must(xf_config_set(config, "train.learning_rate", learning_rate, &err));
    must(xf_model_copy(model, NULL, NULL, NULL, &copy, &err));
    must(xf_trainer_create(copy, config, &trainer, &err));
    while (xf_trainer_step_count(trainer) < 60) {
        must(xf_train_next(trainer, corrections, NULL, NULL, &err));
        must(xf_train_next(trainer, data, NULL, NULL, &err));
    }
    xf_trainer_free(trainer);
    const int good = loss_of(copy, held_out) < loss_of(model, held_out) + 0.1;
    if (good) must(xf_engine_set_model(engine, copy, NULL, &err)); /* active requests keep the old model */
    xf_model_free(copy);                                           /* the engine keeps it alive */
    xf_config_free(config);
    return good;
}
/* [update] */

static void translate(xf_engine *engine, const char *text) {
    xf_request request = XF_REQUEST_INIT;
    xf_event event = XF_EVENT_INIT;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    uint64_t id;
    request.text = text;
    must(xf_engine_submit(engine, &request, &id, &err));
    must(xf_engine_next(engine, -1, NULL, &event, &err));
    must(xf_hypotheses_get(event.hypotheses, 0, 0, &best, &err));
    printf("%s\n", best.text);
    xf_hypotheses_free(event.hypotheses);
}

int main(void) {
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_engine *engine = NULL;
    xf_config *config = NULL;
    xf_corpus *corpora[3] = {NULL, NULL, NULL};
    xf_batcher *batchers[3] = {NULL, NULL, NULL};
    xf_source source = XF_SOURCE_PATH("numerals.xf");
    must(xf_context_create(NULL, NULL, &context, &err));
    must(xf_model_load(context, &source, NULL, NULL, &model, &err));
    must(xf_engine_create(model, NULL, NULL, &engine, &err));
    must(xf_config_create(&config, &err));
    must(xf_config_set(config, "data.batch_tokens", "400", &err));
    must(xf_corpus_from_pairs(context, sources, NULL, targets, NULL, 6, NULL, NULL, &corpora[0], &err));
    must(xf_corpus_open(context, "train.tsv", NULL, NULL, NULL, &corpora[1], &err));
    must(xf_corpus_open(context, "dev.tsv", NULL, NULL, NULL, &corpora[2], &err));
    for (int i = 0; i < 3; ++i)
        must(xf_batcher_create(corpora[i], xf_model_tokenizer(model), config, NULL, &batchers[i], &err));

    /* [calls] */
    translate(engine, "six one");
    printf("rate 0.5: %s\n", update(engine, model, batchers[0], batchers[1], batchers[2], "0.5") ? "replaced" : "kept");
    printf("rate 0.001: %s\n",
           update(engine, model, batchers[0], batchers[1], batchers[2], "0.001") ? "replaced" : "kept");
    translate(engine, "six one");
    /* [calls] */

    for (int i = 0; i < 3; ++i) {
        xf_batcher_free(batchers[i]);
        xf_corpus_free(corpora[i]);
    }
    xf_config_free(config);
    xf_engine_free(engine);
    xf_model_free(model);
    xf_context_free(context);
    return 0;
}
