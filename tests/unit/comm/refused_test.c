/*
 * Passes an invalid argument on one rank only, in each collective call of the public API: that rank returns its error
 * and the other rank XF_ERROR_PEER, both at once although the timeout is a minute, and the next call succeeds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "../../support/api.h"
#include "support.h"

enum { RANKS = 2 };

struct rank {
    int number;
    xf_comm comm;
    const char *path;
    int64_t steps;
};

static double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Rank 1 passes the invalid argument and must return `status`. */
static void check(const struct rank *rank, const char *what, xf_status found, xf_status status, double began,
                  const xf_error *error) {
    const xf_status expected = rank->number == 1 ? status : XF_ERROR_PEER;
    if (found != expected || (rank->number == 0 && strncmp(error->message, "rank 1: ", 8) != 0))
        fail_msg("%s, rank %d: %s: %s", what, rank->number, xf_status_name(found), error->message);
    if (seconds_now() - began > 5) fail_msg("%s, rank %d: after %.1f s", what, rank->number, seconds_now() - began);
}

static void *train(void *argument) {
    struct rank *const rank = argument;
    const bool wrong = rank->number == 1;
    const xf_status bad = XF_ERROR_INVALID_ARGUMENT;
    xf_error error;
    xf_host host = XF_HOST_INIT;
    xf_context *context = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    xf_model *model = NULL, *average = NULL;
    xf_trainer *trainer = NULL;
    xf_step_stats stats = XF_STEP_STATS_INIT, odd = {.struct_size = 3};
    int64_t values[RANKS];
    const char *const path = rank->path;
    xf_config *config = small_config("cpu:ref");
    set(config, "context.comm_timeout", "60");
    set(config, "train.shards", "2");
    set(config, "train.ema", "0.9");
    host.comm = &rank->comm;
    ACCEPTED(xf_context_create(config, &host, &context, err));
    xf_corpus *const corpus = small_corpus(context);
    ACCEPTED(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, err));
    ACCEPTED(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, err));
    ACCEPTED(xf_model_create(context, tokenizer, config, &model, err));
    ACCEPTED(xf_trainer_create(model, config, &trainer, err));
    /* Twice: before the ranks have compared their configurations, and after a step. */
    for (int i = 0; i < 2; ++i) {
        double began = seconds_now();
#define EXPECT(call, status)                               \
    do {                                                   \
        const xf_status found_ = (call);                   \
        check(rank, #call, found_, status, began, &error); \
        began = seconds_now();                             \
    } while (0)
        EXPECT(xf_train_next(trainer, wrong ? NULL : batcher, NULL, NULL, &error), bad);
        EXPECT(xf_train_next(trainer, batcher, NULL, wrong ? &odd : &stats, &error), bad);
        const xf_batch batch = next_batch(batcher);
        EXPECT(xf_train_step(trainer, wrong ? NULL : &batch, 1, NULL, NULL, &error), bad);
        EXPECT(save_trainer(trainer, batcher, wrong ? NULL : path, &error), bad);
        EXPECT(xf_trainer_copy_average(trainer, NULL, wrong ? NULL : &average, &error), bad);
        EXPECT(xf_context_all_gather(context, 1, NULL, wrong ? NULL : values, &error), bad);
#undef EXPECT
        ACCEPTED(xf_train_next(trainer, batcher, NULL, &stats, err));
        ACCEPTED(save_trainer(trainer, batcher, path, err));
        ACCEPTED(xf_trainer_copy_average(trainer, NULL, &average, err));
        ACCEPTED(xf_context_all_gather(context, rank->number + 3, NULL, values, err));
        assert_true(values[0] == 3 && values[1] == 4);
        xf_model_free(average);
        average = NULL;
    }
    rank->steps = xf_trainer_step_count(trainer);
    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_batcher_free(batcher);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_context_free(context);
    xf_config_free(config);
    return NULL;
}

static void test_an_argument_of_one_rank(void **state) {
    (void)state;
    xf_comm comms[RANKS] = {XF_COMM_INIT, XF_COMM_INIT};
    struct rank ranks[RANKS];
    pthread_t threads[RANKS];
    const char *const path = scratch_path("refused");
    ACCEPTED(xf_comm_loopback(comms, RANKS, err));
    for (int r = 0; r < RANKS; ++r) {
        ranks[r] = (struct rank){r, comms[r], path, 0};
        assert_int_equal(pthread_create(&threads[r], NULL, train, &ranks[r]), 0);
    }
    for (int r = 0; r < RANKS; ++r) assert_int_equal(pthread_join(threads[r], NULL), 0);
    for (int r = 0; r < RANKS; ++r) assert_int_equal(ranks[r].steps, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_an_argument_of_one_rank)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
