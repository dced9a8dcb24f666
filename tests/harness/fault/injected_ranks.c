/*
 * Scenarios of fault injection: two ranks that train together, each a thread with its own context. If something fails
 * on one of them, both calls return immediately, although the timeout is a minute. The other rank's message names the
 * rank that failed. Repeating the calls gives exactly the results of an undisturbed run. See injected.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "injected.h"

#include <semaphore.h>
#include <time.h>

enum { RANKS = 2 };
static const double moment = 5; /* seconds */

struct rank {
    int number;
    struct bench *bench;
    xf_context *context;
    xf_corpus *corpus;
    xf_tokenizer *tokenizer;
    xf_batcher *batcher;
    xf_model *model;
    xf_trainer *trainer;
    /* A call that both make: what it gave. */
    xf_status (*call)(struct rank *rank);
    xf_status status;
    xf_error error;
    double seconds;
    digest found;
    sem_t begin, end;
};
static struct rank ranks[RANKS];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *work(void *argument) {
    struct rank *const rank = argument;
    for (;;) {
        sem_wait(&rank->begin);
        const double began = now();
        memset(&rank->error, 0, sizeof rank->error);
        rank->found = XF_TEST_FNV_INIT;
        rank->status = rank->call(rank);
        rank->seconds = now() - began;
        sem_post(&rank->end);
    }
    return NULL;
}

/* The threads live as long as the process: their start is not what is tested here. */
static void start_threads(void) {
    static bool started;
    if (started) return;
    started = true;
    for (int r = 0; r < RANKS; ++r) {
        pthread_t thread;
        ranks[r].number = r;
        assert_int_equal(sem_init(&ranks[r].begin, 0, 0), 0);
        assert_int_equal(sem_init(&ranks[r].end, 0, 0), 0);
        assert_int_equal(fault_real_thread(&thread, work, &ranks[r]), 0);
        assert_int_equal(pthread_detach(thread), 0);
    }
}

/* Both ranks call. The error that is the reason of the other's, which must have come at once. */
static xf_status together(xf_status (*call)(struct rank *rank), digest *d, xf_error *error) {
    for (int r = 0; r < RANKS; ++r) {
        ranks[r].call = call;
        sem_post(&ranks[r].begin);
    }
    for (int r = 0; r < RANKS; ++r) sem_wait(&ranks[r].end);
    int reason = ranks[0].status < 0 && ranks[0].status != XF_ERROR_PEER ? 0 : 1;
    for (int r = 0; r < RANKS; ++r) {
        const struct rank *rank = &ranks[r];
        if (rank->seconds > moment) complain("rank %d waited for %.1f s", r, rank->seconds);
        if ((rank->status < 0) != (ranks[0].status < 0))
            complain("rank 0: %d, rank 1: %d: %.100s", ranks[0].status, rank->status, ranks[0].error.message);
        if (rank->status != XF_ERROR_PEER) continue;
        char whose[24];
        snprintf(whose, sizeof whose, "rank %d: ", 1 - r);
        if (strncmp(rank->error.message, whose, strlen(whose)) != 0)
            complain("rank %d has lost the other: %.160s", r, rank->error.message);
    }
    for (int r = 0; r < RANKS; ++r) add_number(d, (double)ranks[r].found);
    *error = ranks[reason].error;
    return ranks[reason].status < 0 ? ranks[reason].status : XF_OK; /* XF_DONE is in the digest */
}

static xf_config *ranks_config(const struct bench *b) {
    xf_config *config = bench_config(b->place);
    set_all(config, "context.comm_timeout=60 context.threads=1 train.accumulate=1 train.shards=4");
    return config;
}

static void free_ranks(void) {
    for (int r = 0; r < RANKS; ++r) {
        struct rank *const rank = &ranks[r];
        xf_trainer_free(rank->trainer);
        xf_model_free(rank->model);
        xf_batcher_free(rank->batcher);
        xf_tokenizer_free(rank->tokenizer);
        xf_corpus_free(rank->corpus);
        xf_context_free(rank->context);
        rank->trainer = NULL, rank->model = NULL, rank->batcher = NULL;
        rank->tokenizer = NULL, rank->corpus = NULL, rank->context = NULL;
    }
}

/* All that ranks have but their trainers. */
static void reset_contexts(struct bench *b) {
    start_threads();
    free_ranks();
    xf_comm comms[RANKS] = {XF_COMM_INIT, XF_COMM_INIT};
    ACCEPTED(xf_comm_loopback(comms, RANKS, err));
    OWNED(config) *config = ranks_config(b);
    for (int r = 0; r < RANKS; ++r) {
        struct rank *const rank = &ranks[r];
        xf_host host = listening_host();
        host.comm = &comms[r];
        rank->bench = b;
        ACCEPTED(xf_context_create(config, &host, &rank->context, err));
        rank->corpus = small_corpus(rank->context);
        ACCEPTED(xf_tokenizer_train(rank->context, rank->corpus, config, NULL, &rank->tokenizer, err));
        ACCEPTED(xf_batcher_create(rank->corpus, rank->tokenizer, config, NULL, &rank->batcher, err));
        ACCEPTED(xf_model_create(rank->context, rank->tokenizer, config, &rank->model, err));
    }
}

static xf_status create_trainer(struct rank *rank) {
    OWNED(config) *config = ranks_config(rank->bench);
    if (rank->trainer == NULL) TRY(xf_trainer_create(rank->model, config, &rank->trainer, &rank->error));
    return XF_OK;
}

static xf_status next(struct rank *rank) {
    xf_step_stats stats = XF_STEP_STATS_INIT;
    xf_status status;
    DO(status = xf_train_next(rank->trainer, rank->batcher, NULL, &stats, &rank->error));
    if (status < 0) return status;
    if (status == XF_OK) add_bytes(&rank->found, &stats, sizeof stats);
    xf_batcher_stats where = XF_BATCHER_STATS_INIT;
    ACCEPTED(xf_batcher_get_stats(rank->batcher, &where, err));
    add_number(&rank->found, (double)(1000 * where.epoch + where.batch));
    add_number(&rank->found, (double)xf_trainer_step_count(rank->trainer));
    add_model(&rank->found, rank->model);
    return XF_OK;
}

static void must(xf_status (*call)(struct rank *rank)) {
    digest d = XF_TEST_FNV_INIT;
    xf_error error;
    const xf_status status = together(call, &d, &error);
    if (status < 0) fail_msg("%s: %s", xf_status_name(status), error.message);
}

static void reset_first(struct bench *b) {
    reset_contexts(b);
    must(create_trainer);
}
static void reset_later(struct bench *b) {
    reset_first(b);
    must(next);
}
static void reset_end(struct bench *b) {
    reset_first(b);
    for (xf_batcher_stats where = XF_BATCHER_STATS_INIT;;) {
        ACCEPTED(xf_batcher_get_stats(ranks[0].batcher, &where, err));
        if (where.batch == where.batches) return;
        must(next);
    }
}

#define TOGETHER(call)                                                         \
    static xf_status act_##call(struct bench *b, digest *d, xf_error *error) { \
        (void)b;                                                               \
        return together(call, d, error);                                       \
    }
TOGETHER(next)

/* The first step too, so that all that is made is used. */
static xf_status act_create(struct bench *b, digest *d, xf_error *error) {
    (void)b;
    xf_status status = XF_OK;
    for (int r = 0; r < RANKS && status == XF_OK; ++r) {
        memset(&ranks[r].error, 0, sizeof ranks[r].error);
        if ((status = create_trainer(&ranks[r])) != XF_OK) *error = ranks[r].error;
    }
    if (status == XF_OK) status = together(next, d, error);
    for (int r = 0; r < RANKS; ++r) {
        DO(xf_trainer_free(ranks[r].trainer));
        ranks[r].trainer = NULL;
    }
    return status;
}

static xf_status save(struct rank *rank) {
    TRY(save_trainer(rank->trainer, rank->batcher, SAVED_FILE, &rank->error));
    return XF_OK;
}
static xf_status act_save(struct bench *b, digest *d, xf_error *error) {
    (void)b;
    const xf_status status = together(save, d, error);
    if (status == XF_OK) add_file(d, SAVED_FILE);
    return status;
}

static xf_status average(struct rank *rank) {
    OWNED(model) *model = NULL;
    TRY(xf_trainer_copy_average(rank->trainer, NULL, &model, &rank->error));
    add_model(&rank->found, model);
    return XF_OK;
}
TOGETHER(average)

static xf_status gather(struct rank *rank) {
    int64_t values[RANKS] = {0};
    TRY(xf_context_all_gather(rank->context, rank->number + 5, NULL, values, &rank->error));
    add_bytes(&rank->found, values, sizeof values);
    return XF_OK;
}
TOGETHER(gather)

/* Each reads for itself; what one could not, the other does not wait for. */
static void reset_resume(struct bench *b) {
    reset_later(b);
    must(save);
    for (int r = 0; r < RANKS; ++r) {
        xf_trainer_free(ranks[r].trainer);
        ranks[r].trainer = NULL;
    }
}
static xf_status resume(struct rank *rank) {
    OWNED(trainer) *trainer = NULL;
    if (rank->trainer != NULL) return XF_OK;
    TRY(resume_trainer(rank->context, SAVED_FILE, NULL, &trainer, &rank->error));
    TRY(xf_batcher_resume(rank->batcher, trainer, NULL, &rank->error));
    rank->trainer = trainer;
    trainer = NULL;
    return XF_OK;
}
static xf_status act_resume(struct bench *b, digest *d, xf_error *error) {
    (void)b;
    for (int r = 0; r < RANKS; ++r) {
        memset(&ranks[r].error, 0, sizeof ranks[r].error);
        const xf_status status = resume(&ranks[r]);
        if (status == XF_OK) continue;
        *error = ranks[r].error;
        return status;
    }
    return together(next, d, error);
}

static void reset_none(struct bench *b) {
    (void)b;
    free_ranks();
}
static xf_status act_none(struct bench *b, digest *d, xf_error *error) {
    (void)b, (void)d, (void)error;
    return XF_OK;
}

const struct scenario rank_scenarios[] = {
    {.name = "ranks_create", .reset = reset_contexts, .act = act_create, .may_be_peer = true},
    {.name = "ranks_first_step", .everywhere = true, .reset = reset_first, .act = act_next, .may_be_peer = true},
    {.name = "ranks_step", .everywhere = true, .reset = reset_later, .act = act_next, .may_be_peer = true},
    {.name = "ranks_end_of_epoch", .reset = reset_end, .act = act_next, .may_be_peer = true},
    {.name = "ranks_save",
     .everywhere = true,
     .reset = reset_later,
     .saves = true,
     .act = act_save,
     .may_be_peer = true},
    {.name = "ranks_average", .reset = reset_later, .act = act_average, .may_be_peer = true},
    {.name = "ranks_all_gather", .reset = reset_later, .act = act_gather, .may_be_peer = true},
    {.name = "ranks_resume", .reset = reset_resume, .act = act_resume, .may_be_peer = true},
    {.name = "ranks", .everywhere = true, .reset = reset_none, .act = act_none}, /* leaks nothing */
    {.name = NULL},
};
