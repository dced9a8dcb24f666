/*
 * common.c - messages, the context, sentences, the clock; see common.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "signals.h"

static int own_rank = -1;
static bool unfinished_line;
static int output_error;

void set_rank(int rank) { own_rank = rank; }

void set_unfinished_line(bool unfinished) { unfinished_line = unfinished; }

/* Keeps the errno of the first failed write to stdout, because later calls overwrite errno. */
static void flush_output(void) {
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && output_error == 0) output_error = errno != 0 ? errno : EIO;
}

void complain(const char *format, ...) {
    if (unfinished_line) {
        fputs("\r\033[K", stdout);
        unfinished_line = false;
    }
    flush_output();
    char rank[24] = "", message[8192];
    if (own_rank >= 0) snprintf(rank, sizeof rank, "rank %d: ", own_rank);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: %s%s\n", program_name, rank, message); /* in one call: other ranks may write there */
}

int fail(const xf_error *err) {
    complain("%s", err->status == XF_ERROR_CANCELLED ? "interrupted" : err->message);
    return EXIT_FAILED;
}

int check_output(void) {
    static bool reported;
    flush_output();
    if (output_error == 0) return -1;
    if (output_error == EPIPE) return EXIT_OK;
    if (!reported) complain("writing failed: %s", strerror(output_error));
    reported = true;
    return EXIT_FAILED;
}

void *allocate(size_t size) {
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL) {
        complain("cannot allocate %zu bytes", size);
        exit(EXIT_FAILED);
    }
    return memory;
}

void *with_room(void *list, size_t count, size_t *capacity, size_t item_size) {
    if (count < *capacity) return list;
    *capacity = *capacity > 0 ? 2 * *capacity : 64;
    void *larger = allocate(*capacity * item_size);
    if (count > 0) memcpy(larger, list, count * item_size);
    free(list);
    return larger;
}

/* Warnings of a context that is being created, one per line: its rank is not known yet. */
static char early_warnings[4096];
static bool opening;

static void print_log(void *user, const xf_log_line *line) {
    (void)user;
    if (opening && line->level == XF_LOG_WARNING) {
        const size_t used = strlen(early_warnings);
        snprintf(early_warnings + used, sizeof early_warnings - used, "%s\n", line->message);
        return;
    }
    if (own_rank > 0 && line->level == XF_LOG_WARNING) return; /* rank 0 prints the same warning */
    complain("%s: %s", line->level == XF_LOG_ERROR ? "error" : "warning", line->message);
}

xf_context *open_context(const xf_config *config) {
    xf_context *context = NULL;
    xf_error err;
    xf_host host = XF_HOST_INIT;
    host.log = print_log;
    opening = true;
    const xf_status status = xf_context_create(config, &host, &context, &err);
    opening = false;
    xf_context_info info = XF_CONTEXT_INFO_INIT;
    const bool first = status != XF_OK || xf_context_get_info(context, &info, NULL) != XF_OK || info.rank == 0;
    for (char *end, *line = early_warnings; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        if (first) complain("warning: %s", line); /* the other ranks have the same */
    }
    early_warnings[0] = '\0';
    if (status == XF_OK) return context;
    fail(&err);
    return NULL;
}

const char *device_of(const xf_context *context) {
    xf_context_info info = XF_CONTEXT_INFO_INIT;
    return xf_context_get_info(context, &info, NULL) == XF_OK ? info.description : "";
}

xf_status get_integer(const xf_config *config, const char *key, int64_t *value, xf_error *err) {
    double number = 0;
    const xf_status status = xf_config_get_number(config, key, &number, err);
    if (status == XF_OK) *value = (int64_t)number; /* exact: the bounds of integer options are within 2^53 */
    return status;
}

int32_t vocabulary_size(const xf_tokenizer *tokenizer) {
    xf_tokenizer_info info = XF_TOKENIZER_INFO_INIT;
    return xf_tokenizer_get_info(tokenizer, &info, NULL) == XF_OK ? info.vocab_size : 0;
}

xf_model *open_model(xf_context *context, const char *path, const xf_config *config) {
    xf_model *model = NULL;
    xf_error err;
    const xf_source source = XF_SOURCE_PATH(path);
    if (xf_model_load(context, &source, config, &until_interrupted, &model, &err) != XF_OK) {
        fail(&err);
        return NULL;
    }
    if (xf_model_tokenizer(model) == NULL) {
        complain("%s has no tokenizer, so it can't read text", path);
        xf_model_free(model);
        return NULL;
    }
    return model;
}

bool has_text(const xf_corpus *corpus) {
    const char *text[2];
    size_t length[2];
    return xf_corpus_get_pair(corpus, 0, &text[0], &length[0], &text[1], &length[1], NULL) == XF_OK;
}

void print_corpus(const char *name, const xf_corpus *corpus) {
    xf_corpus_stats stats = {.struct_size = sizeof stats};
    if (xf_corpus_get_stats(corpus, &stats, NULL) != XF_OK) return;
    const int64_t pairs = xf_corpus_pair_count(corpus);
    printf("%-12s %lld pairs", name, (long long)pairs);
    if (pairs < stats.kept) printf(", a sample of %lld", (long long)stats.kept);
    puts("");
    if (stats.kept == stats.lines) return;
    const struct {
        int64_t count;
        const char *why;
    } skipped[] = {{stats.bad_columns, "without exactly one tab"},
                   {stats.empty_side, "with an empty side"},
                   {stats.too_long, "with a side longer than data.max_bytes"},
                   {stats.invalid_utf8, "not UTF-8"},
                   {stats.nul_byte, "with a NUL byte"}};
    printf("%-12s %lld of %lld lines:", "  skipped", (long long)(stats.lines - stats.kept), (long long)stats.lines);
    const char *comma = "";
    for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; ++i) {
        if (skipped[i].count == 0) continue;
        printf("%s %lld %s", comma, (long long)skipped[i].count, skipped[i].why);
        comma = ",";
    }
    printf("\n");
}

int64_t element_count(const xf_tensor_info *info) {
    int64_t count = 1;
    for (int32_t i = 0; i < info->dims; ++i) count *= info->shape[i];
    return count;
}

int64_t parameter_count(const xf_model *model) {
    int64_t sum = 0;
    xf_tensor_info info = {.struct_size = sizeof info};
    for (size_t i = 0; i < xf_model_tensor_count(model); ++i)
        if (xf_model_get_tensor(model, i, &info, NULL) == XF_OK) sum += element_count(&info);
    return sum;
}

void sentences_add(struct sentences *list, const char *text, size_t length) {
    size_t capacity = list->capacity; /* both lists grow by the same rule */
    list->texts = with_room(list->texts, list->count, &capacity, sizeof *list->texts);
    list->lengths = with_room(list->lengths, list->count, &list->capacity, sizeof *list->lengths);
    char *copy = allocate(length + 1);
    if (length > 0) memcpy(copy, text, length);
    copy[length] = '\0';
    list->texts[list->count] = copy;
    list->lengths[list->count++] = length;
}

void sentences_clear(struct sentences *list) {
    for (size_t i = 0; i < list->count; ++i) free(list->texts[i]);
    list->count = 0;
}

void sentences_free(struct sentences *list) {
    sentences_clear(list);
    free(list->texts);
    free(list->lengths);
    memset(list, 0, sizeof *list);
}

void sentences_of_corpus(struct sentences *list, const xf_corpus *corpus, enum side side, int64_t limit) {
    const int64_t size = xf_corpus_pair_count(corpus);
    const char *text[2];
    size_t length[2];
    for (int64_t i = 0; i < size && (limit == 0 || i < limit); ++i)
        if (xf_corpus_get_pair(corpus, i, &text[0], &length[0], &text[1], &length[1], NULL) == XF_OK)
            sentences_add(list, text[side], length[side]);
}

xf_status translate_each(xf_decoder *decoder, const struct sentences *list, const xf_decode_params *params,
                         answer_fn fn, void *user, xf_error *err) {
    xf_hypotheses *found = NULL;
    const char *const *texts = (const char *const *)list->texts;
    const xf_status status =
        xf_translate(decoder, texts, list->lengths, list->count, params, &until_interrupted, &found, err);
    if (status != XF_OK) return status;
    for (size_t i = 0; i < list->count; ++i) {
        xf_hypothesis best = XF_HYPOTHESIS_INIT;
        xf_error why;
        const bool answered = xf_hypotheses_get(found, i, 0, &best, &why) == XF_OK;
        fn(user, i, answered ? found : NULL, answered ? NULL : &why);
    }
    xf_hypotheses_free(found);
    return XF_OK;
}

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

const char *clock_text(char text[24], double seconds) {
    const long long whole = seconds > 0 && seconds < 1e12 ? (long long)(seconds + 0.5) : 0;
    if (whole < 3600)
        snprintf(text, 24, "%lld:%02lld", whole / 60, whole % 60);
    else
        snprintf(text, 24, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    return text;
}
