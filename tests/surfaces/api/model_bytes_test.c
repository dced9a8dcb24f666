/*
 * io.h: models, tokenizers, and checkpoints from and to paths, memory, descriptors, and callbacks. model.h: a host's
 * texts; copies and averages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "../../support/descriptor.h"
#include "support.h"

#include <fcntl.h>
#include <unistd.h>

struct bytes {
    unsigned char *data;
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

/* Stores the bytes, and which of them were written. */
struct store {
    unsigned char data[1 << 20], written[1 << 20];
    int calls, fail_at;
};
static struct store store;

static int32_t take(void *user, uint64_t offset, const void *src, size_t count) {
    struct store *s = user;
    assert_true(count >= 1 && offset + count <= sizeof s->data);
    if (++s->calls == s->fail_at) return -3;
    memcpy(s->data + offset, src, count);
    memset(s->written + offset, 1, count);
    return 0;
}

/* Saves the model to memory; the caller frees it. */
static unsigned char *bytes_of(const xf_model *model, size_t *size) {
    assert_int_equal(save_model_memory(model, NULL, NULL, 0, size, NULL), XF_ERROR_BUFFER_TOO_SMALL);
    unsigned char *data = malloc(*size);
    ACCEPTED(save_model_memory(model, NULL, data, *size, size, err));
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

/* The three kinds of files. */
enum what { A_MODEL, A_TOKENIZER, A_CHECKPOINT, FILES };
static const char *const names[FILES] = {"model", "tokenizer", "checkpoint"};

static xf_status save_to(enum what what, const xf_sink *sink, xf_error *err) {
    switch (what) {
        case A_MODEL:
            return xf_model_save(world.model, NULL, NULL, sink, err);
        case A_TOKENIZER:
            return xf_tokenizer_save(world.tokenizer, NULL, sink, err);
        default:
            return xf_trainer_save(world.trainer, world.batcher, NULL, sink, err);
    }
}

/* Loads the file and, if that succeeds, checks that it saves the same bytes. *out is set to a handle, then freed. */
static xf_status load_from(enum what what, xf_context *context, const xf_source *source, void **out, xf_error *err) {
    xf_model *model = *out;
    xf_tokenizer *tokenizer = *out;
    xf_trainer *trainer = *out;
    xf_status status;
    if (what == A_MODEL) {
        status = xf_model_load(context, source, NULL, NULL, &model, err);
        if (status == XF_OK) assert_same_models(model, world.model);
        if (status == XF_OK) xf_model_free(model);
        if (status != XF_OK) *out = model;
    } else if (what == A_TOKENIZER) {
        status = xf_tokenizer_load(context, source, NULL, &tokenizer, err);
        if (status == XF_OK) assert_int_equal(vocab_size_of(tokenizer), vocab_size_of(world.tokenizer));
        if (status == XF_OK) xf_tokenizer_free(tokenizer);
        if (status != XF_OK) *out = tokenizer;
    } else {
        status = xf_trainer_resume(context, source, NULL, NULL, &trainer, err);
        if (status == XF_OK) assert_same_models(xf_trainer_model(trainer), world.model);
        if (status == XF_OK) xf_trainer_free(trainer);
        if (status != XF_OK) *out = trainer;
    }
    return status;
}

/* The bytes of the file, written to a path. */
static unsigned char *expected_bytes(enum what what, size_t *size) {
    uint64_t told = 0;
    xf_sink sink = XF_SINK_PATH(scratch_path(names[what]));
    sink.size = &told;
    ACCEPTED(save_to(what, &sink, err));
    unsigned char *data = file_bytes(scratch_path(names[what]), size);
    assert_int_equal(told, *size);
    return data;
}

TEST(sinks) {
    for (enum what what = A_MODEL; what < FILES; ++what) {
        size_t size = 0;
        OWNED_MEMORY unsigned char *expected = expected_bytes(what, &size), *data = malloc(size + 8);
        uint64_t told = 77;
        xf_sink sink = XF_SINK_INIT;
        sink.size = &told;

        /* No kind, or one that does not exist; nothing is written, to standard output neither. */
        REFUSED(XF_ERROR_INVALID_ARGUMENT, told, save_to(what, &sink, err));
        static const int32_t kinds[] = {-1, 5, INT32_MAX};
        for (int i = 0; i < 3; ++i) {
            sink.kind = kinds[i];
            REFUSED(XF_ERROR_INVALID_ARGUMENT, told, save_to(what, &sink, err));
        }
        sink.kind = XF_IO_PATH;
        REFUSED(XF_ERROR_INVALID_ARGUMENT, told, save_to(what, &sink, err));
        sink.kind = XF_IO_CALLBACK;
        REFUSED(XF_ERROR_INVALID_ARGUMENT, told, save_to(what, &sink, err));
        sink.kind = XF_IO_MEMORY;
        sink.capacity = 5;
        REFUSED(XF_ERROR_INVALID_ARGUMENT, told, save_to(what, &sink, err)); /* data is NULL */

        /* Memory: too small sets only *size. */
        static const size_t less[] = {0, 1, 8};
        memset(data, 0x5A, size + 8);
        sink.data = data;
        for (int i = 0; i < 3; ++i) {
            sink.capacity = i == 0 ? 0 : size - less[i];
            told = 77;
            assert_int_equal(save_to(what, &sink, NULL), XF_ERROR_BUFFER_TOO_SMALL);
            assert_int_equal(told, size);
            for (size_t k = 0; k < size + 8; ++k) assert_int_equal(data[k], 0x5A);
        }
        sink.data = NULL;
        sink.capacity = 0;
        assert_int_equal(save_to(what, &sink, NULL), XF_ERROR_BUFFER_TOO_SMALL);
        assert_int_equal(told, size);
        sink.data = data;
        sink.capacity = size;
        ACCEPTED(save_to(what, &sink, err));
        assert_int_equal(told, size);
        assert_memory_equal(data, expected, size);
        assert_int_equal(data[size], 0x5A);
        sink.size = NULL; /* the size is not asked for */
        ACCEPTED(save_to(what, &sink, err));

        /* A callback: every byte, and the first error ends it. */
        sink = (xf_sink)XF_SINK_INIT;
        sink.kind = XF_IO_CALLBACK;
        sink.write = take;
        sink.user = &store;
        sink.size = &told;
        memset(&store, 0, sizeof store);
        told = 77;
        ACCEPTED(save_to(what, &sink, err));
        assert_int_equal(told, size);
        assert_memory_equal(store.data, expected, size);
        for (size_t i = 0; i < sizeof store.written; ++i) assert_int_equal(store.written[i], i < size);
        const int calls = store.calls;
        for (int n = 1; n <= calls; n += calls > 20 ? 7 : 1) {
            store.calls = 0;
            store.fail_at = n;
            assert_int_equal(save_to(what, &sink, NULL), XF_ERROR_IO);
            assert_int_equal(store.calls, n);
        }

        /* A descriptor: truncated, written from offset 0; its position stays. */
        const char *path = scratch_path("by descriptor");
        const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, (off_t)size + 1000), 0);
        assert_int_equal(lseek(fd, 7, SEEK_SET), 7);
        sink = (xf_sink)XF_SINK_INIT;
        sink.kind = XF_IO_DESCRIPTOR;
        sink.fd = descriptor_of(fd);
        sink.size = &told;
        told = 77;
        ACCEPTED(save_to(what, &sink, err));
        assert_int_equal(told, size);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 7);
        assert_same_files(path, scratch_path(names[what]));
        close(fd);
        REFUSED(XF_ERROR_INVALID_ARGUMENT, told, save_to(what, &sink, err)); /* closed */
#if defined(O_APPEND) && !defined(_WIN32)
        const int appends = open(path, O_WRONLY | O_APPEND); /* would write the head of the file at its end */
        sink.fd = descriptor_of(appends);
        REFUSED(XF_ERROR_INVALID_ARGUMENT, told, save_to(what, &sink, err));
        close(appends);
        assert_same_files(path, scratch_path(names[what]));
#endif
        sink.fd = -1;
        REFUSED(XF_ERROR_INVALID_ARGUMENT, told, save_to(what, &sink, err));
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        sink.fd = descriptor_of(ends[1]);
        told = 77;
        xf_error why;
        assert_int_equal(save_to(what, &sink, &why), XF_ERROR_IO);
        close(ends[0]);
        close(ends[1]);

        /* Another version of the struct. */
        struct {
            xf_sink known;
            void *tail;
        } later = {XF_SINK_PATH(path), &later};
        later.known.struct_size = sizeof later;
        REFUSED(XF_ERROR_UNSUPPORTED, told, save_to(what, &later.known, err));
        later.tail = NULL;
        ACCEPTED(save_to(what, &later.known, err));
        static const size_t sizes[] = {0, sizeof later.known - 1, SIZE_MAX};
        for (int i = 0; i < 3; ++i) {
            later.known.struct_size = sizes[i];
            REFUSED(XF_ERROR_INVALID_ARGUMENT, told, save_to(what, &later.known, err));
        }
    }
    size_t size = 0;
    unsigned char *data = bytes_of(world.model, &size);
    size_t needed = 0, file_size = 0;
    OWNED_CONFIG *c = config_with("cpu:ref", "model.weights=bf16");
    ACCEPTED(save_model_memory(world.model, c, data, size, &needed, err));
    ACCEPTED(save_model(world.model, c, scratch_path("bf16"), err));
    OWNED_MEMORY unsigned char *file = file_bytes(scratch_path("bf16"), &file_size);
    assert_int_equal(needed, file_size);
    assert_memory_equal(data, file, needed);
    free(data);
}

static void refused_source(enum what what, const xf_source *source) {
    void *out = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, load_from(what, world.context, source, &out, err));
}

TEST(sources) {
    for (enum what what = A_MODEL; what < FILES; ++what) {
        const char *path = scratch_path(names[what]);
        size_t size = 0;
        OWNED_MEMORY unsigned char *data = expected_bytes(what, &size);
        struct bytes bytes = {data, size, 0, 0};
        const int fd = open(path, O_RDONLY);
        assert_true(fd >= 0);
        assert_int_equal(lseek(fd, 5, SEEK_SET), 5);
        xf_source sources[4] = {XF_SOURCE_PATH(path), XF_SOURCE_INIT, XF_SOURCE_INIT, XF_SOURCE_INIT};
        sources[1] = source_memory(data, size);
        sources[2].kind = XF_IO_CALLBACK;
        sources[2].read = give;
        sources[2].user = &bytes;
        sources[2].size = size;
        sources[3].kind = XF_IO_DESCRIPTOR;
        sources[3].fd = descriptor_of(fd);
        void *out = NULL;
        for (int i = 0; i < 4; ++i) {
            ACCEPTED(load_from(what, world.context, &sources[i], &out, err));
            /* Members of other kinds are not used. */
            xf_source more = sources[i];
            if (i != 0) more.path = "/nowhere/at/all";
            if (i != 1) more.data = "";
            if (i == 0 || i == 3) more.size = 3;
            if (i != 2) more.read = NULL;
            if (i != 3) more.fd = -7;
            ACCEPTED(load_from(what, world.context, &more, &out, err));
        }
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 5); /* the position of a host's descriptor is the host's */
        assert_true(bytes.calls >= 2);

        out = SENTINEL;
        /* No kind: an error, even if descriptor 0, standard input, is a valid file. */
        const int input = dup(0);
        assert_int_equal(dup2(fd, 0), 0);
        const xf_source none = XF_SOURCE_INIT;
        REFUSED(XF_ERROR_INVALID_ARGUMENT, out, load_from(what, world.context, &none, &out, err));
        if (input >= 0) dup2(input, 0);
        if (input >= 0) close(input);
        static const int32_t kinds[] = {-1, 5, INT32_MAX};
        for (int i = 0; i < 3; ++i)
            CHANGED(xf_source, wrong, sources[1], kind = kinds[i], refused_source(what, &wrong));
        CHANGED(xf_source, wrong, sources[0], path = NULL, refused_source(what, &wrong));
        CHANGED(xf_source, wrong, sources[1], data = NULL, refused_source(what, &wrong));
        CHANGED(xf_source, wrong, sources[2], read = NULL, refused_source(what, &wrong));
        static const size_t sizes[] = {0, 8, sizeof none - 1, SIZE_MAX};
        for (int i = 0; i < 4; ++i)
            CHANGED(xf_source, wrong, sources[1], struct_size = sizes[i], refused_source(what, &wrong));
        struct {
            xf_source known;
            void *tail;
        } later = {sources[1], &later};
        later.known.struct_size = sizeof later;
        REFUSED(XF_ERROR_UNSUPPORTED, out, load_from(what, world.context, &later.known, &out, err));
        CHANGED(xf_source, wrong, sources[3], fd = 1 << 20, refused_source(what, &wrong));
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        xf_source wrong = sources[3];
        wrong.fd = descriptor_of(ends[0]);
        REFUSED(XF_ERROR_IO, out, load_from(what, world.context, &wrong, &out, err));
        close(ends[0]);
        close(ends[1]);

        /* Damage, a short end, and an error are found in all of them alike. */
        const int calls = bytes.calls / 2;
        for (int n = 1; n <= 3 && n <= calls; ++n) {
            bytes.calls = 0;
            bytes.fail_at = n;
            assert_int_equal(load_from(what, world.context, &sources[2], &out, NULL), XF_ERROR_IO);
        }
        bytes.fail_at = 0;
        for (int i = 1; i <= 2; ++i) {
            if (what != A_TOKENIZER) { /* a tokenizer has no checksum */
                data[size - 20] ^= 1;
                REFUSED(XF_ERROR_CORRUPT, out, load_from(what, world.context, &sources[i], &out, err));
                data[size - 20] ^= 1;
            }
            for (uint64_t less = 2; less <= size; less = 2 * less + 1) {
                wrong = sources[i];
                wrong.size = bytes.size = size - less;
                assert_int_equal(load_from(what, world.context, &wrong, &out, NULL), XF_ERROR_CORRUPT);
            }
            bytes.size = size;
        }
        assert_ptr_equal(out, SENTINEL);
        close(fd);
    }
}

/* The text under a key; "(none)" if there is none. */
static const char *metadata(const xf_model *model, const char *key) {
    static char *value;
    size_t length = 0;
    free(value);
    value = malloc((1 << 20) + 1);
    const xf_status status = xf_model_get_metadata(model, key, value, (1 << 20) + 1, &length, NULL);
    if (status != XF_OK) {
        assert_int_equal(status, XF_ERROR_NOT_FOUND);
        return strcpy(value, "(none)");
    }
    assert_int_equal(strlen(value), length);
    return value;
}

static const char *metadata_key(const xf_model *model, size_t index) {
    static char key[257];
    size_t length = 0;
    const xf_status status = xf_model_get_metadata_key(model, index, key, sizeof key, &length, NULL);
    if (status == XF_DONE) return "(none)";
    assert_int_equal(status, XF_OK);
    assert_int_equal(strlen(key), length);
    return key;
}

/* Buffers of every size: too small writes only the length. */
TEST(copied_metadata) {
    OWNED_MODEL *model = NULL;
    ACCEPTED(xf_model_copy(world.model, NULL, NULL, NULL, &model, err));
    ACCEPTED(xf_model_set_metadata(model, "a key", "a value", err));
    char text[16];
    size_t length = 99;
    memset(text, 0x5A, sizeof text);
    for (size_t capacity = 0; capacity <= 7; ++capacity) {
        length = 99;
        REFUSED(XF_ERROR_BUFFER_TOO_SMALL, text,
                xf_model_get_metadata(model, "a key", capacity ? text : NULL, capacity, &length, err));
        assert_int_equal(length, 7);
        if (capacity > 5) continue;
        length = 99;
        REFUSED(XF_ERROR_BUFFER_TOO_SMALL, text,
                xf_model_get_metadata_key(model, 0, capacity ? text : NULL, capacity, &length, err));
        assert_int_equal(length, 5);
    }
    ACCEPTED(xf_model_get_metadata(model, "a key", text, 8, &length, err));
    assert_string_equal(text, "a value");
    assert_int_equal(text[8], 0x5A);
    assert_int_equal(length, 7);
    ACCEPTED(xf_model_get_metadata_key(model, 0, text, 6, &length, err));
    assert_string_equal(text, "a key");
    assert_int_equal(length, 5);

    memset(text, 0x5A, sizeof text);
    length = 99;
    REFUSED(XF_ERROR_NOT_FOUND, length, xf_model_get_metadata(model, "another", text, sizeof text, &length, err));
    for (size_t index = 1; index != 0; index = index == 1 ? SIZE_MAX : 0) {
        assert_int_equal(xf_model_get_metadata_key(model, index, text, sizeof text, &length, NULL), XF_DONE);
        assert_int_equal(length, 99); /* nothing was written */
        assert_int_equal(text[0], 0x5A);
    }
}

TEST(metadata) {
    xf_model *loaded = NULL;
    OWNED_MODEL *model = NULL, *copy = NULL;
    ACCEPTED(xf_model_copy(world.model, NULL, NULL, NULL, &model, err));
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
    ACCEPTED(save_model(model, NULL, path, err));
    MAKE(trainer, trainer, xf_trainer_create(model, NULL, &trainer, err));
    ACCEPTED(save_trainer(trainer, NULL, saved, err));
    for (int i = 0; i < 4; ++i) {
        if (i < 2) ACCEPTED(load_model(world.context, both[i], &loaded, err));
        if (i == 2) ACCEPTED(xf_model_copy(model, NULL, NULL, NULL, &loaded, err));
        if (i == 3) ACCEPTED(average_files(world.context, both, 2, &loaded, err));
        for (int k = 0; k < 6; ++k) assert_string_equal(metadata(loaded, texts[k][0]), texts[k][1]);
        assert_string_equal(metadata(loaded, "large"), large);
        assert_string_equal(metadata(loaded, "gone"), "(none)");
        assert_string_equal(metadata_key(loaded, 0), "empty"); /* in the order of bytes */
        assert_string_equal(metadata_key(loaded, 1), "format");
        assert_string_equal(metadata_key(loaded, 7), "user.step");
        assert_string_equal(metadata_key(loaded, 8), "(none)");
        assert_string_equal(metadata_key(loaded, SIZE_MAX), "(none)");
        assert_same_models(loaded, model);
        xf_model_free(loaded);
    }
    MAKE(trainer, resumed, resume_trainer(world.context, saved, NULL, &resumed, err));
    assert_string_equal(metadata(xf_trainer_model(resumed), "languages"), "en de");

    /* 16 MiB in all, 1,000 keys. */
    char name[32];
    xf_status full = XF_OK;
    int kept = 0;
    for (; full == XF_OK && kept < 100; ++kept) {
        snprintf(name, sizeof name, "large %d", kept);
        full = xf_model_set_metadata(model, name, large, NULL);
    }
    assert_int_equal(full, XF_ERROR_LIMIT);
    assert_int_equal(kept, 15);
    assert_string_equal(metadata(model, name), "(none)");
    ACCEPTED(xf_model_copy(world.model, NULL, NULL, NULL, &copy, err));
    for (int i = 0; i < 1000; ++i) {
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(xf_model_set_metadata(copy, name, "v", NULL), XF_OK);
    }
    REFUSED(XF_ERROR_LIMIT, nothing, xf_model_set_metadata(copy, "one more", "v", err));
    ACCEPTED(xf_model_set_metadata(copy, "0", "another", err));
    assert_string_equal(metadata(copy, "0"), "another");
    free(large);
}

TEST(copy_and_average) {
    xf_model *out = SENTINEL;

    /* A copy is independent and can have another context. */
    xf_context *other = context_on("cpu:ref");
    MAKE(model, copy, xf_model_copy(world.model, other, NULL, NULL, &copy, err));
    xf_context_free(other);
    assert_same_models(copy, world.model);
    const size_t count = tensor_size(copy, 0);
    OWNED_MEMORY float *before = malloc(count * sizeof *before), *values = malloc(count * sizeof *values);
    ACCEPTED(xf_model_read_tensor(world.model, 0, before, count, err));
    for (size_t i = 0; i < count; ++i) values[i] = before[i] + 3;
    ACCEPTED(xf_model_write_tensor(copy, 0, values, count, err));
    ACCEPTED(xf_model_read_tensor(world.model, 0, values, count, err));
    assert_memory_equal(values, before, count * sizeof *values);

    /* The mean, of files and of memory: to the bit the same. */
    const char *paths[] = {scratch_path("one"), scratch_path("two"), scratch_path("two")};
    ACCEPTED(save_model(world.model, NULL, paths[0], err));
    ACCEPTED(save_model(copy, NULL, paths[1], err));
    xf_source sources[3];
    unsigned char *data[3];
    for (int i = 0; i < 3; ++i) {
        size_t size = 0;
        data[i] = file_bytes(paths[i], &size);
        sources[i] = source_memory(data[i], size);
    }
    MAKE(model, of_memory, xf_model_average(world.context, sources, 3, NULL, &of_memory, err));
    MAKE(model, of_files, average_files(world.context, paths, 3, &of_files, err));
    assert_same_models(of_memory, of_files);
    ACCEPTED(xf_model_read_tensor(of_memory, 0, values, count, err));
    for (size_t i = 0; i < count; ++i) assert_float_equal(values[i], before[i] + 2, 1e-5);
    xf_source with_empty[2] = {sources[0], XF_SOURCE_INIT}, odd[2] = {sources[0], sources[1]};
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_average(world.context, with_empty, 2, NULL, &out, err));
    odd[1].struct_size = sizeof odd[1] + 8;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_average(world.context, odd, 2, NULL, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_model_average(world.context, sources, SIZE_MAX, NULL, &out, err));
    SAYS("count is");

    /* Only models with the same configuration and tokenizer. */
    OWNED_CONFIG *c = config_with("cpu:ref", "model.d_ff=40");
    xf_model *unlike = NULL;
    paths[1] = scratch_path("unlike");
    ACCEPTED(xf_model_create(world.context, world.tokenizer, c, &unlike, err));
    ACCEPTED(save_model(unlike, NULL, paths[1], err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, average_files(world.context, paths, 2, &out, err));
    xf_model_free(unlike);
    ACCEPTED(xf_model_create(world.context, NULL, xf_model_config(world.model), &unlike, err));
    ACCEPTED(save_model(unlike, NULL, paths[1], err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, average_files(world.context, paths, 2, &out, err));
    xf_model_free(unlike);
    for (int i = 0; i < 3; ++i) free(data[i]);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
