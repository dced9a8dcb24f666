/*
 * context.weights and file.precision: models of 16 and 8 bits from file to memory to file, from one context to another,
 * what may be done with them and what not, and what they hold.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <math.h>

static const char *const narrow[] = {"fp16", "bf16", "int8"}, *const all[] = {"fp32", "fp16", "bf16", "int8"};

/* A context that keeps matrices so. */
static xf_context *keeping(const char *weights) {
    xf_config *config = small_config("cpu:ref");
    xf_context *context = NULL;
    set(config, "context.weights", weights);
    ACCEPTED(xf_context_create(config, NULL, &context, err));
    xf_config_free(config);
    return context;
}

/* The model as a file of the precision, under a name of its own; gives the name. */
static const char *save_as(const xf_model *model, const char *precision, const char *name) {
    xf_config *config = small_config("cpu:ref");
    const char *path = scratch_path(name);
    set(config, "file.precision", precision);
    ACCEPTED(xf_model_save(model, config, path, err));
    xf_config_free(config);
    return path;
}

static xf_model *load(xf_context *context, const char *path) {
    xf_model *model = NULL;
    ACCEPTED(xf_model_load(context, path, &model, err));
    return model;
}

static void assert_same_params(const xf_model *a, const xf_model *b) {
    size_t counts[2];
    float *params[2] = {all_params(a, &counts[0]), all_params(b, &counts[1])};
    assert_int_equal(counts[0], counts[1]);
    assert_memory_equal(params[0], params[1], counts[0] * sizeof(float));
    free(params[0]);
    free(params[1]);
}

/* Whether the model is one that decodes alone. */
static int is_narrow(xf_model *model) {
    xf_trainer *trainer = NULL;
    const enum xf_status status = xf_trainer_create(model, NULL, &trainer, NULL);
    assert_true(status == XF_OK || status == XF_ERROR_STATE);
    xf_trainer_free(trainer);
    return status != XF_OK;
}

/* Answers and scores as one text; to be freed. */
static char *answers_of(const xf_model *model) {
    const char *texts[] = {"one two three", "four", "two two one four"};
    xf_decoder *decoder = NULL;
    xf_hypotheses *found = NULL;
    char *told = calloc(1, 4096);
    ACCEPTED(xf_decoder_create((xf_model *)model, NULL, &decoder, err));
    ACCEPTED(xf_translate(decoder, texts, NULL, 3, NULL, &found, err));
    for (size_t i = 0; i < 3; ++i) {
        xf_hypothesis h = XF_HYPOTHESIS_INIT;
        ACCEPTED(xf_hypotheses_get(found, i, 0, &h, err));
        assert_true(isfinite(h.score));
        snprintf(told + strlen(told), 4096 - strlen(told), "%.400s %a\n", h.text, h.score);
    }
    xf_hypotheses_free(found);
    xf_decoder_free(decoder);
    return told;
}

static void test_round_trip(void **state) {
    (void)state;
    for (int i = 0; i < 3; ++i) {
        const char *first = save_as(world.model, narrow[i], "first");
        xf_model *kept = load(world.context, first); /* context.weights is file */
        assert_true(is_narrow(kept));
        const char *again = save_as(kept, narrow[i], "again");
        assert_same_files(first, again);

        /* The same numbers, widened, in a model that is kept in fp32; it can be trained, and says the same in 16 bits.
         */
        xf_context *fp32 = keeping("fp32");
        xf_model *wide = load(fp32, first), *from_wide_file = NULL;
        assert_false(is_narrow(wide));
        assert_same_params(kept, wide);
        char *said[2] = {answers_of(kept), answers_of(wide)};
        if (i < 2) assert_string_equal(said[0], said[1]);
        /* A narrow model saved in fp32 is that model. */
        from_wide_file = load(world.context, save_as(kept, "fp32", "wide"));
        assert_false(is_narrow(from_wide_file));
        assert_same_params(from_wide_file, wide);
        free(said[0]);
        free(said[1]);
        xf_model_free(from_wide_file);
        xf_model_free(wide);
        xf_model_free(kept);
        xf_context_free(fp32);
    }
}

/* Loading a file into another type is loading it wide and converting that; so is copying. */
static void test_conversions(void **state) {
    (void)state;
    for (int from = 0; from < 4; ++from) {
        const char *path = save_as(world.model, all[from], "from");
        xf_context *fp32 = keeping("fp32");
        xf_model *wide = load(fp32, path), *as_filed = load(world.context, path);
        for (int to = 0; to < 4; ++to) {
            xf_context *context = keeping(all[to]);
            xf_model *loaded = load(context, path), *copy = NULL, *copy_of_wide = NULL;
            ACCEPTED(xf_model_copy(as_filed, context, &copy, err));
            ACCEPTED(xf_model_copy(wide, context, &copy_of_wide, err));
            assert_int_equal(is_narrow(loaded), to > 0);
            assert_int_equal(is_narrow(copy), to > 0);
            assert_same_params(loaded, copy);
            if (from != 3 || to != 3) assert_same_params(loaded, copy_of_wide);
            const char *paths[2] = {save_as(loaded, all[to], "loaded"), save_as(copy, all[to], "copied")};
            assert_same_files(paths[0], paths[1]);
            if (from == to) {
                assert_same_files(paths[0], path);
                assert_same_params(loaded, as_filed);
            }
            /* Asked to make it narrow, the writer says what the model of that type would have. */
            if (from == 0) assert_same_files(save_as(wide, all[to], "direct"), paths[0]);
            xf_model_free(loaded);
            xf_model_free(copy);
            xf_model_free(copy_of_wide);
            xf_context_free(context);
        }
        xf_model_free(wide);
        xf_model_free(as_filed);
        xf_context_free(fp32);
    }
}

static void test_what_a_narrow_model_is_for(void **state) {
    (void)state;
    for (int i = 0; i < 3; ++i) {
        const char *path = save_as(world.model, narrow[i], "kept");
        xf_model *model = load(world.context, path), *copy = NULL;
        xf_trainer *trainer = SENTINEL;
        float values[16] = {0};
        size_t vector = 0;
        xf_tensor_info info = XF_TENSOR_INFO_INIT;
        do {
            ACCEPTED(xf_model_get_tensor(model, ++vector, &info, err));
        } while (info.rows * info.columns != 16);
        REFUSED(XF_ERROR_STATE, trainer, xf_trainer_create(model, NULL, &trainer, err));
        REFUSED(XF_ERROR_STATE, nothing, xf_model_write_tensor(model, vector, values, 16, err));
        xf_error why;
        assert_int_equal(xf_trainer_create(model, NULL, &trainer, &why), XF_ERROR_STATE);
        assert_non_null(strstr(why.message, narrow[i]));
        assert_non_null(strstr(why.message, "context.weights")); /* the remedy */
        assert_non_null(strstr(why.message, "xf_model_copy"));

        /* Which works: trained there, it comes back as what it was. */
        xf_context *fp32 = keeping("fp32"), *back = keeping(narrow[i]);
        ACCEPTED(xf_model_copy(model, fp32, &copy, err));
        ACCEPTED(xf_trainer_create(copy, NULL, &trainer, err));
        const xf_batch batch = next_batch(world.batcher);
        ACCEPTED(xf_train_step(trainer, &batch, 1, NULL, err));
        xf_trainer_free(trainer);
        xf_model *trained = NULL;
        ACCEPTED(xf_model_copy(copy, back, &trained, err));
        assert_true(is_narrow(trained));
        char *said = answers_of(trained);
        free(said);

        /* Its texts can be changed, and it can be copied within its context. */
        xf_model *second = NULL;
        ACCEPTED(xf_model_set_metadata(model, "made of", "a file", err));
        ACCEPTED(xf_model_copy(model, NULL, &second, err));
        assert_true(is_narrow(second));
        assert_string_equal(xf_model_metadata(second, "made of"), "a file");
        assert_same_params(second, model);
        xf_model_free(second);
        xf_model_free(trained);
        xf_model_free(copy);
        xf_model_free(model);
        xf_context_free(fp32);
        xf_context_free(back);
    }
}

/* Averages, fresh models and resumed runs are fp32 whatever context.weights says. */
static void test_what_stays_fp32(void **state) {
    (void)state;
    xf_context *int8 = keeping("int8"), *fp32 = keeping("fp32");
    const char *paths[] = {save_as(world.model, "int8", "one"), save_as(world.model, "fp16", "two")};
    xf_model *models[2] = {load(int8, paths[0]), load(int8, paths[1])}, *wide[2], *means[3];
    assert_true(is_narrow(models[0]) && is_narrow(models[1]));
    for (int i = 0; i < 2; ++i) ACCEPTED(xf_model_copy(models[i], fp32, &wide[i], err));
    ACCEPTED(xf_model_average((const xf_model *const *)models, 2, &means[0], err));
    ACCEPTED(xf_model_average((const xf_model *const *)wide, 2, &means[1], err));
    assert_false(is_narrow(means[0]));
    assert_same_params(means[0], means[1]);
    ACCEPTED(xf_model_average_files(int8, paths, 2, &means[2], err));
    assert_false(is_narrow(means[2]));
    xf_model *filed[2] = {load(fp32, paths[0]), load(fp32, paths[1])}, *expected = NULL;
    ACCEPTED(xf_model_average((const xf_model *const *)filed, 2, &expected, err));
    assert_same_params(means[2], expected);
    for (int i = 0; i < 3; ++i) xf_model_free(means[i]);
    for (int i = 0; i < 2; ++i) {
        xf_model_free(models[i]);
        xf_model_free(wide[i]);
        xf_model_free(filed[i]);
    }
    xf_model_free(expected);

    xf_model *fresh = NULL, *of_checkpoint = NULL;
    xf_trainer *resumed = NULL;
    const char *checkpoint = scratch_path("checkpoint");
    ACCEPTED(xf_model_create(int8, world.config, world.tokenizer, &fresh, err));
    assert_false(is_narrow(fresh));
    ACCEPTED(xf_trainer_save(world.trainer, NULL, checkpoint, err));
    ACCEPTED(xf_trainer_resume(int8, checkpoint, NULL, &resumed, err));
    const xf_batch batch = next_batch(world.batcher);
    ACCEPTED(xf_train_step(resumed, &batch, 1, NULL, err));
    /* But the model in a checkpoint is loaded as any other. */
    of_checkpoint = load(int8, checkpoint);
    assert_true(is_narrow(of_checkpoint));
    xf_model_free(of_checkpoint);
    xf_model_free(fresh);
    xf_trainer_free(resumed);
    xf_context_free(int8);
    xf_context_free(fp32);
}

/* int8 needs fp32 activations: refused with the context, whatever the device. */
static void test_refused_contexts(void **state) {
    (void)state;
    xf_config *config = small_config("cpu");
    xf_context *out = SENTINEL;
    xf_error why;
    assert_int_equal(xf_config_set(config, "context.weights", "int4", &why), XF_ERROR_OUT_OF_RANGE);
    set(config, "context.precision", "bf16");
    for (int i = 0; i < 3; ++i) {
        set(config, "context.weights", narrow[i]);
        REFUSED(XF_ERROR_UNSUPPORTED, out, xf_context_create(config, NULL, &out, err));
        assert_int_equal(xf_context_create(config, NULL, &out, &why), XF_ERROR_UNSUPPORTED);
        assert_non_null(strstr(why.message, narrow[i]));
    }
    xf_config_free(config);
}

/* A number that a type can't hold: nothing is loaded, copied or saved. */
static void test_numbers_too_large(void **state) {
    (void)state;
    xf_model *large = NULL, *out = SENTINEL;
    ACCEPTED(xf_model_copy(world.model, NULL, &large, err));
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    ACCEPTED(xf_model_get_tensor(large, 0, &info, err));
    const size_t count = (size_t)(info.rows * info.columns);
    float *values = calloc(count, sizeof *values);
    values[5] = 70000;
    ACCEPTED(xf_model_write_tensor(large, 0, values, count, err));
    const char *path = save_as(large, "fp32", "large");
    xf_context *fp16 = keeping("fp16"), *int8 = keeping("int8");
    REFUSED(XF_ERROR_OUT_OF_RANGE, out, xf_model_load(fp16, path, &out, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, out, xf_model_copy(large, fp16, &out, err));
    xf_model *kept = load(int8, path);
    ACCEPTED(xf_model_read_tensor(kept, 0, values, count, err));
    assert_float_equal(values[5], 70000, 0.01);
    /* Rows of zeros are zeros. */
    for (size_t i = (size_t)info.columns; i < count; ++i) assert_true(values[i] == 0);
    assert_same_files(save_as(kept, "int8", "zeros"), save_as(large, "int8", "zeros again"));
    xf_model_free(kept);
    xf_model_free(large);
    xf_context_free(fp16);
    xf_context_free(int8);
    free(values);
}

static int64_t held(xf_context *context) {
    xf_memory_stats stats = XF_MEMORY_STATS_INIT;
    ACCEPTED(xf_context_get_memory(context, &stats, err));
    return stats.current;
}

/* A model large enough that its numbers count: what is held is at most 1.15 times those, at its peak too when the file
 * has the type; and what is told of the file before agrees. */
static void test_memory(void **state) {
    (void)state;
    xf_config *config = small_config("cpu:ref");
    set(config, "model.d_model", "256");
    set(config, "model.d_ff", "1024");
    set(config, "model.heads", "4");
    set(config, "model.d_k", "64");
    set(config, "model.d_v", "64");
    set(config, "model.encoder_layers", "2");
    set(config, "model.decoder_layers", "2");
    set(config, "model.max_length", "64");
    xf_model *model = NULL;
    ACCEPTED(xf_model_create(world.context, config, world.tokenizer, &model, err));
    size_t numbers = 0;
    free(all_params(model, &numbers));
    for (int i = 0; i < 4; ++i) {
        const double bytes = (double)numbers * (i == 0 ? 4 : i == 3 ? 1 : 2);
        const char *path = save_as(model, all[i], "sized");
        for (int from_fp32 = 0; from_fp32 < 2; ++from_fp32) {
            xf_context *context = keeping(from_fp32 ? all[i] : "file");
            xf_model *loaded = load(context, from_fp32 ? save_as(model, "fp32", "sized wide") : path);
            assert_true((double)held(context) <= 1.15 * bytes);
            xf_memory_stats stats = XF_MEMORY_STATS_INIT;
            ACCEPTED(xf_context_get_memory(context, &stats, err));
            assert_true((double)stats.peak <= 1.15 * bytes);
            xf_source source = XF_SOURCE_INIT;
            xf_model_summary summary = XF_MODEL_SUMMARY_INIT;
            source.path = path;
            ACCEPTED(xf_model_inspect(context, config, &source, &summary, err));
            assert_string_equal(summary.precision, all[i]);
            assert_int_equal(summary.parameters, numbers);
            assert_true(summary.decode_bytes > held(context));
            xf_model_free(loaded);
            xf_context_free(context);
        }
        if (i == 3) {
            size_t size = 0;
            free(file_bytes(path, &size));
            assert_true((double)size < 1.15 * bytes); /* a quarter of fp32 */
        }
    }
    /* Asked of another context, a file needs what that keeps. */
    xf_source source = XF_SOURCE_INIT;
    xf_model_summary small = XF_MODEL_SUMMARY_INIT, wide = XF_MODEL_SUMMARY_INIT;
    xf_context *int8 = keeping("int8"), *fp32 = keeping("fp32");
    source.path = save_as(model, "int8", "sized");
    ACCEPTED(xf_model_inspect(int8, config, &source, &small, err));
    ACCEPTED(xf_model_inspect(fp32, config, &source, &wide, err));
    assert_true((double)(wide.decode_bytes - small.decode_bytes) > 2.9 * (double)numbers);
    assert_int_equal(small.train_bytes, wide.train_bytes);
    xf_context_free(int8);
    xf_context_free(fp32);
    xf_model_free(model);
    xf_config_free(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_conversions),
                                       cmocka_unit_test(test_what_a_narrow_model_is_for),
                                       cmocka_unit_test(test_what_stays_fp32),
                                       cmocka_unit_test(test_refused_contexts),
                                       cmocka_unit_test(test_numbers_too_large),
                                       cmocka_unit_test(test_memory)};
    return RUN(tests, world_open, world_close);
}
