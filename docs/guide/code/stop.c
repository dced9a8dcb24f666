/*
 * stop.c - trains until SIGINT, which may arrive during a call or between two calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <string.h>

#include "must.h"

/* [signal] */
static volatile int32_t stopping; /* read by the calls and by the loop */

static void stop(int number) {
    (void)number;
    stopping = 1;
}
/* [signal] */

/* The work of the program between two steps. In this example, SIGINT arrives after step 20. */
static void own_work(int64_t step) {
    if (step == 20) raise(SIGINT);
}

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
    must(xf_config_set(config, "context.threads", "1", &err));
    must(xf_context_create(config, NULL, &context, &err));
    must(xf_corpus_open(context, "train.tsv", NULL, config, NULL, &corpus, &err));
    must(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, &err));
    must(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, &err));
    must(xf_model_create(context, tokenizer, config, &model, &err));
    must(xf_trainer_create(model, config, &trainer, &err));

    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = stop;
    sigaction(SIGINT, &action, NULL);

    /* [until] */
    xf_call call = XF_CALL_INIT;
    call.cancelled = &stopping;
    while (!stopping && stats.step < 1000) {
        const xf_status status = xf_train_next(trainer, batcher, &call, &stats, &err);
        if (status == XF_ERROR_CANCELLED) break;
        if (must(status) == XF_DONE) continue; /* an epoch has ended */
        own_work(stats.step);
    }
    xf_sink sink = XF_SINK_PATH("run.xf");
    must(xf_trainer_save(trainer, batcher, NULL, &sink, &err)); /* without the flag, which is set */
    /* [until] */
    printf("%s at step %d\n", stopping ? "stopped" : "done", (int)xf_trainer_step_count(trainer));

    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_batcher_free(batcher);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
