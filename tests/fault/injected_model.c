/*
 * Scenarios of fault injection: models, from and to files and memory. See injected.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "injected.h"

#include <fcntl.h>
#include <unistd.h>

static enum xf_status act_create(struct bench *b, digest *d, xf_error *error) {
    enum xf_status status;
    xf_model *model = NULL;
    TRY(xf_model_create(b->context, b->config, b->tokenizer, &model, error));
    add_model(d, model);
done:
    DO(xf_model_free(model));
    return status;
}

static enum xf_status load(struct bench *b, const char *path, digest *d, xf_error *error) {
    enum xf_status status;
    xf_model *model = NULL;
    TRY(xf_model_load(b->context, path, &model, error));
    add_model(d, model);
    add_text(d, xf_model_metadata(model, "origin"));
    add_number(d, xf_tokenizer_vocab_size(xf_model_tokenizer(model)));
done:
    DO(xf_model_free(model));
    return status;
}
static enum xf_status act_load(struct bench *b, digest *d, xf_error *error) { return load(b, MODEL_FILE, d, error); }
static enum xf_status act_load_narrow(struct bench *b, digest *d, xf_error *error) {
    return load(b, NARROW_FILE, d, error);
}

static int32_t read_bytes(void *user, uint64_t offset, void *dst, size_t bytes) {
    const struct bench *b = user;
    memcpy(dst, b->model_bytes + offset, bytes);
    return 0;
}

static enum xf_status load_from(struct bench *b, xf_source source, digest *d, xf_error *error) {
    enum xf_status status;
    xf_model *model = NULL;
    xf_model_summary summary = XF_MODEL_SUMMARY_INIT;
    TRY(xf_model_inspect(b->context, b->config, &source, &summary, error));
    add_bytes(d, &summary, sizeof summary);
    TRY(xf_model_load_from(b->context, &source, &model, error));
    add_model(d, model);
done:
    DO(xf_model_free(model));
    return status;
}
static enum xf_status act_load_memory(struct bench *b, digest *d, xf_error *error) {
    xf_source source = XF_SOURCE_INIT;
    source.data = b->model_bytes, source.size = b->model_size;
    return load_from(b, source, d, error);
}
static enum xf_status act_load_callback(struct bench *b, digest *d, xf_error *error) {
    xf_source source = XF_SOURCE_INIT;
    source.read = read_bytes, source.read_user = b, source.size = b->model_size;
    return load_from(b, source, d, error);
}
static enum xf_status act_load_descriptor(struct bench *b, digest *d, xf_error *error) {
    xf_source source = XF_SOURCE_INIT;
    source.fd = open(MODEL_FILE, O_RDONLY | O_CLOEXEC);
    assert_true(source.fd >= 0);
    const enum xf_status status = load_from(b, source, d, error);
    close(source.fd);
    return status;
}

/* The old file stays, or the new one is there: add_file() of the same model sees both. */
static enum xf_status save(struct bench *b, const char *precision, digest *d, xf_error *error) {
    enum xf_status status;
    xf_config *config = NULL;
    ACCEPTED(xf_config_create(&config, err));
    set(config, "file.precision", precision);
    TRY(xf_model_save(b->model, config, SAVED_FILE, error));
    add_file(d, SAVED_FILE);
done:
    check_old_file(status, error);
    xf_config_free(config);
    return status;
}
static enum xf_status act_save(struct bench *b, digest *d, xf_error *error) { return save(b, "fp32", d, error); }
static enum xf_status act_save_int8(struct bench *b, digest *d, xf_error *error) { return save(b, "int8", d, error); }

static enum xf_status act_save_memory(struct bench *b, digest *d, xf_error *error) {
    enum xf_status status;
    static char bytes[1 << 17];
    size_t size = 0;
    TRY(xf_model_save_memory(b->model, NULL, bytes, sizeof bytes, &size, error));
    add_bytes(d, bytes, size);
done:
    return status;
}

static enum xf_status act_average(struct bench *b, digest *d, xf_error *error) {
    enum xf_status status;
    xf_model *average = NULL, *of_files = NULL, *copy = NULL;
    const xf_model *const models[] = {b->model, b->model};
    const char *const paths[] = {MODEL_FILE, CHECKPOINT_FILE};
    TRY(xf_model_average(models, 2, &average, error));
    TRY(xf_model_average_files(b->context, paths, 2, &of_files, error));
    TRY(xf_model_copy(b->model, b->ref, &copy, error));
    add_model(d, average), add_model(d, of_files), add_model(d, copy);
done:
    DO(xf_model_free(average));
    DO(xf_model_free(of_files));
    DO(xf_model_free(copy));
    return status;
}

/* What is kept with a model changes or stays; so does a tensor. */
static enum xf_status act_parts(struct bench *b, digest *d, xf_error *error) {
    enum xf_status status;
    static const char long_text[] = "a text that is longer than what fits into a short string";
    static float values[1 << 14];
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    TRY(xf_model_set_metadata(b->model, "a key that is longer than a short string", long_text, error));
    add_text(d, xf_model_metadata(b->model, "a key that is longer than a short string"));
    add_text(d, xf_model_metadata_key(b->model, 0));
    TRY(xf_model_set_metadata(b->model, "a key that is longer than a short string", NULL, error));
    for (size_t i = 0; i < xf_model_tensor_count(b->model); ++i) {
        TRY(xf_model_get_tensor(b->model, i, &info, error));
        const size_t count = (size_t)(info.rows * info.columns);
        assert_true(count <= sizeof values / sizeof *values);
        TRY(xf_model_read_tensor(b->model, i, values, count, error));
        add_text(d, info.name);
        add_bytes(d, values, count * sizeof *values);
        TRY(xf_model_write_tensor(b->model, i, values, count, error));
    }
    add_number(d, xf_model_config(b->model) != NULL);
done:
    return status;
}

const struct scenario model_scenarios[] = {
    {.name = "model_create", .everywhere = true, .act = act_create},
    {.name = "model_load", .everywhere = true, .act = act_load},
    {.name = "model_load_narrow", .act = act_load_narrow},
    {.name = "model_load_memory", .act = act_load_memory},
    {.name = "model_load_callback", .act = act_load_callback},
    {.name = "model_load_descriptor", .act = act_load_descriptor},
    {.name = "model_save", .everywhere = true, .reset = put_old_file, .act = act_save},
    {.name = "model_save_int8", .reset = put_old_file, .act = act_save_int8},
    {.name = "model_save_memory", .act = act_save_memory},
    {.name = "model_average", .everywhere = true, .act = act_average},
    {.name = "model_parts", .everywhere = true, .act = act_parts},
    {.name = NULL},
};
