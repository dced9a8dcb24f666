/*
 * Scenarios of fault injection: models, from and to files and memory. See injected.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "injected.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static xf_status act_create(struct bench *b, digest *d, xf_error *error) {
    OWNED(model) *model = NULL;
    TRY(xf_model_create(b->context, b->tokenizer, b->config, &model, error));
    add_model(d, model);
    return XF_OK;
}

static void add_metadata(digest *d, const xf_model *model, const char *key) {
    char value[128];
    size_t length = 0;
    ACCEPTED(xf_model_get_metadata(model, key, value, sizeof value, &length, err));
    add_bytes(d, value, length);
}

static xf_status load(struct bench *b, const char *path, digest *d, xf_error *error) {
    OWNED(model) *model = NULL;
    TRY(load_model(b->context, path, &model, error));
    add_model(d, model);
    add_metadata(d, model, "origin");
    add_number(d, vocab_size_of(xf_model_tokenizer(model)));
    return XF_OK;
}
static xf_status act_load(struct bench *b, digest *d, xf_error *error) { return load(b, MODEL_FILE, d, error); }
static xf_status act_load_narrow(struct bench *b, digest *d, xf_error *error) { return load(b, NARROW_FILE, d, error); }

static int32_t read_bytes(void *user, uint64_t offset, void *dst, size_t bytes) {
    const struct bench *b = user;
    memcpy(dst, b->model_bytes + offset, bytes);
    return 0;
}

static xf_status load_from(struct bench *b, xf_source source, digest *d, xf_error *error) {
    OWNED(model) *model = NULL;
    xf_model_summary summary = XF_MODEL_SUMMARY_INIT;
    TRY(xf_model_inspect(b->context, &source, b->config, &summary, error));
    add_bytes(d, &summary, sizeof summary);
    TRY(xf_model_load(b->context, &source, NULL, NULL, &model, error));
    add_model(d, model);
    return XF_OK;
}
static xf_status act_load_memory(struct bench *b, digest *d, xf_error *error) {
    xf_source source = XF_SOURCE_INIT;
    source.kind = XF_IO_MEMORY, source.data = b->model_bytes, source.size = b->model_size;
    return load_from(b, source, d, error);
}
static xf_status act_load_callback(struct bench *b, digest *d, xf_error *error) {
    xf_source source = XF_SOURCE_INIT;
    source.kind = XF_IO_CALLBACK, source.read = read_bytes, source.user = b, source.size = b->model_size;
    return load_from(b, source, d, error);
}
static xf_status act_load_descriptor(struct bench *b, digest *d, xf_error *error) {
    xf_source source = XF_SOURCE_INIT;
    source.kind = XF_IO_DESCRIPTOR;
    source.fd = open(MODEL_FILE, O_RDONLY | O_CLOEXEC);
    assert_true(source.fd >= 0);
    const xf_status status = load_from(b, source, d, error);
    close(source.fd);
    return status;
}

/* The old file stays, or the new one is there: add_file() of the same model sees both. */
static xf_status save(struct bench *b, const char *weights, digest *d, xf_error *error) {
    OWNED(config) *config = NULL;
    ACCEPTED(xf_config_create(&config, err));
    set(config, "model.weights", weights);
    TRY(save_model(b->model, config, SAVED_FILE, error));
    add_file(d, SAVED_FILE);
    return XF_OK;
}
static xf_status act_save(struct bench *b, digest *d, xf_error *error) { return save(b, "fp32", d, error); }
static xf_status act_save_int8(struct bench *b, digest *d, xf_error *error) { return save(b, "int8", d, error); }

static xf_status act_save_memory(struct bench *b, digest *d, xf_error *error) {
    static char bytes[1 << 17];
    size_t size = 0;
    TRY(save_model_memory(b->model, NULL, bytes, sizeof bytes, &size, error));
    add_bytes(d, bytes, size);
    return XF_OK;
}

/* Saves to a file that the host has opened. After an error the file is incomplete. */
static xf_status save_to_open_file(struct bench *b, xf_sink sink, int fd, digest *d, xf_error *error) {
    xf_status status;
    DO(status = xf_model_save(b->model, NULL, NULL, &sink, error));
    if (status >= 0) add_file(d, SAVED_FILE);
    close(fd);
    return status;
}

static int open_saved_file(void) {
    const int fd = open(SAVED_FILE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

static xf_status act_save_descriptor(struct bench *b, digest *d, xf_error *error) {
    xf_sink sink = XF_SINK_INIT;
    sink.kind = XF_IO_DESCRIPTOR;
    sink.fd = open_saved_file();
    return save_to_open_file(b, sink, sink.fd, d, error);
}

/* A callback of a host that stores bytes in a file: fails as the file does, for example on a full disk. */
struct host_file {
    int fd, error;
};
static int32_t write_bytes(void *user, uint64_t offset, const void *src, size_t bytes) {
    struct host_file *const file = user;
    for (size_t done = 0; done < bytes && file->error == 0;) {
        const ssize_t written = pwrite(file->fd, (const char *)src + done, bytes - done, (off_t)(offset + done));
        if (written > 0) done += (size_t)written;
        if (written == 0) file->error = EIO;
        if (written < 0 && errno != EINTR) file->error = errno;
    }
    return file->error;
}

static xf_status act_save_callback(struct bench *b, digest *d, xf_error *error) {
    struct host_file file = {open_saved_file(), 0};
    xf_sink sink = XF_SINK_INIT;
    sink.kind = XF_IO_CALLBACK, sink.write = write_bytes, sink.user = &file;
    const xf_status status = save_to_open_file(b, sink, file.fd, d, error);
    if (file.error == 0) return status;
    /* The message has the result of the callback, which is an errno in this host only. */
    char result[40];
    snprintf(result, sizeof result, "write callback returned %d ", file.error);
    assert_int_equal(status, XF_ERROR_IO);
    assert_non_null(strstr(error->message, result));
    error->native_code = file.error;
    return status;
}

static xf_status act_average(struct bench *b, digest *d, xf_error *error) {
    OWNED(model) *average = NULL, *copy = NULL;
    const char *const paths[] = {MODEL_FILE, CHECKPOINT_FILE};
    TRY(average_files(b->context, paths, 2, &average, error));
    TRY(xf_model_copy(b->model, b->ref, NULL, NULL, &copy, error));
    add_model(d, average), add_model(d, copy);
    return XF_OK;
}

/* User metadata of a model either changes completely or not at all; so does a tensor. */
static xf_status act_parts(struct bench *b, digest *d, xf_error *error) {
    static const char long_text[] = "a text that is longer than what fits into a short string";
    static float values[1 << 14];
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    TRY(xf_model_set_metadata(b->model, "a key that is longer than a short string", long_text, error));
    add_metadata(d, b->model, "a key that is longer than a short string");
    char key[64];
    size_t length = 0;
    ACCEPTED(xf_model_get_metadata_key(b->model, 0, key, sizeof key, &length, err));
    add_text(d, key);
    TRY(xf_model_set_metadata(b->model, "a key that is longer than a short string", NULL, error));
    for (size_t i = 0; i < xf_model_tensor_count(b->model); ++i) {
        TRY(xf_model_get_tensor(b->model, i, &info, error));
        const size_t count = number_count(&info);
        assert_true(count <= sizeof values / sizeof *values);
        TRY(xf_model_read_tensor(b->model, i, values, count, error));
        add_text(d, info.name);
        add_bytes(d, values, count * sizeof *values);
        TRY(xf_model_write_tensor(b->model, i, values, count, error));
    }
    add_number(d, xf_model_config(b->model) != NULL);
    return XF_OK;
}

const struct scenario model_scenarios[] = {
    {.name = "model_create", .everywhere = true, .act = act_create},
    {.name = "model_load", .everywhere = true, .act = act_load},
    {.name = "model_load_narrow", .act = act_load_narrow},
    {.name = "model_load_memory", .act = act_load_memory},
    {.name = "model_load_callback", .act = act_load_callback},
    {.name = "model_load_descriptor", .act = act_load_descriptor},
    {.name = "model_save", .everywhere = true, .saves = true, .act = act_save},
    {.name = "model_save_int8", .saves = true, .act = act_save_int8},
    {.name = "model_save_memory", .act = act_save_memory},
    {.name = "model_save_descriptor", .act = act_save_descriptor},
    {.name = "model_save_callback", .act = act_save_callback},
    {.name = "model_average", .everywhere = true, .act = act_average},
    {.name = "model_parts", .everywhere = true, .act = act_parts},
    {.name = NULL},
};
