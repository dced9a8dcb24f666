/*
 * pairs.c - reads and encodes pairs; see pairs.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "pairs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "evalb.h"
#include "lines.h"
#include "signals.h"

bool pairs_add(struct pairs *pairs, const char *text, size_t length) {
    struct pair pair = {.text = allocate(length + 1), .deleted = allocate((length / 2 + 1) * sizeof(bool))};
    for (size_t i = 0; i < length;) {
        size_t end = i;
        while (end < length && text[end] != ' ') ++end;
        if (end > i) {
            if (pair.words > 0) pair.text[pair.text_length++] = ' ';
            memcpy(pair.text + pair.text_length, text + i, end - i);
            pair.text_length += end - i;
            pair.deleted[pair.words++] = evalb_is_punctuation(text + i, end - i);
        }
        i = end + 1;
    }
    pair.text[pair.text_length] = '\0';
    if (pair.words == 0) {
        free(pair.text);
        free(pair.deleted);
        return false;
    }
    pairs->list = with_room(pairs->list, pairs->count, &pairs->capacity, sizeof *pairs->list);
    pairs->list[pairs->count++] = pair;
    return true;
}

const char *pairs_add_line(struct pairs *pairs, struct labels *labels, bool grow, const char *text, size_t length) {
    const char *tab = memchr(text, '\t', length);
    if (tab == NULL) return "the line has no tab, expected a sentence, a tab, and a tree";
    if (!pairs_add(pairs, text, (size_t)(tab - text))) return "the sentence is empty";
    struct pair *pair = &pairs->list[pairs->count - 1];
    enum tree_fault fault = tree_read(&pair->tree, labels, grow, tab + 1, length - (size_t)(tab + 1 - text));
    if (fault == TREE_OK) fault = tree_check(pair->tree.symbols, pair->tree.length, pair->words);
    return fault == TREE_OK ? NULL : tree_fault_text(fault);
}

bool pairs_read(struct pairs *pairs, struct labels *labels, bool grow, const char *path) {
    struct line_reader reader = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (reader.fd < 0) {
        complain("cannot open %s: %s", path, strerror(errno));
        return false;
    }
    const char *text = NULL, *wrong = NULL;
    size_t length = 0, line = 0;
    enum line_status status;
    while (wrong == NULL && (status = next_line(&reader, true, &text, &length)) != LINE_END) {
        ++line;
        if (status == LINE_OK) wrong = pairs_add_line(pairs, labels, grow, text, length);
        if (status == LINE_TOO_LONG) wrong = "the line is longer than 1 MiB";
        if (status == LINE_FAILED) wrong = strerror(reader.error);
    }
    close(reader.fd);
    close_lines(&reader);
    if (wrong != NULL)
        complain("%s, line %zu: %s", path, line, wrong);
    else if (pairs->count == 0)
        complain("%s is empty, expected a sentence, a tab, and a tree on each line", path);
    return wrong == NULL && pairs->count > 0;
}

static void free_pair(struct pair *pair) {
    free(pair->text);
    free(pair->deleted);
    free(pair->source);
    tree_free(&pair->tree);
}

void pairs_free(struct pairs *pairs) {
    for (size_t i = 0; i < pairs->count; ++i) free_pair(&pairs->list[i]);
    free(pairs->list);
    memset(pairs, 0, sizeof *pairs);
}

void pairs_keep_last(struct pairs *pairs, size_t count) {
    if (pairs->count <= count + 1) return;
    for (size_t i = count; i + 1 < pairs->count; ++i) free_pair(&pairs->list[i]);
    pairs->list[count] = pairs->list[pairs->count - 1];
    pairs->count = count + 1;
}

int64_t pair_tokens(const struct pair *pair) {
    const int64_t target = (int64_t)pair->tree.length + 1;
    return pair->source_length > target ? pair->source_length : target;
}

void pairs_drop_long(struct pairs *pairs, size_t first, int64_t tokens) {
    size_t kept = first;
    for (size_t i = first; i < pairs->count; ++i) {
        if (pair_tokens(&pairs->list[i]) <= tokens)
            pairs->list[kept++] = pairs->list[i];
        else
            free_pair(&pairs->list[i]);
    }
    pairs->count = kept;
}

void pairs_limit(struct pairs *pairs, int64_t limit) {
    while (limit > 0 && pairs->count > (size_t)limit) free_pair(&pairs->list[--pairs->count]);
}

/* A corpus has two sides. The sentence is used for both; this doubles all counts and does not change the result. */
xf_status pairs_tokenizer(const struct pairs *pairs, xf_context *context, const xf_config *config, xf_tokenizer **out,
                          xf_error *err) {
    const char **texts = allocate(pairs->count * sizeof *texts);
    for (size_t i = 0; i < pairs->count; ++i) texts[i] = pairs->list[i].text;
    xf_corpus *corpus = NULL;
    xf_status status =
        xf_corpus_from_pairs(context, texts, NULL, texts, NULL, pairs->count, config, &until_interrupted, &corpus, err);
    if (status == XF_OK) status = xf_tokenizer_train(context, corpus, config, &until_interrupted, out, err);
    xf_corpus_free(corpus);
    free(texts);
    return status;
}

xf_status pairs_encode(struct pairs *pairs, const xf_tokenizer *tokenizer, xf_error *err) {
    for (size_t i = 0; i < pairs->count; ++i) {
        struct pair *pair = &pairs->list[i];
        size_t count = 0;
        /* Normalization may lengthen a text, so the first call may fail and return the required size. */
        for (size_t room = pair->text_length + 1;; room = count) {
            free(pair->source);
            pair->source = allocate((room + 1) * sizeof *pair->source);
            const xf_status status =
                xf_tokenizer_encode(tokenizer, pair->text, pair->text_length, pair->source, room, &count, err);
            if (status == XF_OK) break;
            if (status != XF_ERROR_BUFFER_TOO_SMALL) return status;
        }
        pair->source[count] = END_SYMBOL;
        pair->source_length = (int32_t)count + 1;
    }
    return XF_OK;
}
