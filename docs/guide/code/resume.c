/*
 * resume.c - proves that an interrupted run ends with the same bits as an uninterrupted one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "must.h"

/* [steps] */
/* Trains until the given number of updates has been made. */
static void train_to(xf_trainer *trainer, xf_batcher *batcher, int64_t step) {
    while (xf_trainer_step_count(trainer) < step) must(xf_train_next(trainer, batcher, NULL, NULL, &err));
}
/* [steps] */

static int same_parameters(const xf_model *a, const xf_model *b) {
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    int same = 1;
    for (size_t i = 0; i < xf_model_tensor_count(a); ++i) {
        must(xf_model_get_tensor(a, i, &info, &err));
        size_t count = 1;
        for (int32_t k = 0; k < info.dims; ++k) count *= (size_t)info.shape[k];
        float *left = malloc(count * sizeof *left), *right = malloc(count * sizeof *right);
        must(xf_model_read_tensor(a, i, left, count, &err));
        must(xf_model_read_tensor(b, i, right, count, &err));
        same = same && memcmp(left, right, count * sizeof *left) == 0;
        free(left);
        free(right);
    }
    return same;
}

int main(void) {
    xf_config *config = NULL, *one_thread = NULL;
    xf_context *context = NULL, *other = NULL;
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL, *again = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL, *resumed = NULL;

    must(xf_config_create(&config, &err));
    must(xf_config_preset(config, "tiny", &err));
    must(xf_config_set(config, "tokenizer.vocab_size", "300", &err));
    must(xf_config_set(config, "data.batch_tokens", "400", &err));
    must(xf_config_set(config, "context.threads", "2", &err));
    must(xf_context_create(config, NULL, &context, &err));
    must(xf_corpus_open(context, "train.tsv", NULL, config, NULL, &corpus, &err));
    must(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, &err));
    must(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, &err));
    must(xf_model_create(context, tokenizer, config, &model, &err));
    must(xf_trainer_create(model, config, &trainer, &err));

    train_to(trainer, batcher, 30);
    xf_sink sink = XF_SINK_PATH("run.xf");
    must(xf_trainer_save(trainer, batcher, NULL, &sink, &err));
    train_to(trainer, batcher, 60);

    /* Resume as a new process would, with a different number of threads. */
    must(xf_config_copy(config, &one_thread, &err));
    must(xf_config_set(one_thread, "context.threads", "1", &err));
    must(xf_context_create(one_thread, NULL, &other, &err));
    /* [resume] */
    xf_source source = XF_SOURCE_PATH("run.xf");
    must(xf_trainer_resume(other, &source, NULL, NULL, &resumed, &err));
    must(xf_batcher_create(corpus, xf_model_tokenizer(xf_trainer_model(resumed)), config, NULL, &again, &err));
    must(xf_batcher_resume(again, resumed, NULL, &err));
    train_to(resumed, again, 60);
    /* [resume] */
    printf("step %d: %s\n", (int)xf_trainer_step_count(resumed),
           same_parameters(model, xf_trainer_model(resumed)) ? "the same bits" : "other bits");

    xf_trainer_free(resumed);
    xf_batcher_free(again);
    xf_context_free(other);
    xf_config_free(one_thread);
    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_batcher_free(batcher);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
