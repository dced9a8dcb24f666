/*
 * ranks.c - trains a model with two ranks, which are threads of this process, and with one; the files are equal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <string.h>
#include <xformer/experimental.h>

#include "must.h"

enum { STEPS = 20 };

/* [rank] */
struct rank {
    const xf_comm *comm; /* NULL: a single rank */
    const char *path;
    xf_status status;
    xf_error err; /* one for each thread */
};

/* Every rank makes the same calls with the same options and corpus. */
static void *train(void *argument) {
    struct rank *rank = argument;
    xf_error *const err = &rank->err;
    xf_status status;
    xf_host host = XF_HOST_INIT;
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    xf_sink sink = XF_SINK_PATH(rank->path);

    host.comm = rank->comm;
    if ((status = xf_config_create(&config, err)) == XF_OK &&
        (status = xf_config_preset(config, "tiny", err)) == XF_OK &&
        (status = xf_config_set(config, "tokenizer.vocab_size", "300", err)) == XF_OK &&
        (status = xf_config_set(config, "data.batch_tokens", "200", err)) == XF_OK &&
        (status = xf_config_set(config, "context.threads", "1", err)) == XF_OK &&
        (status = xf_config_set(config, "train.shards", "4", err)) == XF_OK &&
        (status = xf_context_create(config, &host, &context, err)) == XF_OK &&
        (status = xf_corpus_open(context, "train.tsv", NULL, config, NULL, &corpus, err)) == XF_OK &&
        (status = xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, err)) == XF_OK &&
        (status = xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, err)) == XF_OK &&
        (status = xf_model_create(context, tokenizer, config, &model, err)) == XF_OK &&
        (status = xf_trainer_create(model, config, &trainer, err)) == XF_OK) {
        while (status >= 0 && xf_trainer_step_count(trainer) < STEPS)
            status = xf_train_next(trainer, batcher, NULL, NULL, err);
        if (status >= 0) status = xf_trainer_save(trainer, batcher, NULL, &sink, err); /* rank 0 writes */
    }
    rank->status = status;
    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_batcher_free(batcher);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_context_free(context);
    xf_config_free(config);
    return NULL;
}
/* [rank] */

static int same_files(const char *a, const char *b) {
    FILE *left = fopen(a, "rb"), *right = fopen(b, "rb");
    int x = 0, y = 1;
    if (left != NULL && right != NULL) {
        do {
            x = getc(left);
            y = getc(right);
        } while (x == y && x != EOF);
    }
    if (left != NULL) fclose(left);
    if (right != NULL) fclose(right);
    return x == y;
}

int main(void) {
    struct rank ranks[2], single;
    memset(&single, 0, sizeof single);
    memset(ranks, 0, sizeof ranks);

    /* [start] */
    xf_comm comms[2];
    pthread_t threads[2];
    must(xf_comm_loopback(comms, 2, &err));
    for (int r = 0; r < 2; ++r) {
        ranks[r].comm = &comms[r]; /* copied by the rank's context, which closes it */
        ranks[r].path = "ranks.xf";
        pthread_create(&threads[r], NULL, train, &ranks[r]);
    }
    for (int r = 0; r < 2; ++r) pthread_join(threads[r], NULL);
    /* [start] */
    single.path = "single.xf";
    train(&single);

    for (int r = 0; r < 2; ++r) printf("rank %d: %s\n", r, ranks[r].status >= 0 ? "trained" : ranks[r].err.message);
    puts(single.status >= 0 && same_files("ranks.xf", "single.xf") ? "the same file as one rank" : "different files");
    return 0;
}
