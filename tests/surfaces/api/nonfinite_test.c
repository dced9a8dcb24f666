/*
 * Weights so large that nothing stays finite: training refuses and changes nothing, decoding ends and says so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <math.h>

static const char *const devices[] = {"cpu:ref", "cpu:openblas"};

static void fill(xf_model *model, size_t index, float value) {
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    ACCEPTED(xf_model_get_tensor(model, index, &info, err));
    const size_t size = number_count(&info);
    float *values = malloc(size * sizeof *values);
    for (size_t i = 0; i < size; ++i) values[i] = i % 2 ? value : -value;
    ACCEPTED(xf_model_write_tensor(model, index, values, size, err));
    free(values);
}

static void test_training(void **state) {
    (void)state;
    const int32_t ids[6] = {5, 6, 1, 7, 8, 1};
    const int64_t offsets[3] = {0, 3, 6};
    const xf_batch batch = {sizeof batch, 2, ids, offsets, ids, offsets, NULL, NULL, 0};
    for (int d = 0; d < 2; ++d) {
        xf_context *context = context_on(devices[d]);
        if (context == NULL) continue;
        xf_config *config = small_config(devices[d]);
        set(config, "model.vocab_size", "40");
        xf_model *model = NULL;
        xf_trainer *trainer = NULL;
        ACCEPTED(xf_model_create(context, NULL, config, &model, err));
        ACCEPTED(xf_trainer_create(model, config, &trainer, err));
        ACCEPTED(xf_train_step(trainer, &batch, 1, NULL, NULL, err));
        const char *sound = scratch_path("sound"), *before = scratch_path("before");
        ACCEPTED(save_model(model, NULL, sound, err));
        int refused = 0;
        for (size_t p = 0; p < xf_model_tensor_count(model); ++p) {
            /* Each tensor in turn, in a fresh copy of the trained state. */
            xf_tensor_info info = XF_TENSOR_INFO_INIT;
            ACCEPTED(xf_model_get_tensor(model, p, &info, err));
            const size_t size = number_count(&info);
            float *kept = malloc(size * sizeof *kept);
            ACCEPTED(xf_model_read_tensor(model, p, kept, size, err));
            fill(model, p, 1e38f);
            ACCEPTED(save_trainer(trainer, NULL, before, err));
            size_t numbers, bytes;
            float *as_before = all_params(model, &numbers);
            unsigned char *saved = file_bytes(before, &bytes);
            const int64_t step = xf_trainer_step_count(trainer);
            xf_step_stats stats;
            memset(&stats, 0x5A, sizeof stats);
            stats.struct_size = sizeof stats;
            xf_error error;
            const xf_status status = xf_train_step(trainer, &batch, 1, NULL, NULL, &error);
            if (status != XF_OK) {
                check_refusal(XF_ERROR_NONFINITE, status, &error, __FILE__, __LINE__);
                REFUSED(XF_ERROR_NONFINITE, stats, xf_train_step(trainer, &batch, 1, NULL, &stats, err));
                ++refused;
                assert_int_equal(xf_trainer_step_count(trainer), step);
                float *as_after = all_params(model, &numbers);
                assert_memory_equal(as_before, as_after, numbers * sizeof *as_after);
                free(as_after);
                /* Nothing is written until a step is good again. */
                REFUSED(XF_ERROR_NONFINITE, nothing, save_trainer(trainer, NULL, before, err));
                size_t left;
                unsigned char *kept_file = file_bytes(before, &left);
                assert_int_equal(left, bytes);
                assert_memory_equal(kept_file, saved, bytes);
                free(kept_file);
                ACCEPTED(xf_model_write_tensor(model, p, kept, size, err));
                ACCEPTED(xf_train_step(trainer, &batch, 1, NULL, &stats, err)); /* training continues */
                assert_true(isfinite(stats.loss) && stats.step == step + 1);
                ACCEPTED(save_trainer(trainer, NULL, before, err));
            } else {
                ACCEPTED(xf_model_write_tensor(model, p, kept, size, err));
            }
            free(kept);
            free(as_before);
            free(saved);
            size_t count;
            float *all = all_params(model, &count);
            for (size_t i = 0; i < count; ++i) assert_true(isfinite(all[i]));
            free(all);
        }
        print_message("%s: %d of %d tensors at 1e38 gave a loss or gradient that is not finite\n", devices[d], refused,
                      (int)xf_model_tensor_count(model));
        assert_true(refused > 3);
        xf_trainer_free(trainer);
        xf_model_free(model);
        xf_config_free(config);
        xf_context_free(context);
    }
}

static void test_decoding(void **state) {
    (void)state;
    const int32_t ids[6] = {5, 6, 1, 7, 8, 1};
    const int64_t offsets[3] = {0, 3, 6};
    const xf_batch batch = {sizeof batch, 2, ids, offsets, ids, offsets, NULL, NULL, 0};
    for (int d = 0; d < 2; ++d) {
        xf_context *context = context_on(devices[d]);
        if (context == NULL) continue;
        xf_config *config = small_config(devices[d]);
        set(config, "model.vocab_size", "40");
        set(config, "decode.beam", "3");
        set(config, "decode.n_best", "3");
        xf_model *model = NULL;
        xf_decoder *decoder = NULL;
        ACCEPTED(xf_model_create(context, NULL, config, &model, err));
        ACCEPTED(xf_decoder_create(model, config, &decoder, err));
        int cut = 0;
        for (size_t p = 0; p < xf_model_tensor_count(model); ++p) {
            fill(model, p, 1e38f); /* one more each time, so all in the end */
            xf_hypotheses *found = NULL;
            double scores[2];
            xf_eval_stats stats = {.struct_size = sizeof stats};
            ACCEPTED(xf_decode(decoder, &batch, NULL, NULL, &found, err));
            for (size_t s = 0; s < 2; ++s) {
                assert_true(hypothesis_count(found, s) >= 1);
                xf_hypothesis h = {.struct_size = sizeof h};
                ACCEPTED(xf_hypotheses_get(found, s, 0, &h, err));
                assert_true(h.id_count <= 11);
                assert_false(isnan(h.score));
                cut += !h.finished;
                for (size_t i = 0; i < h.id_count; ++i) assert_true(h.ids[i] > 1 && h.ids[i] < 40);
            }
            xf_hypotheses_free(found);
            ACCEPTED(xf_score(decoder, &batch, NULL, scores, err));
            ACCEPTED(evaluate_pairs(decoder, context, &batch, &stats, err));
        }
        assert_true(cut > 0); /* an answer that no end symbol ended says so */
        xf_decoder_free(decoder);
        xf_model_free(model);
        xf_config_free(config);
        xf_context_free(context);
    }
}

/* Logits whose sum is beyond fp32: with nothing smoothed the sum doesn't count, and the loss is the likelihood's. */
static void test_no_smoothing(void **state) {
    (void)state;
    const int32_t ids[6] = {5, 6, 1, 7, 8, 1};
    const int64_t offsets[3] = {0, 3, 6};
    const xf_batch batch = {sizeof batch, 2, ids, offsets, ids, offsets, NULL, NULL, 0};
    for (int d = 0; d < 2; ++d) {
        xf_context *context = context_on(devices[d]);
        if (context == NULL) continue;
        xf_config *config = small_config(devices[d]);
        set(config, "model.vocab_size", "40");
        set(config, "train.label_smoothing", "0");
        xf_model *model = NULL;
        xf_decoder *decoder = NULL;
        ACCEPTED(xf_model_create(context, NULL, config, &model, err));
        ACCEPTED(xf_decoder_create(model, config, &decoder, err));
        const size_t last = xf_model_tensor_count(model) - 1; /* of the last norm */
        xf_tensor_info info = XF_TENSOR_INFO_INIT;
        ACCEPTED(xf_model_get_tensor(model, last, &info, err));
        assert_non_null(strstr(info.name, "norm.bias"));
        const size_t width = (size_t)info.shape[info.dims - 1], size = 40 * width;
        float *bias = calloc(width, sizeof *bias), *table = malloc(size * sizeof *table);
        bias[0] = 1e38f;
        ACCEPTED(xf_model_write_tensor(model, last, bias, width, err));
        ACCEPTED(xf_model_read_tensor(model, 0, table, size, err));
        for (size_t v = 0; v < 40; ++v) table[v * width] = 1; /* every logit is about 1e38 */
        ACCEPTED(xf_model_write_tensor(model, 0, table, size, err));
        xf_eval_stats stats = XF_EVAL_STATS_INIT;
        ACCEPTED(evaluate_pairs(decoder, context, &batch, &stats, err));
        assert_true(isfinite(stats.nll));
        assert_true(stats.loss == stats.nll);
        free(bias);
        free(table);
        xf_decoder_free(decoder);
        xf_model_free(model);
        xf_config_free(config);
        xf_context_free(context);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_training), cmocka_unit_test(test_decoding),
                                       cmocka_unit_test(test_no_smoothing)};
    return RUN(tests, NULL, NULL);
}
