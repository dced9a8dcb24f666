/*
 * model.h: refusals of creating, loading, averaging, and of reading and writing parameters.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <float.h>
#include <math.h>

TEST(create) {
    xf_model *out = SENTINEL;
    xf_config *c = small_config("cpu:ref");
    /* No vocabulary; another than the tokenizer's; options that contradict each other or are too much together. */
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_create(world.context, NULL, c, &out, err));
    set(c, "model.vocab_size", "3");
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_create(world.context, NULL, c, &out, err));
    set(c, "model.vocab_size", "12345");
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_create(world.context, world.tokenizer, c, &out, err));
    set_all(c, "model.vocab_size=300 model.d_model=15");
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_create(world.context, NULL, c, &out, err));
    set_all(c, "model.d_model=65536 model.max_length=1048576");
    REFUSED(XF_ERROR_LIMIT, out, xf_model_create(world.context, NULL, c, &out, err));
    set_all(c, "model.max_length=16 model.heads=1024 model.d_k=65536");
    REFUSED(XF_ERROR_LIMIT, out, xf_model_create(world.context, NULL, c, &out, err));
    set_all(c, "model.d_k=256 model.d_v=256 model.encoder_layers=1024");
    REFUSED(XF_ERROR_LIMIT, out, xf_model_create(world.context, NULL, c, &out, err));
    xf_config_free(c);

    /* Without a tokenizer: ids only. */
    c = small_config("cpu:ref");
    set(c, "model.vocab_size", "4");
    ACCEPTED(xf_model_create(world.context, NULL, c, &out, err));
    assert_null(xf_model_tokenizer(out));
    int64_t size = 0;
    ACCEPTED(get_integer(xf_model_config(out), "model.vocab_size", &size, err));
    assert_int_equal(size, 4);
    xf_model_free(out);
    xf_config_free(c);
}

TEST(files) {
    xf_model *out = SENTINEL;
    const char *path = scratch_path("a.model"), *absent = scratch_path("absent");
    ACCEPTED(save_model(world.model, NULL, path, err));
    const char *paths[] = {path, path}, *with_null[] = {path, NULL}, *with_absent[] = {path, absent};
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, average_files(world.context, paths, 0, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, average_files(world.context, with_null, 2, &out, err));
    REFUSED(XF_ERROR_NOT_FOUND, out, average_files(world.context, with_absent, 2, &out, err));

    /* The average of a model with itself is that model, to the byte. */
    ACCEPTED(average_files(world.context, paths, 2, &out, err));
    ACCEPTED(save_model(out, NULL, scratch_path("average"), err));
    assert_same_files(path, scratch_path("average"));
    xf_model_free(out);
    ACCEPTED(load_model(world.context, path, &out, err));
    assert_int_equal(vocab_size_of(xf_model_tokenizer(out)), vocab_size_of(world.tokenizer));
    xf_model_free(out);
}

TEST(parameters) {
    const size_t count = xf_model_tensor_count(world.model);
    const size_t size = tensor_size(world.model, 1);
    OWNED_MEMORY float *values = calloc(size + 1, sizeof *values), *before = calloc(size + 1, sizeof *values);
    PAINTED(xf_tensor_info, info);
    REFUSED(XF_ERROR_OUT_OF_RANGE, info, xf_model_get_tensor(world.model, count, &info, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, info, xf_model_get_tensor(world.model, SIZE_MAX, &info, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, *values, xf_model_read_tensor(world.model, count, values, size, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, *values, xf_model_read_tensor(world.model, 1, values, size - 1, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, *values, xf_model_read_tensor(world.model, 1, values, size + 1, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, *values, xf_model_read_tensor(world.model, 1, values, 0, err));
    ACCEPTED(xf_model_read_tensor(world.model, 1, before, size, err));

    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_model_write_tensor(world.model, count, values, size, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_model_write_tensor(world.model, 1, values, size + 1, err));
    const float wrong[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; ++i) {
        values[size - 1] = wrong[i];
        REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_model_write_tensor(world.model, 1, values, size, err));
    }
    ACCEPTED(xf_model_read_tensor(world.model, 1, values, size, err));
    assert_memory_equal(values, before, size * sizeof *values);
    ACCEPTED(xf_model_write_tensor(world.model, 1, before, size, err));
}

/* 16-bit numbers: half the file size, and each number is rounded to nearest once. */
TEST(precision) {
    static const struct {
        const char *precision;
        double error;
    } formats[] = {{"fp32", 0}, {"fp16", 1.0 / 2048}, {"bf16", 1.0 / 256}};
    const char *path = scratch_path("narrow"), *again = scratch_path("narrow again"), *whole = scratch_path("whole");
    OWNED_CONFIG *c = small_config("cpu:ref");
    ACCEPTED(save_model(world.model, NULL, whole, err));
    ACCEPTED(save_model(world.model, NULL, path, err));
    assert_same_files(whole, path);
    size_t count = 0, whole_size = 0, size = 0;
    OWNED_MEMORY float *exact = all_params(world.model, &count);
    free(file_bytes(whole, &whole_size));
    for (int i = 0; i < 3; ++i) {
        set(c, "model.weights", formats[i].precision);
        ACCEPTED(save_model(world.model, c, path, err));
        free(file_bytes(path, &size));
        const size_t saved = i == 0 ? 0 : 2 * count, header = 1024; /* its places and types have other lengths */
        assert_true(size + saved < whole_size + header && whole_size < size + saved + header);
        MAKE(model, loaded, load_model(world.context, path, &loaded, err));
        OWNED_MEMORY float *rounded = all_params(loaded, &count);
        for (size_t k = 0; k < count; ++k)
            assert_true(fabs((double)rounded[k] - exact[k]) <= formats[i].error * fabs((double)exact[k]) + 3e-8);
        ACCEPTED(save_model(loaded, c, again, err));
        assert_same_files(path, again);
    }

    /* A value that rounds to a finite number is written; one that rounds to infinity could not be loaded again, and
     * the refused save leaves the old file. */
    MAKE(model, large, load_model(world.context, whole, &large, err));
    const size_t numbers = tensor_size(large, 0);
    OWNED_MEMORY float *values = calloc(numbers, sizeof *values);
    static const struct {
        const char *precision;
        float fits, last, beyond; /* fits becomes last */
    } ends[] = {{"fp16", 65519.99f, 65504, -65520},
                {"bf16", 3.3961774e38f, 3.3895314e38f, 3.3961776e38f},
                {"bf16", -3.3961774e38f, -3.3895314e38f, -FLT_MAX}};
    for (int i = 0; i < 3; ++i) {
        set(c, "model.weights", ends[i].precision);
        values[numbers / 2] = ends[i].fits;
        values[0] = 0x1p-26f; /* below half of fp16's smallest number */
        values[1] = -0x1.8p-24f;
        ACCEPTED(xf_model_write_tensor(large, 0, values, numbers, err));
        ACCEPTED(save_model(large, c, path, err));
        MAKE(model, loaded, load_model(world.context, path, &loaded, err));
        OWNED_MEMORY float *found = malloc(numbers * sizeof *found);
        ACCEPTED(xf_model_read_tensor(loaded, 0, found, numbers, err));
        assert_true(found[numbers / 2] == ends[i].last);
        assert_true(found[0] == (i == 0 ? 0 : 0x1p-26f) && found[1] == (i == 0 ? -0x1p-23f : -0x1.8p-24f));
        ACCEPTED(save_model(large, c, again, err));
        values[numbers / 2] = ends[i].beyond;
        ACCEPTED(xf_model_write_tensor(large, 0, values, numbers, err));
        REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, save_model(large, c, path, err));
        SAYS(get_tensor(large, 0).name);
        SAYS(ends[i].precision);
        assert_same_files(path, again);
    }
}

int main(void) { return RUN_TESTS(world_open, world_close); }
