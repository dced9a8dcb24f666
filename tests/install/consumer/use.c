/*
 * use.c - a program of somebody else: what it is linked with, the backends that are there, and three steps of training.
 *
 *     use [DEVICE]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>
#include <xformer/xformer.h>

static xf_error err;

#define DO(call)                                  \
    do {                                          \
        if ((call) < 0) {                         \
            fprintf(stderr, "%s\n", err.message); \
            return 1;                             \
        }                                         \
    } while (0)

int main(int argc, char **argv) {
    static const char pairs[] = "one\teins\ntwo\tzwei\nthree\tdrei\none two\teins zwei\n";
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    xf_step_stats stats = XF_STEP_STATS_INIT;
    xf_batch batch = XF_BATCH_INIT;

    DO(xf_config_create(&config, &err));
    DO(xf_config_preset(config, "tiny", &err));
    DO(xf_config_set(config, "tokenizer.vocab_size", "270", &err));
    DO(xf_config_set(config, "context.threads", "2", &err));
    DO(xf_config_set(config, "context.device", argc > 1 ? argv[1] : "cpu", &err));
    DO(xf_context_create(config, NULL, &context, &err));

    printf("version %s\n", xf_version());
    for (size_t i = 0; i < xf_backend_count(context); ++i) {
        xf_backend_info info = XF_BACKEND_INFO_INIT;
        DO(xf_backend_info_get(context, i, &info, &err));
        printf("%s:%s active %d, from '%s', reason '%s'\n", info.kind, info.name, (int)info.active, info.path,
               info.reason);
    }

    DO(xf_corpus_from_memory(context, config, "pairs", pairs, strlen(pairs), &corpus, &err));
    DO(xf_tokenizer_train(context, config, corpus, &tokenizer, &err));
    DO(xf_batcher_create(corpus, tokenizer, config, &batcher, &err));
    DO(xf_model_create(context, config, tokenizer, &model, &err));
    DO(xf_trainer_create(model, config, &trainer, &err));
    while (stats.step < 3) {
        const enum xf_status status = xf_batcher_next(batcher, &batch, &err);
        DO(status);
        if (status != XF_DONE) DO(xf_train_step(trainer, &batch, 1, &stats, &err));
    }
    printf("trained %d steps\n", (int)stats.step);

    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_batcher_free(batcher);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
