/*
 * training.c - a complete training run: held-out loss, checkpoints, early stopping, averaging, chrF.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "must.h"

enum { EVERY = 50, PATIENCE = 2, MAX_STEPS = 1000, LAST = 3 };

/* [dev_loss] */
/* Cross-entropy in nats per target token on all pairs of a batcher. */
static double dev_loss(xf_decoder *decoder, xf_batcher *dev) {
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    must(xf_evaluate(decoder, dev, NULL, &stats, &err));
    return stats.nll;
}
/* [dev_loss] */

/* [score] */
static double dev_chrf(xf_decoder *decoder, const xf_corpus *dev) {
    enum { MAX_PAIRS = 100 };
    const char *sources[MAX_PAIRS], *references[MAX_PAIRS], *found[MAX_PAIRS];
    size_t source_lengths[MAX_PAIRS], reference_lengths[MAX_PAIRS];
    const int64_t count = xf_corpus_pair_count(dev) < MAX_PAIRS ? xf_corpus_pair_count(dev) : MAX_PAIRS;
    xf_hypotheses *hypotheses = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    xf_chrf_score score = XF_CHRF_SCORE_INIT;

    for (int64_t i = 0; i < count; ++i) /* the texts of a corpus are not NUL-terminated */
        must(xf_corpus_get_pair(dev, i, &sources[i], &source_lengths[i], &references[i], &reference_lengths[i], &err));
    must(xf_translate(decoder, sources, source_lengths, (size_t)count, NULL, NULL, &hypotheses, &err));
    for (int64_t i = 0; i < count; ++i) {
        must(xf_hypotheses_get(hypotheses, (size_t)i, 0, &best, &err));
        found[i] = best.text;
    }
    /* BLEU is not meaningful here: it needs sentences of at least four words. */
    must(xf_chrf(found, NULL, references, reference_lengths, (size_t)count, &score, &err));
    xf_hypotheses_free(hypotheses);
    return score.score;
}
/* [score] */

int main(void) {
    xf_config *config = NULL, *dev_config = NULL;
    xf_context *context = NULL;
    xf_corpus *corpus = NULL, *dev_corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL, *dev = NULL;
    xf_model *model = NULL, *average = NULL;
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
    must(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, &err));
    must(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, &err));
    must(xf_model_create(context, tokenizer, config, &model, &err));
    must(xf_trainer_create(model, config, &trainer, &err));

    /* [held_out] */
    must(xf_config_copy(config, &dev_config, &err));
    must(xf_config_set(dev_config, "data.shuffle", "false", &err));
    must(xf_corpus_open(context, "dev.tsv", NULL, dev_config, NULL, &dev_corpus, &err));
    must(xf_batcher_create(dev_corpus, tokenizer, dev_config, NULL, &dev, &err));
    must(xf_decoder_create(model, NULL, config, &decoder, &err)); /* reads the model that is being trained */
    /* [held_out] */

    /* [loop] */
    xf_sink best_sink = XF_SINK_PATH("best.xf");
    double best = INFINITY;
    int without_improvement = 0, evaluations = 0;
    while (stats.step < MAX_STEPS && without_improvement < PATIENCE) {
        if (must(xf_train_next(trainer, batcher, NULL, &stats, &err)) == XF_DONE) continue; /* an epoch has ended */
        if (stats.step % EVERY != 0) continue;

        char path[32];
        snprintf(path, sizeof path, "run.%d.xf", evaluations++ % LAST); /* the last three, for the average */
        xf_sink sink = XF_SINK_PATH(path);
        must(xf_trainer_save(trainer, batcher, NULL, &sink, &err));
        const double loss = dev_loss(decoder, dev);
        printf("step %d  loss %.3f  dev %.4f  rate %.5f\n", (int)stats.step, stats.loss, loss, stats.learning_rate);
        if (loss < 0.99 * best) {
            best = loss;
            without_improvement = 0;
            must(xf_model_save(model, NULL, NULL, &best_sink, &err)); /* the old file remains as best.xf.prev */
        } else {
            ++without_improvement;
        }
    }
    /* [loop] */
    xf_decoder_free(decoder);
    decoder = NULL;

    /* [average] */
    xf_source sources[LAST] = {XF_SOURCE_PATH("run.0.xf"), XF_SOURCE_PATH("run.1.xf"), XF_SOURCE_PATH("run.2.xf")};
    must(xf_model_average(context, sources, LAST, NULL, &average, &err));
    must(xf_decoder_create(average, NULL, NULL, &decoder, &err));
    printf("chrF of the average: %.1f\n", dev_chrf(decoder, dev_corpus));
    /* [average] */

    xf_decoder_free(decoder);
    xf_model_free(average);
    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_batcher_free(dev);
    xf_batcher_free(batcher);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(dev_corpus);
    xf_corpus_free(corpus);
    xf_context_free(context);
    xf_config_free(dev_config);
    xf_config_free(config);
    return 0;
}
