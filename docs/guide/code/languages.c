/*
 * languages.c - one model for two directions: a batcher for each, which knows the model by its tokenizer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "must.h"

enum { MOST = 256 };

/* The pairs the other way round. */
static xf_corpus *turned(xf_context *context, const xf_corpus *corpus) {
    const char *sources[MOST], *targets[MOST];
    size_t source_lengths[MOST], target_lengths[MOST], count = 0;
    xf_corpus *other = NULL;
    for (; count < MOST && (int64_t)count < xf_corpus_pair_count(corpus); ++count)
        must(xf_corpus_get_pair(corpus, (int64_t)count, &targets[count], &target_lengths[count], &sources[count],
                                &source_lengths[count], &err));
    must(xf_corpus_from_pairs(context, NULL, sources, source_lengths, targets, target_lengths, count, &other, &err));
    return other;
}

/* [batcher] */
static xf_batcher *batcher_of(const xf_corpus *corpus, const xf_model *model, xf_config *config, const char *target) {
    xf_batcher *batcher = NULL;
    must(xf_config_set(config, "data.target_language", target, &err)); /* this model wants to know no other */
    must(xf_batcher_create(corpus, xf_model_tokenizer(model), config, &batcher, &err));
    return batcher;
}
/* [batcher] */

static void show(xf_decoder *decoder, xf_config *call, const char *target, const char *text) {
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    xf_hypotheses *answers = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    params.config = call;
    must(xf_config_set(call, "decode.target_language", target, &err));
    must(xf_translate(decoder, &text, NULL, 1, &params, &answers, &err));
    must(xf_hypotheses_get(answers, 0, 0, &best, &err));
    printf("%s: %s\n", target, best.text);
    xf_hypotheses_free(answers);
}

int main(void) {
    xf_config *config = NULL, *call = NULL;
    xf_context *context = NULL;
    xf_corpus *corpus = NULL, *other = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    xf_decoder *decoder = NULL;
    xf_step_stats stats = XF_STEP_STATS_INIT;

    must(xf_config_create(&config, &err));
    must(xf_config_preset(config, "tiny", &err));
    must(xf_config_set(config, "tokenizer.vocab_size", "300", &err));
    must(xf_config_set(config, "data.batch_tokens", "400", &err));
    must(xf_config_set(config, "train.warmup_steps", "100", &err));
    must(xf_config_set(config, "context.threads", "1", &err)); /* a tiny model is quickest on one */
    must(xf_context_create(config, NULL, &context, &err));
    must(xf_corpus_open(context, config, "train.tsv", &corpus, &err));
    other = turned(context, corpus);
    must(xf_tokenizer_train(context, config, corpus, &tokenizer, &err)); /* of both sides */

    /* [model] */
    /* The tokens of two bytes that no UTF-8 has. */
    must(xf_config_set(config, "model.languages", "English=256,German=257", &err));
    must(xf_config_set(config, "model.target_language", "source", &err)); /* before the source */
    must(xf_model_create(context, config, tokenizer, &model, &err));
    must(xf_trainer_create(model, config, &trainer, &err));
    xf_batcher *const ways[] = {batcher_of(corpus, model, config, "German"),
                                batcher_of(other, model, config, "English")};
    while (stats.step < 1000) {
        xf_batcher *const next = ways[stats.step % 2];
        while (must(xf_train_next(trainer, next, &stats, &err)) == XF_DONE) { /* an epoch has ended */
        }
    }
    /* [model] */

    must(xf_decoder_create(model, NULL, &decoder, &err));
    must(xf_config_create(&call, &err));
    show(decoder, call, "German", "one two three");
    show(decoder, call, "English", "sechs sechs eins");

    xf_decoder_free(decoder);
    xf_trainer_free(trainer);
    for (int i = 0; i < 2; ++i) xf_batcher_free(ways[i]);
    xf_model_free(model);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(other);
    xf_corpus_free(corpus);
    xf_context_free(context);
    xf_config_free(call);
    xf_config_free(config);
    return 0;
}
