/*
 * Ranks of experimental.h and train.h: invalid tables, when a table is closed, all_gather, and shards. Training on
 * ranks: tests/unit/comm and ranks_are_threads of tests/surfaces/hpp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <pthread.h>

TEST(loopback) {
    xf_comm comms[2] = {XF_COMM_INIT, XF_COMM_INIT};
    REFUSED(XF_ERROR_OUT_OF_RANGE, comms, xf_comm_loopback(comms, 0, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, comms, xf_comm_loopback(comms, -1, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, comms, xf_comm_loopback(comms, 1025, err));
    ACCEPTED(xf_comm_loopback(comms, 2, err));
    for (int32_t r = 0; r < 2; ++r) {
        assert_int_equal(comms[r].struct_size, sizeof *comms);
        assert_int_equal(comms[r].rank, r);
        assert_int_equal(comms[r].size, 2);
        assert_non_null(comms[r].exchange);
        comms[r].close(comms[r].user);
    }
}

/* A transport without other ranks that counts how often it was closed. */
static void count_close(void *user) { ++*(int *)user; }
static int32_t no_exchange(void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                           size_t receive_count, double timeout, xf_error *err) {
    (void)user, (void)sends, (void)send_count, (void)receives, (void)receive_count, (void)timeout, (void)err;
    return XF_ERROR_BACKEND;
}

static xf_status open_with(xf_config *config, xf_comm comm, xf_context **out, xf_error *err) {
    xf_host host = XF_HOST_INIT;
    host.comm = &comm;
    return xf_context_create(config, &host, out, err);
}

TEST(tables_that_are_rejected) {
    static const struct {
        xf_status status;
        size_t struct_size;
        int32_t rank, size;
        int null_exchange;
    } cases[] = {{XF_ERROR_INVALID_ARGUMENT, 0, 0, 1, 0},
                 {XF_ERROR_INVALID_ARGUMENT, offsetof(xf_comm, ranks_per_machine) - 8, 0, 1, 0},
                 {XF_ERROR_INVALID_ARGUMENT, sizeof(xf_comm), 0, 2, 1},
                 {XF_ERROR_OUT_OF_RANGE, sizeof(xf_comm), 2, 2, 0},
                 {XF_ERROR_OUT_OF_RANGE, sizeof(xf_comm), -1, 2, 0},
                 {XF_ERROR_OUT_OF_RANGE, sizeof(xf_comm), 0, 0, 0},
                 {XF_ERROR_OUT_OF_RANGE, sizeof(xf_comm), 0, 65537, 0}};
    int closed = 0;
    xf_context *context = SENTINEL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const xf_comm comm = {cases[i].struct_size,
                              &closed,
                              cases[i].rank,
                              cases[i].size,
                              cases[i].null_exchange ? NULL : no_exchange,
                              NULL,
                              count_close,
                              0,
                              0};
        REFUSED(cases[i].status, context, open_with(world.config, comm, &context, err));
    }
    /* A sound table, but no context for another reason. */
    xf_comm sound = {sizeof sound, &closed, 0, 2, no_exchange, NULL, count_close, 0, 0};
    OWNED_CONFIG *nowhere = small_config("nowhere");
    REFUSED(XF_ERROR_NOT_FOUND, context, open_with(nowhere, sound, &context, err));
    assert_int_equal(closed, 0);
}

/* Closed once, after the last object. A failure of the transport is XF_ERROR_PEER. */
TEST(close) {
    int closed = 0;
    const xf_comm comm = {sizeof comm, &closed, 1, 2, no_exchange, NULL, count_close, 0, 0};
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    ACCEPTED(open_with(world.config, comm, &context, err));
    ACCEPTED(xf_model_create(context, world.tokenizer, world.config, &model, err));
    ACCEPTED(xf_trainer_create(model, world.config, &trainer, err));
    xf_context_free(context);
    xf_model_free(model);
    assert_int_equal(closed, 0);
    const xf_batch batch = next_batch(world.batcher);
    REFUSED(XF_ERROR_PEER, nothing, xf_train_step(trainer, &batch, 1, NULL, NULL, err));
    assert_int_equal(xf_trainer_step_count(trainer), 0);
    xf_trainer_free(trainer);
    assert_int_equal(closed, 1);
}

/* Three ranks, each of which gives its number three times. */
struct member {
    xf_comm comm;
    xf_status status;
    xf_error err;
    int64_t values[3][3];
};

static void *gather_thrice(void *argument) {
    struct member *member = argument;
    OWNED_CONFIG *config = small_config("cpu:ref");
    OWNED_CONTEXT *context = NULL;
    member->status = open_with(config, member->comm, &context, &member->err);
    if (member->status == XF_OK && (rank_of(context) != member->comm.rank || rank_count_of(context) != 3))
        member->status = XF_ERROR_INTERNAL;
    for (int i = 0; i < 3 && member->status == XF_OK; ++i)
        member->status = xf_context_all_gather(context, member->comm.rank * 1000000000000 - i, NULL, member->values[i],
                                               &member->err);
    return NULL;
}

TEST(all_gather) {
    xf_comm comms[3];
    struct member members[3];
    pthread_t threads[3];
    ACCEPTED(xf_comm_loopback(comms, 3, err));
    for (int r = 0; r < 3; ++r) {
        members[r] = (struct member){.comm = comms[r]};
        assert_int_equal(pthread_create(&threads[r], NULL, gather_thrice, &members[r]), 0);
    }
    for (int r = 0; r < 3; ++r) pthread_join(threads[r], NULL);
    for (int r = 0; r < 3; ++r) {
        if (members[r].status != XF_OK) fail_msg("rank %d: %s", r, members[r].err.message);
        for (int i = 0; i < 9; ++i) assert_true(members[r].values[i / 3][i % 3] == i % 3 * 1000000000000 - i / 3);
    }
    /* Alone. */
    int64_t value = 0;
    assert_int_equal(rank_of(world.context), 0);
    assert_int_equal(rank_count_of(world.context), 1);
    ACCEPTED(xf_context_all_gather(world.context, -7, NULL, &value, err));
    assert_true(value == -7);
    assert_int_equal(rank_of(NULL), -1);
    assert_int_equal(rank_count_of(NULL), -1);
    assert_true(value == -7);
    /* With a rank that never answers. */
    int closed = 0;
    const xf_comm silent = {sizeof silent, &closed, 1, 2, no_exchange, NULL, count_close, 0, 0};
    int64_t values[2] = {5, 6};
    MAKE(context, context, open_with(world.config, silent, &context, err));
    for (int i = 0; i < 2; ++i) REFUSED(XF_ERROR_PEER, nothing, xf_context_all_gather(context, 1, NULL, values, err));
    assert_true(values[0] == 5 && values[1] == 6);
}

/* A step of shards is one call; its batches are dealt evenly. */
TEST(shards_of_one_process) {
    OWNED_CONFIG *config = config_with("cpu:ref", "train.shards=2");
    xf_trainer *trainer = NULL;
    ACCEPTED(xf_trainer_create(world.model, config, &trainer, err));
    const xf_batch batch = next_batch(world.batcher), three[3] = {batch, batch, batch};
    const size_t count = tensor_size(world.model, 0);
    OWNED_MEMORY float *gradient = calloc(count, sizeof *gradient);
    REFUSED(XF_ERROR_STATE, nothing, xf_train_accumulate(trainer, &batch, NULL, NULL, err));
    REFUSED(XF_ERROR_STATE, nothing, xf_train_update(trainer, NULL, err));
    REFUSED(XF_ERROR_STATE, *gradient, xf_trainer_read_gradient(trainer, 0, gradient, count, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_train_step(trainer, three, 3, NULL, NULL, err));
    ACCEPTED(xf_train_step(trainer, three, 2, NULL, NULL, err));
    assert_int_equal(xf_trainer_step_count(trainer), 1);
    /* The memory of tensors is constant from the second step on. */
    const int64_t before = get_memory(world.context).allocations;
    for (int i = 0; i < 3; ++i) ACCEPTED(xf_train_step(trainer, three, 2, NULL, NULL, err));
    assert_int_equal(get_memory(world.context).allocations, before);
    xf_trainer_free(trainer);
    /* One rank with one shard gives the result of a context without ranks. */
    xf_comm comm = XF_COMM_INIT;
    comm.size = 1;
    xf_context *context = NULL;
    ACCEPTED(open_with(world.config, comm, &context, err));
    xf_context_free(context);
    set(config, "train.shards", "1");
    int closed = 0;
    comm = (xf_comm){sizeof comm, &closed, 0, 2, no_exchange, NULL, count_close, 0, 0};
    xf_model *model = NULL;
    ACCEPTED(open_with(config, comm, &context, err));
    ACCEPTED(xf_model_create(context, world.tokenizer, config, &model, err));
    trainer = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, trainer, xf_trainer_create(model, config, &trainer, err));
    xf_model_free(model);
    xf_context_free(context);
    assert_int_equal(closed, 1);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
