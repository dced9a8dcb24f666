/*
 * Weights so large that nothing stays finite: training refuses and changes nothing, decoding ends and says so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <math.h>

static void fill(xf_model *model, size_t index, float value) {
    const size_t size = tensor_size(model, index);
    OWNED_MEMORY float *values = malloc(size * sizeof *values);
    for (size_t i = 0; i < size; ++i) values[i] = i % 2 ? value : -value;
    ACCEPTED(xf_model_write_tensor(model, index, values, size, err));
}

TEST(training) {
    ON_EACH_DEVICE(d) {
        OWNED_CONTEXT *context = context_on(cpu_devices[d]);
        OWNED_CONFIG *config = config_with(cpu_devices[d], "model.vocab_size=40");
        MAKE(model, model, xf_model_create(context, NULL, config, &model, err));
        MAKE(trainer, trainer, xf_trainer_create(model, config, &trainer, err));
        ACCEPTED(xf_train_step(trainer, &two_pairs, 1, NULL, NULL, err));
        const char *sound = scratch_path("sound"), *before = scratch_path("before");
        ACCEPTED(save_model(model, NULL, sound, err));
        int refused = 0;
        for (size_t p = 0; p < xf_model_tensor_count(model); ++p) {
            /* Each tensor in turn, in a fresh copy of the trained state. */
            const size_t size = tensor_size(model, p);
            OWNED_MEMORY float *kept = malloc(size * sizeof *kept);
            ACCEPTED(xf_model_read_tensor(model, p, kept, size, err));
            fill(model, p, 1e38f);
            ACCEPTED(save_trainer(trainer, NULL, before, err));
            size_t numbers, bytes;
            OWNED_MEMORY float *as_before = all_params(model, &numbers);
            OWNED_MEMORY unsigned char *saved = file_bytes(before, &bytes);
            const int64_t step = xf_trainer_step_count(trainer);
            PAINTED(xf_step_stats, stats);
            xf_error error;
            const xf_status status = xf_train_step(trainer, &two_pairs, 1, NULL, NULL, &error);
            if (status != XF_OK) {
                check_refusal(XF_ERROR_NONFINITE, status, &error, __FILE__, __LINE__);
                REFUSED(XF_ERROR_NONFINITE, stats, xf_train_step(trainer, &two_pairs, 1, NULL, &stats, err));
                ++refused;
                assert_int_equal(xf_trainer_step_count(trainer), step);
                OWNED_MEMORY float *as_after = all_params(model, &numbers);
                assert_memory_equal(as_before, as_after, numbers * sizeof *as_after);
                /* Nothing is written until a step is good again. */
                REFUSED(XF_ERROR_NONFINITE, nothing, save_trainer(trainer, NULL, before, err));
                size_t left;
                OWNED_MEMORY unsigned char *kept_file = file_bytes(before, &left);
                assert_int_equal(left, bytes);
                assert_memory_equal(kept_file, saved, bytes);
                ACCEPTED(xf_model_write_tensor(model, p, kept, size, err));
                ACCEPTED(xf_train_step(trainer, &two_pairs, 1, NULL, &stats, err)); /* training continues */
                assert_true(isfinite(stats.loss) && stats.step == step + 1);
                ACCEPTED(save_trainer(trainer, NULL, before, err));
            } else {
                ACCEPTED(xf_model_write_tensor(model, p, kept, size, err));
            }
            size_t count;
            OWNED_MEMORY float *all = all_params(model, &count);
            for (size_t i = 0; i < count; ++i) assert_true(isfinite(all[i]));
        }
        print_message("%s: %d of %d tensors at 1e38 gave a loss or gradient that is not finite\n", cpu_devices[d],
                      refused, (int)xf_model_tensor_count(model));
        assert_true(refused > 3);
    }
}

TEST(decoding) {
    ON_EACH_DEVICE(d) {
        OWNED_CONTEXT *context = context_on(cpu_devices[d]);
        OWNED_CONFIG *config = config_with(cpu_devices[d], "model.vocab_size=40 decode.beam=3 decode.n_best=3");
        MAKE(model, model, xf_model_create(context, NULL, config, &model, err));
        MAKE(decoder, decoder, xf_decoder_create(model, NULL, config, &decoder, err));
        int cut = 0;
        for (size_t p = 0; p < xf_model_tensor_count(model); ++p) {
            fill(model, p, 1e38f); /* one more each time, so all in the end */
            double scores[2];
            xf_eval_stats stats = {.struct_size = sizeof stats};
            MAKE(hypotheses, found, xf_decode(decoder, &two_pairs, NULL, NULL, &found, err));
            for (size_t s = 0; s < 2; ++s) {
                assert_true(hypothesis_count(found, s) >= 1);
                const xf_hypothesis h = get_hypothesis(found, s, 0);
                assert_true(h.id_count <= 11);
                assert_false(isnan(h.score));
                cut += !h.finished;
                for (size_t i = 0; i < h.id_count; ++i) assert_true(h.ids[i] > 1 && h.ids[i] < 40);
            }
            ACCEPTED(xf_score(decoder, &two_pairs, NULL, scores, err));
            ACCEPTED(evaluate_pairs(decoder, context, &two_pairs, &stats, err));
        }
        assert_true(cut > 0); /* an answer that no end symbol ended says so */
    }
}

/* Logits whose sum is beyond fp32: with nothing smoothed the sum doesn't count, and the loss is the likelihood's. */
TEST(no_smoothing) {
    ON_EACH_DEVICE(d) {
        OWNED_CONTEXT *context = context_on(cpu_devices[d]);
        OWNED_CONFIG *config = config_with(cpu_devices[d], "model.vocab_size=40 train.label_smoothing=0");
        MAKE(model, model, xf_model_create(context, NULL, config, &model, err));
        MAKE(decoder, decoder, xf_decoder_create(model, NULL, config, &decoder, err));
        const size_t last = xf_model_tensor_count(model) - 1; /* of the last norm */
        const xf_tensor_info info = get_tensor(model, last);
        assert_non_null(strstr(info.name, "norm.bias"));
        const size_t width = (size_t)info.shape[info.dims - 1], size = 40 * width;
        OWNED_MEMORY float *bias = calloc(width, sizeof *bias), *table = malloc(size * sizeof *table);
        bias[0] = 1e38f;
        ACCEPTED(xf_model_write_tensor(model, last, bias, width, err));
        ACCEPTED(xf_model_read_tensor(model, 0, table, size, err));
        for (size_t v = 0; v < 40; ++v) table[v * width] = 1; /* every logit is about 1e38 */
        ACCEPTED(xf_model_write_tensor(model, 0, table, size, err));
        xf_eval_stats stats = XF_EVAL_STATS_INIT;
        ACCEPTED(evaluate_pairs(decoder, context, &two_pairs, &stats, err));
        assert_true(isfinite(stats.nll));
        assert_true(stats.loss == stats.nll);
    }
}

int main(void) { return RUN_TESTS(NULL, NULL); }
