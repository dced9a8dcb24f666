/*
 * copy.c - translates with a copy of a model while training continues.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "must.h"

/* [thread] */
struct job {
    xf_model *model; /* the copy */
    int64_t step;
    xf_status status;
    xf_error err; /* one for each thread */
    char translation[64];
};

static void *translate_thread(void *argument) {
    struct job *job = argument;
    const char *const text = "three two one";
    xf_decoder *decoder = NULL;
    xf_hypotheses *hypotheses = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    if ((job->status = xf_decoder_create(job->model, NULL, NULL, &decoder, &job->err)) == XF_OK &&
        (job->status = xf_translate(decoder, &text, NULL, 1, NULL, NULL, &hypotheses, &job->err)) == XF_OK &&
        (job->status = xf_hypotheses_get(hypotheses, 0, 0, &best, &job->err)) == XF_OK)
        snprintf(job->translation, sizeof job->translation, "%s", best.text);
    xf_hypotheses_free(hypotheses);
    xf_decoder_free(decoder);
    return NULL;
}
/* [thread] */

static void train_to(xf_trainer *trainer, xf_batcher *batcher, int64_t step) {
    while (xf_trainer_step_count(trainer) < step) must(xf_train_next(trainer, batcher, NULL, NULL, &err));
}

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_source source = XF_SOURCE_PATH("numerals.xf");
    xf_corpus *corpus = NULL;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;

    must(xf_config_create(&config, &err));
    must(xf_config_set(config, "data.batch_tokens", "400", &err));
    must(xf_config_set(config, "train.warmup_steps", "4000", &err)); /* begin with a small learning rate */
    must(xf_config_set(config, "context.threads", "1", &err));
    must(xf_context_create(config, NULL, &context, &err));
    must(xf_model_load(context, &source, NULL, NULL, &model, &err));
    must(xf_corpus_open(context, "train.tsv", NULL, config, NULL, &corpus, &err));
    must(xf_batcher_create(corpus, xf_model_tokenizer(model), config, NULL, &batcher, &err));
    must(xf_trainer_create(model, config, &trainer, &err));

    /* [copy] */
    struct job job = {NULL, 0, XF_OK, {0, 0, ""}, ""};
    pthread_t thread;
    train_to(trainer, batcher, 20);
    job.step = xf_trainer_step_count(trainer);
    must(xf_model_copy(model, NULL, NULL, NULL, &job.model, &err)); /* between two steps */
    pthread_create(&thread, NULL, translate_thread, &job);
    train_to(trainer, batcher, 40); /* meanwhile */
    pthread_join(thread, NULL);
    xf_model_free(job.model);
    printf("step %d: %s\n", (int)job.step, job.status == XF_OK ? job.translation : job.err.message);
    /* [copy] */

    xf_trainer_free(trainer);
    xf_batcher_free(batcher);
    xf_corpus_free(corpus);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
