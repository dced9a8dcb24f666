/*
 * common.c - see common.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "common.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void check(xf_status status, const xf_error *err, const char *what) {
    if (status < XF_OK) die("%s: %s: %s", what, xf_status_name(status), err->message);
}

void *allocate(size_t bytes) {
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) die("no memory for %zu bytes", bytes);
    return memory;
}

const char *arg_text(args a, const char *key, const char *fallback) {
    const size_t length = strlen(key);
    for (int i = 0; i < a.count; ++i)
        if (strncmp(a.values[i], key, length) == 0 && a.values[i][length] == '=') return a.values[i] + length + 1;
    if (fallback == NULL) die("the argument %s= is missing", key);
    return fallback;
}

int64_t arg_number(args a, const char *key, int64_t fallback) {
    const char *text = arg_text(a, key, "");
    char *end;
    if (*text == '\0') return fallback;
    const long long number = strtoll(text, &end, 10);
    if (*end != '\0' || number < 0) die("%s=%s: expected a whole number", key, text);
    return number;
}

xf_config *config_from(args a) {
    xf_config *config;
    CHECK(xf_config_create, &config);
    const char *preset = arg_text(a, "preset", "");
    if (*preset != '\0') CHECK(xf_config_preset, config, preset);
    for (int i = 0; i < a.count; ++i) {
        char key[128];
        const char *equals = strchr(a.values[i], '=');
        if (equals == NULL || (size_t)(equals - a.values[i]) >= sizeof key)
            die("'%s': expected key=value", a.values[i]);
        memcpy(key, a.values[i], (size_t)(equals - a.values[i]));
        key[equals - a.values[i]] = '\0';
        if (strchr(key, '.') != NULL) CHECK(xf_config_set, config, key, equals + 1);
    }
    return config;
}

static double clock_seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double seconds(void) { return clock_seconds(CLOCK_MONOTONIC); }
double cpu_seconds(void) { return clock_seconds(CLOCK_PROCESS_CPUTIME_ID); }

int64_t peak_rss(void) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long long kilobytes = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %lld kB", &kilobytes) == 1) break;
    if (file != NULL) fclose(file);
    return kilobytes * 1024;
}

uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

int32_t random_id(uint64_t *state, int64_t vocab) { return (int32_t)(2 + next_random(state) % (vocab - 2)); }

xf_batch random_batch(int64_t sentences, int64_t tokens, int64_t vocab, uint64_t seed) {
    xf_batch batch = XF_BATCH_INIT;
    int32_t *ids[2];
    int64_t *offsets = allocate(sizeof *offsets * (size_t)(sentences + 1));
    uint64_t state = seed;
    for (int64_t b = 0; b <= sentences; ++b) offsets[b] = b * tokens;
    for (int side = 0; side < 2; ++side) {
        ids[side] = allocate(sizeof **ids * (size_t)(sentences * tokens));
        for (int64_t i = 0; i < sentences * tokens; ++i)
            ids[side][i] = (i + 1) % tokens == 0 ? kEnd : random_id(&state, vocab);
    }
    batch.sentences = sentences;
    batch.src_ids = ids[0];
    batch.tgt_ids = ids[1];
    batch.src_offsets = batch.tgt_offsets = offsets;
    return batch;
}

void free_batch(xf_batch *batch) {
    free((void *)batch->src_ids);
    free((void *)batch->tgt_ids);
    free((void *)batch->src_offsets);
}

static void write_ints(FILE *file, const int32_t *values, size_t count) {
    if (fwrite(values, sizeof *values, count, file) != count) die("writing batches failed");
}

static void write_offsets(FILE *file, const int64_t *offsets, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const int32_t offset = (int32_t)offsets[i];
        write_ints(file, &offset, 1);
    }
}

void write_batch(FILE *file, const xf_batch *batch) {
    const size_t n = (size_t)batch->sentences + 1;
    const int32_t tgt_tokens = batch->tgt_offsets != NULL ? (int32_t)batch->tgt_offsets[n - 1] : 0;
    const int32_t header[] = {(int32_t)batch->sentences, (int32_t)batch->src_offsets[n - 1], tgt_tokens};
    write_ints(file, header, 3);
    write_offsets(file, batch->src_offsets, n);
    write_ints(file, batch->src_ids, (size_t)header[1]);
    if (tgt_tokens == 0) return;
    write_offsets(file, batch->tgt_offsets, n);
    write_ints(file, batch->tgt_ids, (size_t)tgt_tokens);
}

void *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) die("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = allocate(*size + 1);
    if (fread(bytes, 1, *size, file) != *size) die("cannot read %s", path);
    fclose(file);
    bytes[*size] = '\0';
    return bytes;
}

batch_list read_batches(const char *path) {
    batch_list list;
    size_t size;
    list.ids = read_file(path, &size);
    list.offsets = allocate(size * 2);
    const int64_t words = (int64_t)size / 4;
    if (words < 2 || memcmp(list.ids, "XFB1", 4) != 0 || list.ids[1] < 0) die("%s is not a file of batches", path);
    for (int64_t i = 0; i < words; ++i) list.offsets[i] = list.ids[i];
    list.count = list.ids[1];
    list.batches = allocate(sizeof *list.batches * (size_t)list.count);
    int64_t at = 2;
    for (int64_t i = 0; i < list.count; ++i) {
        if (at + 3 > words) die("%s is cut off", path);
        const int64_t sentences = list.ids[at], src = list.ids[at + 1], tgt = list.ids[at + 2];
        at += 3;
        if (sentences < 1 || src < 1 || tgt < 0 ||
            at + 2 * (sentences + 1) + src + tgt > words + (tgt == 0 ? sentences + 1 : 0))
            die("%s is cut off", path);
        xf_batch *batch = &list.batches[i];
        memset(batch, 0, sizeof *batch);
        batch->struct_size = sizeof *batch;
        batch->sentences = sentences;
        batch->src_offsets = list.offsets + at;
        batch->src_ids = list.ids + at + sentences + 1;
        at += sentences + 1 + src;
        if (tgt == 0) continue;
        batch->tgt_offsets = list.offsets + at;
        batch->tgt_ids = list.ids + at + sentences + 1;
        at += sentences + 1 + tgt;
    }
    return list;
}
