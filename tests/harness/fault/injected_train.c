/*
 * Scenarios of fault injection: steps, checkpoints, ranks. A step that fails leaves everything as it was, so that the
 * same step made again is the step of an undisturbed run, to the last bit. See injected.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "injected.h"

/* The trainer and the batcher of the checkpoint. */
static void reset(struct bench *b) {
    xf_trainer_free(b->resumed);
    xf_batcher_free(b->moved);
    b->resumed = NULL, b->moved = NULL;
    ACCEPTED(resume_trainer(b->context, CHECKPOINT_FILE, NULL, &b->resumed, err));
    ACCEPTED(xf_batcher_create(b->corpus, b->tokenizer, b->config, NULL, &b->moved, err));
    ACCEPTED(xf_batcher_resume(b->moved, b->resumed, NULL, err));
}

/* The steps made, the parameters, and where the next batch is. */
static void add_state(struct bench *b, digest *d) {
    xf_batcher_stats where = XF_BATCHER_STATS_INIT;
    ACCEPTED(xf_batcher_get_stats(b->moved, &where, err));
    add_number(d, (double)(1000 * where.epoch + where.batch));
    add_number(d, (double)xf_trainer_step_count(b->resumed));
    add_model(d, xf_trainer_model(b->resumed));
}

static xf_status act_create(struct bench *b, digest *d, xf_error *error) {
    OWNED(trainer) *trainer = NULL;
    TRY(xf_trainer_create(b->model, b->config, &trainer, error));
    add_number(d, xf_trainer_config(trainer) != NULL);
    return XF_OK;
}

static xf_status act_next(struct bench *b, digest *d, xf_error *error) {
    xf_step_stats stats = XF_STEP_STATS_INIT;
    TRY(xf_train_next(b->resumed, b->moved, NULL, &stats, error));
    add_bytes(d, &stats, sizeof stats);
    add_state(b, d);
    return XF_OK;
}

static xf_status act_step(struct bench *b, digest *d, xf_error *error) {
    const xf_batch batches[] = {b->batch, b->batch};
    xf_step_stats stats = XF_STEP_STATS_INIT;
    TRY(xf_train_step(b->resumed, batches, 2, NULL, &stats, error));
    add_bytes(d, &stats, sizeof stats);
    add_state(b, d);
    return XF_OK;
}

/* After an error of the first half nothing waits any more, so the group begins anew. */
static xf_status act_accumulate(struct bench *b, digest *d, xf_error *error) {
    xf_step_stats stats = XF_STEP_STATS_INIT;
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    static float values[1 << 14];
    ACCEPTED(xf_model_get_tensor(b->model, 0, &info, err));
    TRY(xf_train_accumulate(b->resumed, &b->batch, NULL, &stats, error));
    add_bytes(d, &stats, sizeof stats);
    ACCEPTED(xf_trainer_read_gradient(b->resumed, 0, values, number_count(&info), err));
    add_bytes(d, values, number_count(&info) * sizeof *values);
    ACCEPTED(xf_train_update(b->resumed, &stats, err));
    add_state(b, d);
    return XF_OK;
}

static void reset_waiting(struct bench *b) {
    reset(b);
    ACCEPTED(xf_train_accumulate(b->resumed, &b->batch, NULL, NULL, err));
}
static xf_status act_update(struct bench *b, digest *d, xf_error *error) {
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    static float values[1 << 14];
    ACCEPTED(xf_model_get_tensor(b->model, 0, &info, err));
    TRY(xf_trainer_read_gradient(b->resumed, 0, values, number_count(&info), error));
    TRY(xf_train_update(b->resumed, NULL, error));
    add_state(b, d);
    return XF_OK;
}

static xf_status act_save(struct bench *b, digest *d, xf_error *error) {
    TRY(save_trainer(b->resumed, b->moved, SAVED_FILE, error));
    add_file(d, SAVED_FILE);
    return XF_OK;
}

static xf_status act_resume(struct bench *b, digest *d, xf_error *error) {
    OWNED(trainer) *trainer = NULL;
    OWNED(model) *average = NULL;
    xf_batcher_stats where = XF_BATCHER_STATS_INIT;
    TRY(resume_trainer(b->context, CHECKPOINT_FILE, b->config, &trainer, error));
    TRY(xf_batcher_resume(b->moved, trainer, NULL, error));
    TRY(xf_batcher_get_stats(b->moved, &where, error));
    TRY(xf_trainer_copy_average(trainer, NULL, &average, error));
    add_number(d, (double)(1000 * where.epoch + where.batch));
    add_model(d, average);
    add_model(d, xf_trainer_model(trainer));
    return XF_OK;
}

/* A step that is not finite, of a trainer that goes back to its checkpoint: back, or where it was. */
static void reset_diverged(struct bench *b) {
    OWNED(config) *config = NULL;
    ACCEPTED(xf_config_create(&config, err));
    set(config, "train.on_nonfinite", "rollback");
    reset(b);
    xf_trainer_free(b->resumed);
    b->resumed = NULL;
    ACCEPTED(resume_trainer(b->context, CHECKPOINT_FILE, config, &b->resumed, err));
    size_t count = 0;
    float *values = all_params(xf_trainer_model(b->resumed), &count);
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    ACCEPTED(xf_model_get_tensor(b->model, 0, &info, err));
    for (size_t i = 0; i < number_count(&info); ++i) values[i] = 3e38f;
    ACCEPTED(xf_model_write_tensor(xf_trainer_model(b->resumed), 0, values, number_count(&info), err));
    free(values);
}
static xf_status act_roll_back(struct bench *b, digest *d, xf_error *error) {
    xf_status status;
    xf_step_stats stats = XF_STEP_STATS_INIT;
    DO(status = xf_train_step(b->resumed, &b->batch, 1, NULL, &stats, error));
    if (status == XF_ERROR_STATE) { /* the way back was cut off halfway: what this error asks for is a resume */
        reset_diverged(b);
        status = xf_train_step(b->resumed, &b->batch, 1, NULL, &stats, error);
    }
    if (status == XF_OK) {
        assert_int_equal(stats.outcome, XF_STEP_ROLLED_BACK);
        add_state(b, d);
    }
    return status;
}

const struct scenario train_scenarios[] = {
    {.name = "trainer_create", .everywhere = true, .act = act_create},
    {.name = "train_next", .everywhere = true, .reset = reset, .act = act_next},
    {.name = "train_step", .everywhere = true, .reset = reset, .act = act_step},
    {.name = "train_accumulate", .reset = reset, .act = act_accumulate},
    {.name = "train_update", .reset = reset_waiting, .act = act_update},
    {.name = "train_roll_back", .reset = reset_diverged, .act = act_roll_back},
    {.name = "trainer_save", .everywhere = true, .reset = reset, .saves = true, .act = act_save},
    {.name = "trainer_resume", .everywhere = true, .reset = reset, .act = act_resume},
    {.name = NULL},
};
