/*
 * train.c - training in one page: pairs in memory, a tokenizer learnt from them, a tiny model, 500 steps, one answer.
 *
 *     first_train [MODEL.xf]        saves the model too
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>
#include <xformer/xformer.h>

static xf_error err;

/* Writes 500 pairs of one to four numerals, "source TAB target" line by line. */
static void write_pairs(char *text) {
    static const char *const words[2][6] = {{"one", "two", "three", "four", "five", "six"},
                                            {"eins", "zwei", "drei", "vier", "fünf", "sechs"}};
    for (unsigned i = 0, random = 1; i < 500; ++i) {
        const unsigned length = 1 + i % 4, first = random = random * 1664525u + 1013904223u;
        for (int side = 0; side < 2; ++side)
            for (unsigned w = 0; w < length; ++w)
                text += sprintf(text, "%s%s", words[side][(first >> (8 + 5 * w)) % 6],
                                w + 1 < length ? " "
                                : side == 0    ? "\t"
                                               : "\n");
    }
}

/* Runs a call and ends the program with its sentence when it fails. */
#define DO(call)                                  \
    do {                                          \
        if ((call) < 0) {                         \
            fprintf(stderr, "%s\n", err.message); \
            return 1;                             \
        }                                         \
    } while (0)

int main(int argc, char **argv) {
    static char pairs[1 << 16];
    const char *const question = "three two one";
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *answers = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    xf_step_stats stats = XF_STEP_STATS_INIT;

    write_pairs(pairs);
    DO(xf_config_create(&config, &err));
    DO(xf_config_preset(config, "tiny", &err));
    DO(xf_config_set(config, "tokenizer.vocab_size", "300", &err));
    DO(xf_config_set(config, "data.batch_tokens", "400", &err));
    DO(xf_config_set(config, "train.warmup_steps", "200", &err)); /* the paper's 4000 are for 100,000 steps */
    DO(xf_config_set(config, "context.threads", "1", &err));      /* a tiny model is quickest on one */
    DO(xf_context_create(config, NULL, &context, &err));

    DO(xf_corpus_from_memory(context, config, "pairs", pairs, strlen(pairs), &corpus, &err));
    DO(xf_tokenizer_train(context, config, corpus, &tokenizer, &err));
    DO(xf_batcher_create(corpus, tokenizer, config, &batcher, &err));
    DO(xf_model_create(context, config, tokenizer, &model, &err));
    DO(xf_trainer_create(model, config, &trainer, &err));

    while (stats.step < 500) {
        const enum xf_status status = xf_train_next(trainer, batcher, &stats, &err);
        DO(status);
        if (status == XF_DONE) continue; /* an epoch has ended; the next call begins another */
        if (stats.step % 100 == 0) printf("step %4d  loss %.3f\n", (int)stats.step, stats.loss);
    }

    DO(xf_decoder_create(model, config, &decoder, &err));
    DO(xf_translate(decoder, &question, NULL, 1, NULL, &answers, &err));
    DO(xf_hypotheses_get(answers, 0, 0, &best, &err));
    printf("%s -> %s\n", question, best.text);
    if (argc > 1) DO(xf_model_save(model, NULL, argv[1], &err));

    xf_hypotheses_free(answers);
    xf_decoder_free(decoder);
    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_batcher_free(batcher);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
