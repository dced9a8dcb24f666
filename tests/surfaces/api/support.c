/*
 * See support.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "support.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

struct world world;
char nothing;

static const int32_t pair_ids[] = {5, 6, TOKEN_END, 7, 8, TOKEN_END};
static const int64_t pair_offsets[] = {0, 3, 6};
const xf_batch two_pairs = {sizeof two_pairs, 2, pair_ids, pair_offsets, pair_ids, pair_offsets, NULL, NULL, 0};
const xf_batch one_pair = {sizeof one_pair, 1, pair_ids, pair_offsets, pair_ids, pair_offsets, NULL, NULL, 0};

static void print_problem(const char *file, int line, const char *what, const xf_error *err) {
    print_error("%s:%d: %s%s%.247s\n", file, line, what, err ? ": " : "", err ? err->message : "");
}

/* NUL-terminated, not empty, one line, UTF-8 (iconv would do, but this is all there is to it). */
static const char *message_fault(const char *message) {
    const size_t length = strnlen(message, XF_ERROR_MESSAGE_SIZE);
    if (length == 0) return "the message is empty";
    if (length == XF_ERROR_MESSAGE_SIZE) return "the message is not terminated";
    for (size_t i = 0; i < length;) {
        const unsigned char c = (unsigned char)message[i];
        if (c < 0x20 || c == 0x7F) return "the message has a control character";
        const size_t more = c < 0x80                ? 0
                            : c >= 0xC2 && c < 0xE0 ? 1
                            : c >= 0xE0 && c < 0xF0 ? 2
                            : c >= 0xF0 && c < 0xF5 ? 3
                                                    : 9;
        if (more == 9 || i + more >= length) return "the message is not UTF-8";
        for (size_t k = 1; k <= more; ++k)
            if (((unsigned char)message[i + k] & 0xC0) != 0x80) return "the message is not UTF-8";
        i += more + 1;
    }
    return NULL;
}

static char last_message[XF_ERROR_MESSAGE_SIZE];

void check_says(const char *text, const char *file, int line) {
    if (strstr(last_message, text) != NULL) return;
    print_error("%s:%d: '%s' lacks '%s'\n", file, line, last_message, text);
    _fail(file, line);
}

void check_refusal(xf_status expected, xf_status found, const xf_error *err, const char *file, int line) {
    if (found != expected) {
        print_problem(file, line, "another status", found < 0 ? err : NULL);
        print_error("%s, expected %s\n", xf_status_name(found), xf_status_name(expected));
        _fail(file, line);
    }
    if (err == NULL) return;
    const char *fault = message_fault(err->message);
    if (fault == NULL && err->status != (int32_t)found) fault = "err->status is not what was returned";
    if (fault == NULL) {
        strcpy(last_message, err->message);
        return;
    }
    print_problem(file, line, fault, err);
    _fail(file, line);
}

void check_accepted(xf_status found, const xf_error *err, const char *file, int line) {
    if (found != XF_OK) {
        print_problem(file, line, xf_status_name(found), found < 0 ? err : NULL);
        _fail(file, line);
    }
    for (size_t i = 0; i < sizeof *err; ++i)
        if (((const unsigned char *)err)[i] != 0xA5) {
            print_problem(file, line, "a call that succeeded wrote to err", NULL);
            _fail(file, line);
        }
}

void *wrong_handle(int which) {
    static uint64_t zeros[64], freed[64], text[64];
    const uint32_t freed_magic = 0xDEADF4EEu;
    memcpy(freed, &freed_magic, sizeof freed_magic);
    memcpy(text, "This is not a handle.", 22);
    void *const handles[WRONG_HANDLES] = {world.config, world.context, world.corpus,  world.tokenizer,  world.batcher,
                                          world.model,  world.trainer, world.decoder, world.hypotheses, NULL,
                                          zeros,        freed,         text};
    return handles[which];
}

void set(xf_config *config, const char *key, const char *value) { ACCEPTED(xf_config_set(config, key, value, err)); }

xf_config *small_config(const char *device) {
    xf_config *config = NULL;
    ACCEPTED(make_config(device, &config, err));
    return config;
}

void set_all(xf_config *config, const char *settings) {
    char key[64], value[64];
    for (int length = 0; *settings != 0; settings += length) {
        assert_int_equal(sscanf(settings, "%63[^= ]=%63s %n", key, value, &length), 2);
        set(config, key, value);
    }
}

xf_config *config_with(const char *device, const char *settings) {
    xf_config *config = small_config(device);
    set_all(config, settings);
    return config;
}

xf_context *context_on(const char *device) {
    xf_config *config = small_config(device);
    xf_context *context = NULL;
    xf_error error;
    const xf_status status = xf_context_create(config, NULL, &context, &error);
    xf_config_free(config);
    if (status == XF_ERROR_NOT_FOUND) {
        print_message("NOT TESTED on %s: %s\n", device, error.message);
        return NULL;
    }
    assert_int_equal(status, XF_OK);
    return context;
}

xf_corpus *small_corpus(xf_context *context) {
    xf_corpus *corpus = NULL;
    ACCEPTED(corpus_from_text(context, NULL, corpus_text, sizeof corpus_text - 1, &corpus, err));
    return corpus;
}

const char *const cpu_devices[2] = {"cpu:ref", "cpu:openblas"};

int opens(const char *device) {
    OWNED_CONTEXT *context = context_on(device);
    return context != NULL;
}

int world_open(void **state) {
    (void)state;
    ACCEPTED(make_world(&world, "cpu:ref", err));
    return 0;
}

int world_close(void **state) {
    (void)state;
    free_objects(&world);
    return 0;
}

static char folder[64];
static pid_t folder_owner;

static void remove_folder(void) {
    if (folder_owner != getpid()) return;
    DIR *dir = opendir(folder);
    if (dir == NULL) return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) remove(path);
    }
    closedir(dir);
    rmdir(folder);
}

const char *scratch_path(const char *name) {
    static char paths[32][128]; /* one for each name: a path stays good however many others are asked for */
    if (folder[0] == 0) {
        strcpy(folder, "xf_api_test_XXXXXX");
        assert_non_null(mkdtemp(folder));
        folder_owner = getpid();
        atexit(remove_folder);
    }
    char path[sizeof paths[0]];
    snprintf(path, sizeof path, "%s/%.60s", folder, name);
    int i = 0;
    while (i < 32 && paths[i][0] != 0 && strcmp(paths[i], path) != 0) ++i;
    assert_true(i < 32);
    return strcpy(paths[i], path);
}

static int was_root;

void drop_rights(void) {
    was_root = geteuid() == 0;
    if (!was_root) return;
    if (folder[0] != 0) assert_int_equal(chmod(folder, 0755), 0); /* the way to the file is open, the file is not */
    assert_int_equal(seteuid(65534), 0);
}

void regain_rights(void) {
    if (was_root) assert_int_equal(seteuid(0), 0);
}

void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

unsigned char *file_bytes(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

void assert_same_files(const char *a, const char *b) {
    size_t size_a, size_b;
    unsigned char *bytes_a = file_bytes(a, &size_a), *bytes_b = file_bytes(b, &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(bytes_a, bytes_b, size_a);
    free(bytes_a);
    free(bytes_b);
}

xf_option_info get_option(size_t index) {
    xf_option_info info = XF_OPTION_INFO_INIT;
    ACCEPTED(xf_option_get(index, &info, err));
    return info;
}

xf_memory_stats get_memory(const xf_context *context) {
    xf_memory_stats stats = XF_MEMORY_STATS_INIT;
    ACCEPTED(xf_context_get_memory(context, &stats, err));
    return stats;
}

xf_batcher_stats get_batcher_stats(const xf_batcher *batcher) {
    xf_batcher_stats stats = XF_BATCHER_STATS_INIT;
    ACCEPTED(xf_batcher_get_stats(batcher, &stats, err));
    return stats;
}

xf_tensor_info get_tensor(const xf_model *model, size_t index) {
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    ACCEPTED(xf_model_get_tensor(model, index, &info, err));
    return info;
}

size_t tensor_size(const xf_model *model, size_t index) {
    const xf_tensor_info info = get_tensor(model, index);
    return number_count(&info);
}

xf_hypothesis get_hypothesis(const xf_hypotheses *hypotheses, size_t sentence, size_t index) {
    xf_hypothesis hypothesis = XF_HYPOTHESIS_INIT;
    ACCEPTED(xf_hypotheses_get(hypotheses, sentence, index, &hypothesis, err));
    return hypothesis;
}

xf_batch make_batch(int sentences, int tokens, int32_t ids) {
    static int32_t values[60 * 60];
    static int64_t offsets[60 + 1];
    assert_true(sentences <= 60 && tokens <= 60);
    for (int i = 0; i < sentences * tokens; ++i) values[i] = i % tokens == tokens - 1 ? TOKEN_END : 2 + i * 37 % ids;
    for (int i = 0; i <= sentences; ++i) offsets[i] = i * tokens;
    return (xf_batch){sizeof(xf_batch), sentences, values, offsets, values, offsets, NULL, NULL, 0};
}

float *all_params(const xf_model *model, size_t *count) {
    float *values = NULL;
    *count = 0;
    for (size_t i = 0; i < xf_model_tensor_count(model); ++i) {
        const size_t size = tensor_size(model, i);
        float *const longer = realloc(values, (*count + size) * sizeof(float));
        assert_non_null(longer);
        values = longer;
        ACCEPTED(xf_model_read_tensor(model, i, values + *count, size, err));
        *count += size;
    }
    return values;
}

xf_batch next_batch(xf_batcher *batcher) {
    xf_batch batch = XF_BATCH_INIT;
    xf_status status = xf_batcher_next(batcher, NULL, &batch, NULL);
    if (status == XF_DONE) status = xf_batcher_next(batcher, NULL, &batch, NULL);
    assert_int_equal(status, XF_OK);
    return batch;
}
