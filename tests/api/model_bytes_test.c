/*
 * model.h: models from memory, descriptors and callbacks, and to memory; a host's texts; copies and averages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <fcntl.h>
#include <unistd.h>

struct bytes {
    const unsigned char *data;
    uint64_t size;
    int calls, fail_at; /* 0: never */
};

static int32_t give(void *user, uint64_t offset, void *dst, size_t count) {
    struct bytes *b = user;
    assert_true(offset <= b->size && count <= b->size - offset);
    if (++b->calls == b->fail_at) return -3;
    memcpy(dst, b->data + offset, count);
    return 0;
}

/* The model as it stands in memory; to be freed. */
static unsigned char *bytes_of(const xf_model *model, size_t *size) {
    assert_int_equal(xf_model_save_memory(model, NULL, NULL, 0, size, NULL), XF_ERROR_BUFFER_TOO_SMALL);
    unsigned char *data = malloc(*size);
    ACCEPTED(xf_model_save_memory(model, NULL, data, *size, size, err));
    return data;
}

static void assert_same_models(const xf_model *a, const xf_model *b) {
    size_t sizes[2];
    unsigned char *bytes[2] = {bytes_of(a, &sizes[0]), bytes_of(b, &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
}

static void test_save_memory(void **state) {
    (void)state;
    const char *path = scratch_path("model");
    size_t size = 0, file_size = 0;
    REFUSED_HANDLE(MODEL, size, xf_model_save_memory(handle, NULL, NULL, 0, &size, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, size, xf_model_save_memory(world.model, NULL, NULL, 5, &size, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_model_save_memory(world.model, NULL, NULL, 0, NULL, err));
    ACCEPTED(xf_model_save(world.model, NULL, path, err));
    unsigned char *file = file_bytes(path, &file_size), *data = bytes_of(world.model, &size);
    assert_int_equal(size, file_size);
    assert_memory_equal(data, file, size);

    memset(data, 0x5A, size);
    size_t needed = 0;
    assert_int_equal(xf_model_save_memory(world.model, NULL, data, size - 1, &needed, NULL), XF_ERROR_BUFFER_TOO_SMALL);
    assert_int_equal(needed, size);
    for (size_t i = 0; i < size; ++i) assert_int_equal(data[i], 0x5A);

    xf_config *c = small_config("cpu:ref");
    set(c, "file.precision", "bf16");
    ACCEPTED(xf_model_save_memory(world.model, c, data, size, &needed, err));
    ACCEPTED(xf_model_save(world.model, c, path, err));
    free(file);
    file = file_bytes(path, &file_size);
    assert_int_equal(needed, file_size);
    assert_memory_equal(data, file, needed);
    xf_config_free(c);
    free(file);
    free(data);
}

static void test_load_from(void **state) {
    (void)state;
    const char *path = scratch_path("model");
    ACCEPTED(xf_model_save(world.model, NULL, path, err));
    size_t size = 0;
    unsigned char *data = file_bytes(path, &size);
    struct bytes bytes = {data, size, 0, 0};
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(lseek(fd, 5, SEEK_SET), 5);

    xf_source sources[4] = {XF_SOURCE_INIT, XF_SOURCE_INIT, XF_SOURCE_INIT, XF_SOURCE_INIT};
    sources[0].path = path;
    sources[1].data = data;
    sources[1].size = size;
    sources[2].read = give;
    sources[2].read_user = &bytes;
    sources[2].size = size;
    sources[3].fd = fd;
    xf_model *out = NULL;
    for (int i = 0; i < 4; ++i) {
        ACCEPTED(xf_model_load_from(world.context, &sources[i], &out, err));
        assert_same_models(out, world.model);
        xf_model_free(out);
    }
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 5); /* the position of a host's descriptor is the host's */
    assert_true(bytes.calls > 2);

    out = SENTINEL;
    REFUSED_HANDLE(CONTEXT, out, xf_model_load_from(handle, &sources[1], &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_load_from(world.context, NULL, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_model_load_from(world.context, &sources[1], NULL, err));
    xf_source wrong = XF_SOURCE_INIT;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_load_from(world.context, &wrong, &out, err)); /* nothing */
    wrong = sources[1];
    wrong.path = path; /* two */
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_load_from(world.context, &wrong, &out, err));
    wrong = sources[1];
    wrong.struct_size = 8;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_load_from(world.context, &wrong, &out, err));
    wrong = sources[1];
    wrong.reserved = 1;
    REFUSED(XF_ERROR_UNSUPPORTED, out, xf_model_load_from(world.context, &wrong, &out, err));
    wrong = sources[3];
    wrong.fd = 1 << 20;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_load_from(world.context, &wrong, &out, err));
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    wrong.fd = ends[0];
    REFUSED(XF_ERROR_IO, out, xf_model_load_from(world.context, &wrong, &out, err));
    close(ends[0]);
    close(ends[1]);

    /* Damage, a short end and an error are found in all of them alike. */
    for (int n = 1; n <= 3; ++n) {
        bytes.calls = 0;
        bytes.fail_at = n;
        assert_int_equal(xf_model_load_from(world.context, &sources[2], &out, NULL), XF_ERROR_IO);
    }
    bytes.fail_at = 0;
    for (int i = 1; i <= 2; ++i) {
        data[size - 20] ^= 1;
        REFUSED(XF_ERROR_CORRUPT, out, xf_model_load_from(world.context, &sources[i], &out, err));
        data[size - 20] ^= 1;
        for (uint64_t less = 1; less <= size; less = 2 * less + 1) {
            wrong = sources[i];
            wrong.size = bytes.size = size - less;
            assert_int_equal(xf_model_load_from(world.context, &wrong, &out, NULL), XF_ERROR_CORRUPT);
        }
        bytes.size = size;
    }
    close(fd);
    free(data);
}

static void test_metadata(void **state) {
    (void)state;
    xf_model *model = NULL, *loaded = NULL, *copy = NULL;
    ACCEPTED(xf_model_copy(world.model, NULL, &model, err));
    REFUSED_HANDLE(MODEL, nothing, xf_model_set_metadata(handle, "a", "b", err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_model_set_metadata(model, NULL, "b", err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_model_set_metadata(model, "", "b", err));
    REFUSED(XF_ERROR_DATA, nothing, xf_model_set_metadata(model, "a\xFF", "b", err));
    REFUSED(XF_ERROR_DATA, nothing, xf_model_set_metadata(model, "a", "\xC3", err));
    char key[258], *large = malloc((1 << 20) + 2);
    memset(key, 'k', sizeof key);
    key[257] = 0;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_model_set_metadata(model, key, "b", err));
    key[256] = 0;
    ACCEPTED(xf_model_set_metadata(model, key, "longest", err));
    memset(large, 'v', (1 << 20) + 1);
    large[(1 << 20) + 1] = 0;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_model_set_metadata(model, "large", large, err));
    large[1 << 20] = 0;
    ACCEPTED(xf_model_set_metadata(model, "large", large, err));
    /* A host's keys never meet the library's. */
    static const char *const texts[][2] = {{"format", "of mine"},  {"model.d_model", "many"}, {"sha256", "none"},
                                           {"languages", "en de"}, {"user.step", "\xC3\xA4"}, {"empty", ""}};
    for (int i = 0; i < 6; ++i) ACCEPTED(xf_model_set_metadata(model, texts[i][0], texts[i][1], err));
    ACCEPTED(xf_model_set_metadata(model, "gone", "x", err));
    ACCEPTED(xf_model_set_metadata(model, "gone", NULL, err));
    ACCEPTED(xf_model_set_metadata(model, "gone", NULL, err));

    /* Kept in a file, in a checkpoint of a trainer, in a copy, in an average. */
    const char *path = scratch_path("told"), *saved = scratch_path("told checkpoint");
    const char *const both[] = {path, saved};
    ACCEPTED(xf_model_save(model, NULL, path, err));
    xf_trainer *trainer = NULL, *resumed = NULL;
    ACCEPTED(xf_trainer_create(model, NULL, &trainer, err));
    ACCEPTED(xf_trainer_save(trainer, NULL, saved, err));
    xf_trainer_free(trainer);
    for (int i = 0; i < 4; ++i) {
        if (i < 2) ACCEPTED(xf_model_load(world.context, both[i], &loaded, err));
        if (i == 2) ACCEPTED(xf_model_copy(model, NULL, &loaded, err));
        if (i == 3) ACCEPTED(xf_model_average_files(world.context, both, 2, &loaded, err));
        for (int k = 0; k < 6; ++k) assert_string_equal(xf_model_metadata(loaded, texts[k][0]), texts[k][1]);
        assert_string_equal(xf_model_metadata(loaded, "large"), large);
        assert_null(xf_model_metadata(loaded, "gone"));
        assert_string_equal(xf_model_metadata_key(loaded, 0), "empty"); /* in the order of bytes */
        assert_string_equal(xf_model_metadata_key(loaded, 1), "format");
        assert_string_equal(xf_model_metadata_key(loaded, 7), "user.step");
        assert_null(xf_model_metadata_key(loaded, 8));
        assert_null(xf_model_metadata_key(loaded, SIZE_MAX));
        assert_same_models(loaded, model);
        xf_model_free(loaded);
    }
    ACCEPTED(xf_trainer_resume(world.context, saved, NULL, &resumed, err));
    assert_string_equal(xf_model_metadata(xf_trainer_model(resumed), "languages"), "en de");
    xf_trainer_free(resumed);

    /* 16 MiB in all, 1,000 keys. */
    char name[32];
    enum xf_status full = XF_OK;
    int kept = 0;
    for (; full == XF_OK && kept < 100; ++kept) {
        snprintf(name, sizeof name, "large %d", kept);
        full = xf_model_set_metadata(model, name, large, NULL);
    }
    assert_int_equal(full, XF_ERROR_LIMIT);
    assert_int_equal(kept, 15);
    assert_null(xf_model_metadata(model, name));
    ACCEPTED(xf_model_copy(world.model, NULL, &copy, err));
    for (int i = 0; i < 1000; ++i) {
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(xf_model_set_metadata(copy, name, "v", NULL), XF_OK);
    }
    REFUSED(XF_ERROR_LIMIT, nothing, xf_model_set_metadata(copy, "one more", "v", err));
    ACCEPTED(xf_model_set_metadata(copy, "0", "another", err));
    assert_string_equal(xf_model_metadata(copy, "0"), "another");
    xf_model_free(copy);
    xf_model_free(model);
    free(large);
    for (int i = 0; i < WRONG_HANDLES; ++i) {
        if (i == MODEL) continue;
        assert_null(xf_model_metadata(wrong_handle(i), "a"));
        assert_null(xf_model_metadata_key(wrong_handle(i), 0));
    }
    assert_null(xf_model_metadata(world.model, NULL));
}

static void test_copy_and_average(void **state) {
    (void)state;
    xf_model *out = SENTINEL;
    REFUSED_HANDLE(MODEL, out, xf_model_copy(handle, NULL, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_model_copy(world.model, NULL, NULL, err));
    for (int i = 0; i < WRONG_HANDLES; ++i)
        if (i != CONTEXT && wrong_handle(i) != NULL)
            REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_copy(world.model, wrong_handle(i), &out, err));

    /* A copy is its own, in a context of its own. */
    xf_context *other = context_on("cpu:ref");
    xf_model *copy = NULL;
    ACCEPTED(xf_model_copy(world.model, other, &copy, err));
    xf_context_free(other);
    assert_same_models(copy, world.model);
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    ACCEPTED(xf_model_get_tensor(copy, 0, &info, err));
    const size_t count = (size_t)(info.rows * info.columns);
    float *before = malloc(count * sizeof *before), *values = malloc(count * sizeof *values);
    ACCEPTED(xf_model_read_tensor(world.model, 0, before, count, err));
    for (size_t i = 0; i < count; ++i) values[i] = before[i] + 3;
    ACCEPTED(xf_model_write_tensor(copy, 0, values, count, err));
    ACCEPTED(xf_model_read_tensor(world.model, 0, values, count, err));
    assert_memory_equal(values, before, count * sizeof *values);

    /* The mean of models in memory is that of their files, to the bit. */
    const xf_model *models[] = {world.model, copy, copy}, *with_null[] = {world.model, NULL};
    const char *paths[] = {scratch_path("one"), scratch_path("two"), scratch_path("two")};
    ACCEPTED(xf_model_save(world.model, NULL, paths[0], err));
    ACCEPTED(xf_model_save(copy, NULL, paths[1], err));
    xf_model *of_models = NULL, *of_files = NULL;
    ACCEPTED(xf_model_average(models, 3, &of_models, err));
    ACCEPTED(xf_model_average_files(world.context, paths, 3, &of_files, err));
    assert_same_models(of_models, of_files);
    ACCEPTED(xf_model_read_tensor(of_models, 0, values, count, err));
    for (size_t i = 0; i < count; ++i) assert_float_equal(values[i], before[i] + 2, 1e-5);
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_average(NULL, 2, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_average(models, 0, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_average(models, SIZE_MAX, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_average_files(world.context, paths, SIZE_MAX, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_model_average(models, 2, NULL, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_average(with_null, 2, &out, err));

    /* Of one configuration and one tokenizer alone. */
    xf_config *c = small_config("cpu:ref");
    set(c, "model.d_ff", "40");
    xf_model *unlike = NULL;
    ACCEPTED(xf_model_create(world.context, c, world.tokenizer, &unlike, err));
    models[1] = unlike;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_average(models, 2, &out, err));
    xf_model_free(unlike);
    xf_config_free(c);
    ACCEPTED(xf_model_create(world.context, xf_model_config(world.model), NULL, &unlike, err));
    models[1] = unlike;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_average(models, 2, &out, err));
    xf_model_free(unlike);
    xf_model_free(of_models);
    xf_model_free(of_files);
    xf_model_free(copy);
    free(before);
    free(values);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_save_memory), cmocka_unit_test(test_load_from),
                                       cmocka_unit_test(test_metadata), cmocka_unit_test(test_copy_and_average)};
    return RUN(tests, world_open, world_close);
}
