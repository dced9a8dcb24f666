/*
 * training.c - a training run with all that belongs to it: held-out loss, checkpoints, early stopping, averaging, chrF.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "must.h"

enum { EVERY = 50, PATIENCE = 2, MOST_STEPS = 1000, LAST = 3 };

/* [dev_loss] */
/* Cross-entropy in nats per target token on all pairs of a batcher. */
static double dev_loss(xf_decoder *decoder, xf_batcher *dev) {
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    must(xf_evaluate_batcher(decoder, dev, &stats, &err));
    return stats.nll;
}
/* [dev_loss] */

/* [score] */
static double dev_chrf(xf_decoder *decoder, const xf_corpus *dev) {
    enum { MOST = 100 };
    static char sources[MOST][64], references[MOST][64];
    const char *texts[MOST], *expected[MOST], *found[MOST];
    const char *source, *target;
    size_t source_length, target_length;
    const int64_t count = xf_corpus_pair_count(dev) < MOST ? xf_corpus_pair_count(dev) : MOST;
    xf_hypotheses *answers = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    double score;

    for (int64_t i = 0; i < count; ++i) { /* the texts of a corpus are not NUL-terminated */
        must(xf_corpus_get_pair(dev, i, &source, &source_length, &target, &target_length, &err));
        snprintf(sources[i], sizeof sources[i], "%.*s", (int)source_length, source);
        snprintf(references[i], sizeof references[i], "%.*s", (int)target_length, target);
        texts[i] = sources[i];
        expected[i] = references[i];
    }
    must(xf_translate(decoder, texts, NULL, (size_t)count, NULL, &answers, &err));
    for (int64_t i = 0; i < count; ++i) {
        must(xf_hypotheses_get(answers, (size_t)i, 0, &best, &err));
        found[i] = best.text;
    }
    must(xf_chrf(found, expected, (size_t)count, &score, &err)); /* BLEU wants sentences of four words and more */
    xf_hypotheses_free(answers);
    return score;
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
    must(xf_config_set(config, "context.threads", "1", &err)); /* a tiny model is quickest on one */
    must(xf_context_create(config, NULL, &context, &err));
    must(xf_corpus_open(context, config, "train.tsv", &corpus, &err));
    must(xf_tokenizer_train(context, config, corpus, &tokenizer, &err));
    must(xf_batcher_create(corpus, tokenizer, config, &batcher, &err));
    must(xf_model_create(context, config, tokenizer, &model, &err));
    must(xf_trainer_create(model, config, &trainer, &err));

    /* [held_out] */
    must(xf_config_copy(config, &dev_config, &err));
    must(xf_config_set(dev_config, "data.shuffle", "false", &err));
    must(xf_corpus_open(context, dev_config, "dev.tsv", &dev_corpus, &err));
    must(xf_batcher_create(dev_corpus, tokenizer, dev_config, &dev, &err));
    must(xf_decoder_create(model, config, &decoder, &err)); /* reads the model that is being trained */
    /* [held_out] */

    /* [loop] */
    double best = INFINITY;
    int without_progress = 0, evaluations = 0;
    while (stats.step < MOST_STEPS && without_progress < PATIENCE) {
        if (must(xf_train_next(trainer, batcher, &stats, &err)) == XF_DONE) continue; /* an epoch has ended */
        if (stats.step % EVERY != 0) continue;

        char path[32];
        snprintf(path, sizeof path, "run.%d.xf", evaluations++ % LAST); /* the last few, for the average */
        must(xf_trainer_save(trainer, batcher, path, &err));
        const double loss = dev_loss(decoder, dev);
        printf("step %d  loss %.3f  dev %.4f  rate %.5f\n", (int)stats.step, stats.loss, loss, stats.learning_rate);
        if (loss < 0.99 * best) {
            best = loss;
            without_progress = 0;
            must(xf_model_save(model, NULL, "best.xf", &err)); /* the old one stays as best.xf.prev */
        } else {
            ++without_progress;
        }
    }
    /* [loop] */
    xf_decoder_free(decoder);
    decoder = NULL;

    /* [average] */
    const char *const paths[LAST] = {"run.0.xf", "run.1.xf", "run.2.xf"};
    must(xf_model_average_files(context, paths, LAST, &average, &err));
    must(xf_decoder_create(average, NULL, &decoder, &err));
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
