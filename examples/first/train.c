/*
 * train.c - trains a tokenizer and a tiny model on pairs in memory for 500 steps, then translates one text.
 *
 *     first_train [MODEL.xf]        saves the model to MODEL.xf, if named
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <xformer/xformer.h>

static xf_error err;

enum { PAIRS = 500, TEXT_SIZE = 32 };

static char texts[2][PAIRS][TEXT_SIZE];
static const char *sources[PAIRS], *targets[PAIRS];

/* Makes pairs of one to four numerals each. */
static void write_pairs(void) {
    static const char *const words[2][6] = {{"one", "two", "three", "four", "five", "six"},
                                            {"eins", "zwei", "drei", "vier", "fünf", "sechs"}};
    for (unsigned i = 0, random = 1; i < PAIRS; ++i) {
        random = random * 1664525u + 1013904223u;
        for (int side = 0; side < 2; ++side) {
            char *text = texts[side][i];
            for (unsigned w = 0; w < 1 + i % 4; ++w)
                text += sprintf(text, "%s%s", w > 0 ? " " : "", words[side][(random >> (8 + 5 * w)) % 6]);
        }
        sources[i] = texts[0][i];
        targets[i] = texts[1][i];
    }
}

/* Makes a call and ends the program with its error message if it fails. */
#define DO(call)                                  \
    do {                                          \
        if ((call) < 0) {                         \
            fprintf(stderr, "%s\n", err.message); \
            return 1;                             \
        }                                         \
    } while (0)

int main(int argc, char **argv) {
    const char *const question = "three two one";
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *hypotheses = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    xf_step_stats stats = XF_STEP_STATS_INIT;

    write_pairs();
    DO(xf_config_create(&config, &err));
    DO(xf_config_preset(config, "tiny", &err));
    DO(xf_config_set(config, "tokenizer.vocab_size", "300", &err));
    DO(xf_config_set(config, "data.batch_tokens", "400", &err));
    DO(xf_config_set(config, "train.warmup_steps", "200", &err)); /* 4000 in the paper, for 100,000 steps */
    DO(xf_config_set(config, "context.threads", "1", &err));      /* fastest for a tiny model */
    DO(xf_context_create(config, NULL, &context, &err));

    DO(xf_corpus_from_pairs(context, sources, NULL, targets, NULL, PAIRS, config, NULL, &corpus, &err));
    DO(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, &err));
    DO(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, &err));
    DO(xf_model_create(context, tokenizer, config, &model, &err));
    DO(xf_trainer_create(model, config, &trainer, &err));

    while (stats.step < 500) {
        const xf_status status = xf_train_next(trainer, batcher, NULL, &stats, &err);
        DO(status);
        if (status == XF_DONE) continue; /* the end of an epoch; the next call begins a new one */
        if (stats.step % 100 == 0) printf("step %4d  loss %.3f\n", (int)stats.step, stats.loss);
    }

    DO(xf_decoder_create(model, NULL, config, &decoder, &err));
    DO(xf_translate(decoder, &question, NULL, 1, NULL, NULL, &hypotheses, &err));
    DO(xf_hypotheses_get(hypotheses, 0, 0, &best, &err));
    printf("%s -> %s\n", question, best.text);
    if (argc > 1) {
        const xf_sink sink = XF_SINK_PATH(argv[1]);
        DO(xf_model_save(model, NULL, NULL, &sink, &err));
    }

    xf_hypotheses_free(hypotheses);
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
