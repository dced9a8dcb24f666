/* train.c - trains a tokenizer and a tiny model on train.tsv. SPDX-License-Identifier: Apache-2.0 */
#include "must.h"

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
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

    while (stats.step < 400) {
        if (must(xf_train_next(trainer, batcher, NULL, &stats, &err)) == XF_DONE) continue; /* an epoch has ended */
        if (stats.step % 100 == 0) printf("step %d  loss %.3f\n", (int)stats.step, stats.loss);
    }
    xf_sink sink = XF_SINK_PATH("numerals.xf");
    must(xf_model_save(model, NULL, NULL, &sink, &err)); /* includes the tokenizer */

    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_batcher_free(batcher);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
