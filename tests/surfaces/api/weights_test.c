/*
 * model.weights: models of 16 and 8 bits from file to memory to file, from one context to another, what may be done
 * with them and what not, and what they hold.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <math.h>

static const char *const narrow[] = {"fp16", "bf16", "int8"}, *const all[] = {"fp32", "fp16", "bf16", "int8"};
static const int32_t types[] = {XF_TYPE_FP32, XF_TYPE_FP16, XF_TYPE_BF16, XF_TYPE_INT8};

/* A config in which only the type of the matrices is set. */
static xf_config *keeping(const char *weights) {
    xf_config *config = NULL;
    ACCEPTED(xf_config_create(&config, err));
    set(config, "model.weights", weights);
    return config;
}

/* Saves the model with this precision under a separate name, and returns the name. */
static const char *save_as(const xf_model *model, const char *precision, const char *name) {
    OWNED_CONFIG *config = keeping(precision);
    const char *path = scratch_path(name);
    ACCEPTED(save_model(model, config, path, err));
    return path;
}

/* Loads a file with matrices of this type. */
static xf_model *load(const char *path, const char *weights) {
    const xf_source source = source_path(path);
    OWNED_CONFIG *config = keeping(weights);
    xf_model *model = NULL;
    ACCEPTED(xf_model_load(world.context, &source, config, NULL, &model, err));
    return model;
}

static xf_model *copy_as(const xf_model *model, const char *weights) {
    OWNED_CONFIG *config = keeping(weights);
    xf_model *copy = NULL;
    ACCEPTED(xf_model_copy(model, NULL, config, NULL, &copy, err));
    return copy;
}

static void assert_same_params(const xf_model *a, const xf_model *b) {
    size_t counts[2];
    float *params[2] = {all_params(a, &counts[0]), all_params(b, &counts[1])};
    assert_int_equal(counts[0], counts[1]);
    assert_memory_equal(params[0], params[1], counts[0] * sizeof(float));
    free(params[0]);
    free(params[1]);
}

/* Returns whether the model can only decode. */
static int is_narrow(xf_model *model) {
    OWNED_TRAINER *trainer = NULL;
    const xf_status status = xf_trainer_create(model, NULL, &trainer, NULL);
    assert_true(status == XF_OK || status == XF_ERROR_STATE);
    return status != XF_OK;
}

/* Answers and scores as one text; to be freed. */
static char *answers_of(const xf_model *model) {
    const char *texts[] = {"one two three", "four", "two two one four"};
    char *told = calloc(1, 4096);
    MAKE(decoder, decoder, xf_decoder_create((xf_model *)model, NULL, NULL, &decoder, err));
    MAKE(hypotheses, found, xf_translate(decoder, texts, NULL, 3, NULL, NULL, &found, err));
    for (size_t i = 0; i < 3; ++i) {
        const xf_hypothesis h = get_hypothesis(found, i, 0);
        assert_true(isfinite(h.score));
        snprintf(told + strlen(told), 4096 - strlen(told), "%.400s %a\n", h.text, h.score);
    }
    return told;
}

TEST(round_trip) {
    for (int i = 0; i < 3; ++i) {
        const char *first = save_as(world.model, narrow[i], "first");
        MAKE(model, kept, load_model(world.context, first, &kept, err)); /* model.weights is same */
        assert_true(is_narrow(kept));
        const char *again = save_as(kept, narrow[i], "again");
        assert_same_files(first, again);

        /* The same numbers, widened, in a model that is kept in fp32; it can be trained, and says the same in 16 bits.
         */
        OWNED_MODEL *wide = load(first, "fp32"), *from_wide_file = NULL;
        assert_false(is_narrow(wide));
        assert_same_params(kept, wide);
        char *said[2] = {answers_of(kept), answers_of(wide)};
        if (i < 2) assert_string_equal(said[0], said[1]);
        /* A narrow model saved in fp32 is that model. */
        from_wide_file = load(save_as(kept, "fp32", "wide"), "same");
        assert_false(is_narrow(from_wide_file));
        assert_same_params(from_wide_file, wide);
        free(said[0]);
        free(said[1]);
    }
}

/* Loading a file into another type is loading it wide and converting that; so is copying. */
TEST(conversions) {
    for (int from = 0; from < 4; ++from) {
        const char *path = save_as(world.model, all[from], "from");
        OWNED_MODEL *wide = load(path, "fp32"), *as_filed = load(path, "same");
        for (int to = 0; to < 4; ++to) {
            OWNED_MODEL *loaded = load(path, all[to]);
            OWNED_MODEL *copy = copy_as(as_filed, all[to]), *copy_of_wide = copy_as(wide, all[to]);
            assert_int_equal(is_narrow(loaded), to > 0);
            assert_int_equal(is_narrow(copy), to > 0);
            assert_same_params(loaded, copy);
            if (from != 3 || to != 3) assert_same_params(loaded, copy_of_wide);
            /* The type in memory is the type of the file unless model.weights requests another. */
            const char *paths[2] = {save_as(loaded, "same", "loaded"), save_as(copy, all[to], "copied")};
            assert_same_files(paths[0], paths[1]);
            if (from == to) {
                assert_same_files(paths[0], path);
                assert_same_params(loaded, as_filed);
            }
            /* Asked to make it narrow, the writer says what the model of that type would have. */
            if (from == 0) assert_same_files(save_as(wide, all[to], "direct"), paths[0]);
        }
    }
}

TEST(quantized_models_only_decode) {
    for (int i = 0; i < 3; ++i) {
        const char *path = save_as(world.model, narrow[i], "kept");
        OWNED_MODEL *model = load(path, "same");
        OWNED_TRAINER *trainer = SENTINEL;
        float values[16] = {0};
        size_t vector = 0;
        while (tensor_size(model, ++vector) != 16) continue;
        REFUSED(XF_ERROR_STATE, nothing, xf_model_write_tensor(model, vector, values, 16, err));
        REFUSED(XF_ERROR_STATE, trainer, xf_trainer_create(model, NULL, &trainer, err));
        SAYS(narrow[i]);
        SAYS("model.weights"); /* the remedy */

        /* Which works: trained there, it comes back as what it was. */
        OWNED_MODEL *copy = copy_as(model, "fp32");
        ACCEPTED(xf_trainer_create(copy, NULL, &trainer, err));
        const xf_batch batch = next_batch(world.batcher);
        ACCEPTED(xf_train_step(trainer, &batch, 1, NULL, NULL, err));
        OWNED_MODEL *trained = copy_as(copy, narrow[i]);
        assert_true(is_narrow(trained));
        OWNED_MEMORY char *said = answers_of(trained);

        /* Its texts can be changed, and it can be copied within its context. */
        ACCEPTED(xf_model_set_metadata(model, "made of", "a file", err));
        MAKE(model, second, xf_model_copy(model, NULL, NULL, NULL, &second, err));
        assert_true(is_narrow(second));
        char value[16];
        size_t length = 0;
        ACCEPTED(xf_model_get_metadata(second, "made of", value, sizeof value, &length, err));
        assert_string_equal(value, "a file");
        assert_same_params(second, model);
    }
}

/* A model that another context is to use: it is copied there with another type. */
TEST(other_context) {
    xf_context *other = context_on("cpu:ref");
    OWNED_CONFIG *config = keeping("int8");
    OWNED_MODEL *here = copy_as(world.model, "int8");
    MAKE(model, copy, xf_model_copy(world.model, other, config, NULL, &copy, err));
    xf_context_free(other);
    assert_true(is_narrow(copy));
    assert_same_params(copy, here);
    char *said[2] = {answers_of(copy), answers_of(here)};
    assert_string_equal(said[0], said[1]);
    free(said[0]);
    free(said[1]);
}

/* Averages, new models, and resumed runs are fp32. */
TEST(tensors_that_remain_fp32) {
    const char *paths[] = {save_as(world.model, "int8", "one"), save_as(world.model, "fp16", "two")};
    const char *wide_paths[2], *const names[] = {"one wide", "two wide"};
    xf_model *means[2];
    for (int i = 0; i < 2; ++i) {
        OWNED_MODEL *wide = load(paths[i], "fp32");
        wide_paths[i] = save_as(wide, "same", names[i]);
    }
    ACCEPTED(average_files(world.context, paths, 2, &means[0], err));
    ACCEPTED(average_files(world.context, wide_paths, 2, &means[1], err));
    assert_false(is_narrow(means[0]));
    assert_same_params(means[0], means[1]);
    for (int i = 0; i < 2; ++i) xf_model_free(means[i]);

    xf_model *model = SENTINEL;
    OWNED_CONFIG *config = small_config("cpu:ref");
    for (int i = 0; i < 3; ++i) { /* a new model is fp32; another wish is an error */
        set(config, "model.weights", narrow[i]);
        REFUSED(XF_ERROR_INVALID_ARGUMENT, model, xf_model_create(world.context, world.tokenizer, config, &model, err));
    }
    set(config, "model.weights", "fp32");
    ACCEPTED(xf_model_create(world.context, world.tokenizer, config, &model, err));
    assert_false(is_narrow(model));
    xf_model_free(model);

    const char *checkpoint = scratch_path("checkpoint");
    ACCEPTED(save_trainer(world.trainer, NULL, checkpoint, err));
    MAKE(trainer, resumed, resume_trainer(world.context, checkpoint, NULL, &resumed, err));
    const xf_batch batch = next_batch(world.batcher);
    ACCEPTED(xf_train_step(resumed, &batch, 1, NULL, NULL, err));
    /* But the model in a checkpoint is loaded as any other. */
    OWNED_MODEL *of_checkpoint = load(checkpoint, "int8");
    assert_true(is_narrow(of_checkpoint));
}

/* Quantized matrices need fp32 activations: refused with every function that makes them, whatever the device. */
TEST(refused_types) {
    xf_error why;
    xf_config *config = small_config("cpu");
    assert_int_equal(xf_config_set(config, "model.weights", "int4", &why), XF_ERROR_OUT_OF_RANGE);
    assert_int_equal(xf_config_set(config, "model.weights", "file", &why), XF_ERROR_OUT_OF_RANGE);
    set(config, "context.precision", "bf16");
    OWNED_CONTEXT *bf16 = NULL;
    const xf_status status = xf_context_create(config, NULL, &bf16, &why);
    xf_config_free(config);
    if (status == XF_ERROR_UNSUPPORTED) return; /* plain loops */
    assert_int_equal(status, XF_OK);
    const char *path = save_as(world.model, "fp32", "for bf16");
    const xf_source source = source_path(path);
    for (int i = 0; i < 3; ++i) {
        xf_model *out = SENTINEL;
        config = keeping(narrow[i]);
        REFUSED(XF_ERROR_UNSUPPORTED, out, xf_model_copy(world.model, bf16, config, NULL, &out, err));
        REFUSED(XF_ERROR_UNSUPPORTED, out, xf_model_load(bf16, &source, config, NULL, &out, err));
        SAYS(narrow[i]);
        xf_config_free(config);
        /* A file of that type is loaded as fp32 unless the type is asked for. */
        MAKE(model, wide, load_model(bf16, save_as(world.model, narrow[i], "narrow"), &wide, err));
        assert_false(is_narrow(wide));
    }
}

/* A number that a type can't hold: nothing is loaded, copied or saved. */
TEST(numbers_too_large) {
    xf_model *out = SENTINEL;
    MAKE(model, large, xf_model_copy(world.model, NULL, NULL, NULL, &large, err));
    const xf_tensor_info info = get_tensor(large, 0);
    const size_t count = number_count(&info);
    OWNED_MEMORY float *values = calloc(count, sizeof *values);
    values[5] = 70000;
    ACCEPTED(xf_model_write_tensor(large, 0, values, count, err));
    const char *path = save_as(large, "fp32", "large");
    const xf_source source = source_path(path);
    OWNED_CONFIG *fp16 = keeping("fp16");
    REFUSED(XF_ERROR_OUT_OF_RANGE, out, xf_model_load(world.context, &source, fp16, NULL, &out, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, out, xf_model_copy(large, NULL, fp16, NULL, &out, err));
    OWNED_MODEL *kept = load(path, "int8");
    ACCEPTED(xf_model_read_tensor(kept, 0, values, count, err));
    assert_float_equal(values[5], 70000, 0.01);
    /* Rows of zeros are zeros. */
    for (size_t i = (size_t)info.shape[info.dims - 1]; i < count; ++i) assert_true(values[i] == 0);
    assert_same_files(save_as(kept, "int8", "zeros"), save_as(large, "int8", "zeros again"));
}

static int64_t held(xf_context *context) {
    const xf_memory_stats stats = get_memory(context);
    return stats.current;
}

/* A model large enough that its parameters dominate: memory is at most 1.15 times their size, also at the peak if the
 * file has the same type, and the estimate from the file agrees. */
TEST(memory) {
    OWNED_CONFIG *config = config_with("cpu:ref",
                                       "model.d_model=256 model.d_ff=1024 model.heads=4 model.d_k=64 model.d_v=64 "
                                       "model.encoder_layers=2 model.decoder_layers=2 model.max_length=64");
    MAKE(model, model, xf_model_create(world.context, world.tokenizer, config, &model, err));
    size_t numbers = 0;
    free(all_params(model, &numbers));
    for (int i = 0; i < 4; ++i) {
        const double bytes = (double)numbers * (i == 0 ? 4 : i == 3 ? 1 : 2);
        const char *path = save_as(model, all[i], "sized");
        for (int from_fp32 = 0; from_fp32 < 2; ++from_fp32) {
            OWNED_CONTEXT *context = context_on("cpu:ref");
            OWNED_CONFIG *wish = keeping(from_fp32 ? all[i] : "same");
            const xf_source source = source_path(from_fp32 ? save_as(model, "fp32", "sized wide") : path);
            const xf_source narrow_source = source_path(path);
            MAKE(model, loaded, xf_model_load(context, &source, wish, NULL, &loaded, err));
            assert_true((double)held(context) <= 1.15 * bytes);
            const xf_memory_stats stats = get_memory(context);
            assert_true((double)stats.peak <= 1.15 * bytes);
            xf_model_summary summary = XF_MODEL_SUMMARY_INIT;
            ACCEPTED(xf_model_inspect(context, &narrow_source, config, &summary, err));
            assert_int_equal(summary.weights, types[i]);
            assert_int_equal(summary.parameters, numbers);
            assert_true(summary.decode_bytes > held(context));
        }
        if (i == 3) {
            size_t size = 0;
            free(file_bytes(path, &size));
            assert_true((double)size < 1.15 * bytes); /* a quarter of fp32 */
        }
    }
    /* A file needs what the type in memory needs. */
    const xf_source source = source_path(save_as(model, "int8", "sized"));
    xf_model_summary small = XF_MODEL_SUMMARY_INIT, wide = XF_MODEL_SUMMARY_INIT;
    ACCEPTED(xf_model_inspect(world.context, &source, config, &small, err)); /* same */
    set(config, "model.weights", "fp32");
    ACCEPTED(xf_model_inspect(world.context, &source, config, &wide, err));
    assert_true((double)(wide.decode_bytes - small.decode_bytes) > 2.9 * (double)numbers);
    assert_int_equal(small.train_bytes, wide.train_bytes);
    assert_int_equal(wide.weights, XF_TYPE_INT8); /* of the file */
}

int main(void) { return RUN_TESTS(world_open, world_close); }
