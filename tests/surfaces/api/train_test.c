/*
 * train.h: refusals of the trainer. A refused step changes nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

/* Every batch that can't be: through both ways in. */
static void refused_batch(xf_status expected, const xf_batch *batch) {
    PAINTED(xf_step_stats, stats);
    REFUSED(expected, stats, xf_train_step(world.trainer, batch, 1, NULL, &stats, err));
    REFUSED(expected, stats, xf_train_accumulate(world.trainer, batch, NULL, &stats, err));
    REFUSED(XF_ERROR_STATE, stats, xf_train_update(world.trainer, &stats, err)); /* nothing waits */
}

TEST(batches) {
    const int32_t V = vocab_size_of(world.tokenizer);
    int32_t ids[128] = {5, 6, 1, 7, 8, 1}, other[128] = {5, 6, 1, 7, 8, 1};
    int64_t offsets[3] = {0, 3, 6}, tgt[3] = {0, 3, 6};
    for (int i = 6; i < 128; ++i) ids[i] = other[i] = 9;
    const xf_batch good = {sizeof good, 2, ids, offsets, other, tgt, NULL, NULL, 0};
    size_t count;
    OWNED_MEMORY float *before = all_params(world.model, &count);

    CHANGED(xf_batch, b, good, src_ids = NULL, refused_batch(XF_ERROR_INVALID_ARGUMENT, &b));
    CHANGED(xf_batch, b, good, src_offsets = NULL, refused_batch(XF_ERROR_INVALID_ARGUMENT, &b));
    CHANGED(xf_batch, b, good, tgt_ids = NULL, refused_batch(XF_ERROR_INVALID_ARGUMENT, &b));
    CHANGED(xf_batch, b, good, tgt_offsets = NULL, refused_batch(XF_ERROR_INVALID_ARGUMENT, &b));
    const int64_t sizes[] = {0, -1, INT64_MIN, INT64_MAX, (int64_t)1 << 31};
    for (int i = 0; i < 5; ++i)
        CHANGED(xf_batch, b, good, sentences = sizes[i], refused_batch(XF_ERROR_INVALID_ARGUMENT, &b));
    const int64_t wrong_offsets[][3] = {
        {1, 3, 6},        {0, 0, 6}, {0, 6, 3}, {0, 3, 3}, {0, -3, 6}, {-3, 0, 3}, {0, INT32_MAX, INT32_MIN},
        {0, 3, INT64_MIN}};
    for (int i = 0; i < 8; ++i) {
        const xf_status expected = i == 6 ? XF_ERROR_OUT_OF_RANGE : XF_ERROR_INVALID_ARGUMENT;
        CHANGED(xf_batch, b, good, src_offsets = wrong_offsets[i], refused_batch(expected, &b));
        CHANGED(xf_batch, b, good, tgt_offsets = wrong_offsets[i], refused_batch(expected, &b));
    }
    const int32_t wrong_ids[] = {-1, V, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; ++i) {
        ids[4] = wrong_ids[i];
        refused_batch(XF_ERROR_OUT_OF_RANGE, &good);
        ids[4] = 8;
        other[4] = wrong_ids[i];
        refused_batch(XF_ERROR_OUT_OF_RANGE, &good);
        other[4] = 8;
    }
    const int64_t too_long[3] = {0, 65, 66}; /* model.max_length is 64 */
    CHANGED(xf_batch, b, good, src_offsets = too_long, refused_batch(XF_ERROR_OUT_OF_RANGE, &b));
    CHANGED(xf_batch, b, good, tgt_offsets = too_long, refused_batch(XF_ERROR_OUT_OF_RANGE, &b));

    refused_batch(XF_ERROR_INVALID_ARGUMENT, NULL);
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_train_step(world.trainer, &good, 0, NULL, NULL, err));
    assert_int_equal(xf_trainer_step_count(world.trainer), 0);
    OWNED_MEMORY float *after = all_params(world.model, &count);
    assert_memory_equal(before, after, count * sizeof *after);
    xf_step_stats stats = {.struct_size = sizeof stats - 1};
    REFUSED(XF_ERROR_INVALID_ARGUMENT, stats, xf_train_next(world.trainer, world.batcher, NULL, &stats, err));
    ACCEPTED(xf_train_accumulate(world.trainer, &good, NULL, NULL, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, stats, xf_train_update(world.trainer, &stats, err));
    ACCEPTED(xf_train_update(world.trainer, NULL, err)); /* the gradients still wait */
}

TEST(states) {
    const xf_batch batch = one_pair;
    const xf_tensor_info info = get_tensor(world.model, 1);
    const size_t size = number_count(&info), params = xf_model_tensor_count(world.model);
    OWNED_MEMORY float *values = calloc(size + 1, sizeof *values);
    const char *path = scratch_path("checkpoint");
    xf_step_stats stats = {.struct_size = sizeof stats};
    xf_model *average = SENTINEL;
    REFUSED(XF_ERROR_STATE, average, xf_trainer_copy_average(world.trainer, NULL, &average, err)); /* train.ema is 0 */
    REFUSED(XF_ERROR_STATE, nothing, xf_batcher_resume(world.batcher, world.trainer, NULL, err));
    REFUSED(XF_ERROR_STATE, stats, xf_train_update(world.trainer, &stats, err));
    REFUSED(XF_ERROR_STATE, *values, xf_trainer_read_gradient(world.trainer, 1, values, size, err));
    ACCEPTED(xf_train_accumulate(world.trainer, &batch, NULL, &stats, err));
    assert_true(stats.step == 0 && stats.learning_rate == 0 && stats.gradient_norm == 0 && stats.tgt_tokens == 3);
    REFUSED(XF_ERROR_OUT_OF_RANGE, *values, xf_trainer_read_gradient(world.trainer, params, values, size, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, *values, xf_trainer_read_gradient(world.trainer, 1, values, size + 1, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_trainer_read_gradient(world.trainer, 1, NULL, size, err));
    ACCEPTED(xf_trainer_read_gradient(world.trainer, 1, values, size, err));
    REFUSED(XF_ERROR_STATE, stats, xf_train_step(world.trainer, &batch, 1, NULL, &stats, err));
    REFUSED(XF_ERROR_STATE, nothing, save_trainer(world.trainer, NULL, path, err));
    ACCEPTED(xf_train_update(world.trainer, NULL, err));
    /* An error in the next batch of a group discards the earlier batches of the group. */
    xf_batch strange = batch;
    strange.struct_size = 3;
    xf_step_stats odd = {.struct_size = 3};
    for (int i = 0; i < 3; ++i) {
        ACCEPTED(xf_train_accumulate(world.trainer, &batch, NULL, NULL, err));
        if (i == 0)
            REFUSED(XF_ERROR_INVALID_ARGUMENT, stats, xf_train_accumulate(world.trainer, NULL, NULL, &stats, err));
        if (i == 1)
            REFUSED(XF_ERROR_INVALID_ARGUMENT, stats, xf_train_accumulate(world.trainer, &strange, NULL, &stats, err));
        if (i == 2)
            REFUSED(XF_ERROR_INVALID_ARGUMENT, odd, xf_train_accumulate(world.trainer, &batch, NULL, &odd, err));
        REFUSED(XF_ERROR_STATE, stats, xf_train_update(world.trainer, &stats, err));
    }
    REFUSED(XF_ERROR_STATE, stats, xf_train_update(world.trainer, &stats, err));

    ACCEPTED(xf_batcher_seek(world.batcher, 3, 1, NULL, err));
    ACCEPTED(save_trainer(world.trainer, world.batcher, path, err));

    OWNED_TRAINER *out = SENTINEL;
    const char *model = scratch_path("model");
    ACCEPTED(save_model(world.model, NULL, model, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, resume_trainer(world.context, model, NULL, &out, err));
    ACCEPTED(resume_trainer(world.context, path, NULL, &out, err));
    assert_int_equal(xf_trainer_step_count(out), xf_trainer_step_count(world.trainer));
    double rate = 0;
    ACCEPTED(xf_config_get_number(xf_trainer_config(out), "train.learning_rate", &rate, err));
    assert_true(rate == 0.01);

    /* Only a batcher with the same pairs can continue from this position. */
    MAKE(corpus, corpus, corpus_from_text(world.context, NULL, "one\ttwo\n", 8, &corpus, err));
    MAKE(batcher, batcher, xf_batcher_create(corpus, world.tokenizer, world.config, NULL, &batcher, err));
    REFUSED(XF_ERROR_DATA, nothing, xf_batcher_resume(batcher, out, NULL, err));
    ACCEPTED(xf_batcher_seek(world.batcher, 0, 0, NULL, err));
    ACCEPTED(xf_batcher_resume(world.batcher, out, NULL, err));
    const xf_batcher_stats where = get_batcher_stats(world.batcher);
    assert_true(where.epoch == 3 && where.batch == 1);
}

static int64_t batch_number(const xf_batcher *batcher, int64_t *batches) {
    const xf_batcher_stats where = get_batcher_stats(batcher);
    if (batches != NULL) *batches = where.batches;
    return where.batch;
}

/* xf_train_next is equal to xf_batcher_next and xf_train_step, except after a failure. */
TEST(next) {
    xf_model *model = NULL;
    OWNED_MODEL *average = NULL;
    OWNED_CONFIG *config = NULL;
    ACCEPTED(xf_config_copy(world.config, &config, err));
    set(config, "train.accumulate", "3");
    set(config, "train.ema", "0.5");
    MAKE(batcher, batcher, xf_batcher_create(world.corpus, world.tokenizer, config, NULL, &batcher, err));
    ACCEPTED(xf_model_create(world.context, world.tokenizer, config, &model, err));
    MAKE(trainer, whole, xf_trainer_create(model, config, &whole, err));
    xf_model_free(model);
    ACCEPTED(xf_model_create(world.context, world.tokenizer, config, &model, err));
    MAKE(trainer, parts, xf_trainer_create(model, config, &parts, err));
    ACCEPTED(xf_batcher_seek(world.batcher, 0, 0, NULL, err));
    xf_step_stats stats = XF_STEP_STATS_INIT, expected = XF_STEP_STATS_INIT;
    int64_t batches = 0, short_groups = 0, ends = 0;
    for (int step = 0; step < 40; ++step) {
        const int64_t before = batch_number(batcher, &batches);
        const int64_t group = batches - before < 3 ? batches - before : 3;
        stats.step = -7;
        const xf_status status = xf_train_next(whole, batcher, NULL, &stats, NULL);
        if (status == XF_DONE) { /* once an epoch, and nothing was done */
            assert_true(group == 0 && stats.step == -7 && batch_number(batcher, NULL) == 0);
            xf_batch none = XF_BATCH_INIT;
            assert_int_equal(xf_batcher_next(world.batcher, NULL, &none, NULL), XF_DONE);
            ++ends;
            continue;
        }
        assert_int_equal(status, XF_OK);
        short_groups += group < 3;
        for (int64_t i = 0; i < group; ++i) {
            const xf_batch batch = next_batch(world.batcher);
            ACCEPTED(xf_train_accumulate(parts, &batch, NULL, NULL, err));
        }
        ACCEPTED(xf_train_update(parts, &expected, err));
        assert_memory_equal(&stats, &expected, sizeof stats);
        assert_int_equal(batch_number(batcher, NULL), before + group);
    }
    assert_true(ends > 1 && short_groups > 0);

    /* A call that fails leaves nothing out, whichever batch of the group it was. */
    const xf_batch waiting = next_batch(world.batcher);
    const int64_t before = batch_number(batcher, NULL);
    ACCEPTED(xf_train_accumulate(whole, &waiting, NULL, NULL, err));
    REFUSED(XF_ERROR_STATE, stats, xf_train_next(whole, batcher, NULL, &stats, err));
    assert_int_equal(batch_number(batcher, NULL), before);
    ACCEPTED(xf_train_update(whole, NULL, err));
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    const size_t last = xf_model_tensor_count(model) - 2; /* the weights of the last norm */
    ACCEPTED(xf_model_get_tensor(xf_trainer_model(whole), last, &info, err));
    const size_t width = (size_t)info.shape[info.dims - 1];
    float kept[64], huge[64];
    assert_true(width <= 64);
    for (size_t i = 0; i < width; ++i) huge[i] = 3e38f;
    ACCEPTED(xf_model_read_tensor(xf_trainer_model(whole), last, kept, width, err));
    ACCEPTED(xf_model_write_tensor(xf_trainer_model(whole), last, huge, width, err));
    for (int64_t at = 0; at < 2; ++at) { /* within an epoch and where it ends in a short group */
        ACCEPTED(xf_batcher_seek(batcher, 1, 0, NULL, err));
        (void)batch_number(batcher, &batches);
        const int64_t place = at == 0 ? 0 : batches - 1;
        ACCEPTED(xf_batcher_seek(batcher, 1, place, NULL, err));
        REFUSED(XF_ERROR_NONFINITE, stats, xf_train_next(whole, batcher, NULL, &stats, err));
        assert_int_equal(batch_number(batcher, NULL), place);
    }
    ACCEPTED(xf_model_write_tensor(xf_trainer_model(whole), last, kept, width, err));
    ACCEPTED(xf_train_next(whole, batcher, NULL, &stats, err));

    /* The average is a separate model that has the tokenizer. */
    ACCEPTED(xf_trainer_copy_average(whole, NULL, &average, err));
    size_t count;
    OWNED_MEMORY float *mean = all_params(average, &count), *now = all_params(xf_trainer_model(whole), &count);
    assert_memory_not_equal(mean, now, count * sizeof *now);
    assert_non_null(xf_model_tokenizer(average));
    OWNED_MEMORY float *again = all_params(average, &count);
    assert_memory_equal(mean, again, count * sizeof *now);
    xf_model_free(model);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
