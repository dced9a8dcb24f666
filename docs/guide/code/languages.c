/*
 * languages.c - one model for two directions, with a batcher for each direction.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "must.h"

enum { MAX_PAIRS = 256 };

/* Returns the pairs with source and target exchanged. */
static xf_corpus *reversed(xf_context *context, const xf_corpus *corpus) {
    const char *sources[MAX_PAIRS], *targets[MAX_PAIRS];
    size_t source_lengths[MAX_PAIRS], target_lengths[MAX_PAIRS], count = 0;
    xf_corpus *reverse = NULL;
    for (; count < MAX_PAIRS && (int64_t)count < xf_corpus_pair_count(corpus); ++count)
        must(xf_corpus_get_pair(corpus, (int64_t)count, &targets[count], &target_lengths[count], &sources[count],
                                &source_lengths[count], &err));
    must(xf_corpus_from_pairs(context, sources, source_lengths, targets, target_lengths, count, NULL, NULL, &reverse,
                              &err));
    return reverse;
}

/* [batcher] */
static xf_batcher *batcher_of(const xf_corpus *corpus, const xf_model *model, xf_config *config, const char *target) {
    xf_batcher *batcher = NULL;
    must(xf_config_set(config, "text.target_language", target, &err)); /* text.source_language is not needed here */
    must(xf_batcher_create(corpus, xf_model_tokenizer(model), config, NULL, &batcher, &err));
    return batcher;
}
/* [batcher] */

static void show(xf_decoder *decoder, xf_config *options, const char *target, const char *text) {
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    xf_hypotheses *hypotheses = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    params.config = options;
    must(xf_config_set(options, "text.target_language", target, &err));
    must(xf_translate(decoder, &text, NULL, 1, &params, NULL, &hypotheses, &err));
    must(xf_hypotheses_get(hypotheses, 0, 0, &best, &err));
    printf("%s: %s\n", target, best.text);
    xf_hypotheses_free(hypotheses);
}

int main(void) {
    xf_config *config = NULL, *options = NULL;
    xf_context *context = NULL;
    xf_corpus *corpus = NULL, *reverse = NULL;
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
    must(xf_config_set(config, "context.threads", "1", &err)); /* fastest for a tiny model */
    must(xf_context_create(config, NULL, &context, &err));
    must(xf_corpus_open(context, "train.tsv", NULL, config, NULL, &corpus, &err));
    reverse = reversed(context, corpus);
    must(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, &err)); /* on both sides */

    /* [model] */
    /* Uses as language tokens two ids of the tokenizer that UTF-8 text never contains: those of bytes 0xFE and 0xFF. */
    must(xf_config_set(config, "model.languages", "English=256,German=257", &err));
    must(xf_config_set(config, "model.target_language", "source", &err)); /* the token precedes the source */
    must(xf_model_create(context, tokenizer, config, &model, &err));
    must(xf_trainer_create(model, config, &trainer, &err));
    xf_batcher *const batchers[] = {batcher_of(corpus, model, config, "German"),
                                    batcher_of(reverse, model, config, "English")};
    while (stats.step < 1000) {
        xf_batcher *const next = batchers[stats.step % 2];
        while (must(xf_train_next(trainer, next, NULL, &stats, &err)) == XF_DONE) { /* an epoch has ended */
        }
    }
    /* [model] */

    must(xf_decoder_create(model, NULL, NULL, &decoder, &err));
    must(xf_config_create(&options, &err));
    show(decoder, options, "German", "one two three");
    show(decoder, options, "English", "sechs sechs eins");

    xf_decoder_free(decoder);
    xf_trainer_free(trainer);
    for (int i = 0; i < 2; ++i) xf_batcher_free(batchers[i]);
    xf_model_free(model);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(reverse);
    xf_corpus_free(corpus);
    xf_context_free(context);
    xf_config_free(options);
    xf_config_free(config);
    return 0;
}
