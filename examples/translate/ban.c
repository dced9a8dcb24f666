/*
 * ban.c - forbids tokens that would complete a banned word or phrase; see ban.h.
 *
 * Let a phrase be "Open Office" and a hypothesis end with "an Op". Then every token that begins with "en Office" is
 * forbidden, whatever its other text. Most phrases need several tokens, so that usually only the last is forbidden.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ban.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

/*
 * Returns whether the character that begins with this byte belongs to a word: an ASCII letter or digit, or a character
 * from U+00C0 to U+1FFF. Most languages with characters beyond U+2000 do not separate words.
 */
static bool is_word_byte(char byte) {
    const unsigned char lead = (unsigned char)byte;
    return lead < 0x80 ? isalnum(lead) != 0 : lead >= 0xC3 && lead <= 0xE1;
}

/* Returns whether a phrase can begin after this text: at the beginning of a word, or anywhere if it is punctuation. */
static bool can_begin(const char *phrase, const char *text, size_t length) {
    while (length > 0 && ((unsigned char)text[length - 1] & 0xC0) == 0x80) --length;
    return length == 0 || !is_word_byte(text[length - 1]) || !is_word_byte(phrase[0]);
}

static bool begins_with(const char *text, size_t length, const char *start, size_t start_length) {
    return start_length <= length && memcmp(text, start, start_length) == 0;
}

static size_t words_of(size_t tokens) { return (tokens + 31) / 32; }

static void add_token(uint32_t *set, size_t id) { set[id / 32] |= 1u << id % 32; }

static void remove_set(uint32_t *allowed, const uint32_t *set, size_t tokens) {
    for (size_t w = 0; w < words_of(tokens); ++w) allowed[w] &= ~set[w];
}

/* Copies the end of a hypothesis, at least as long as the longest phrase, and returns its start. */
static const char *tail_of(const struct ban *ban, const xf_partial *partial, size_t *length) {
    char *const end = ban->tail + ban->tail_size, *at = end;
    for (size_t i = partial->id_count; i-- > 0;) {
        const char *piece = ban->pieces.texts[partial->ids[i]];
        const size_t size = ban->pieces.lengths[partial->ids[i]];
        if (size > (size_t)(at - ban->tail)) break;
        at -= size;
        memcpy(at, piece, size);
    }
    *length = (size_t)(end - at);
    return at;
}

/* Forbids the tokens that complete a phrase whose first `have` bytes are the end of the hypothesis. */
static void forbid_rest(const struct ban *ban, size_t phrase, size_t have, uint32_t *allowed) {
    const char *rest = ban->phrases.texts[phrase] + have;
    const size_t length = ban->phrases.lengths[phrase] - have;
    for (size_t id = 0; id < ban->pieces.count; ++id)
        if (begins_with(ban->pieces.texts[id], ban->pieces.lengths[id], rest, length))
            allowed[id / 32] &= ~(1u << id % 32);
}

/* The callback of the search. */
static int32_t forbid(void *user, const xf_constraint_step *step) {
    const struct ban *ban = user;
    for (size_t i = 0; i < step->count; ++i) {
        const xf_partial *partial = step->partials[i];
        size_t length = 0;
        const char *tail = tail_of(ban, partial, &length);
        remove_set(partial->allowed, ban->always, ban->pieces.count);
        if (can_begin("a", tail, length)) remove_set(partial->allowed, ban->first, ban->pieces.count);
        for (size_t p = 0; p < ban->phrases.count; ++p) {
            const char *phrase = ban->phrases.texts[p];
            for (size_t have = 1; have < ban->phrases.lengths[p] && have <= length; ++have)
                if (memcmp(tail + length - have, phrase, have) == 0 && can_begin(phrase, tail, length - have))
                    forbid_rest(ban, p, have, partial->allowed);
        }
    }
    return 0;
}

/* Adds the text that a token adds to a hypothesis. A control token, such as the end symbol, adds none. */
static xf_status add_piece(struct ban *ban, const xf_tokenizer *tokenizer, int32_t id, xf_error *err) {
    static const char space[] = "\u2581";
    char piece[1024], text[1024];
    size_t length = 0, text_length = 0, used = 0;
    unsigned byte = 0;
    xf_status status = xf_tokenizer_get_piece(tokenizer, id, piece, sizeof piece, &length, err);
    if (status == XF_OK) status = xf_tokenizer_decode(tokenizer, &id, 1, text, sizeof text, &text_length, err);
    if (status == XF_ERROR_BUFFER_TOO_SMALL) length = 0, status = XF_OK; /* too long for any phrase */
    if (status != XF_OK) return status;
    if (text_length == 0 && strcmp(piece, space) != 0) length = 0;
    if (length == 6 && sscanf(piece, "<0x%2X>", &byte) == 1) piece[0] = (char)byte, length = 1;
    for (size_t at = 0; at < length;) {
        const bool is_space = begins_with(piece + at, length - at, space, sizeof space - 1);
        piece[used++] = is_space ? ' ' : piece[at];
        at += is_space ? sizeof space - 1 : 1;
    }
    sentences_add(&ban->pieces, piece, used);
    return XF_OK;
}

/* Sorts a token into the sets `always` and `first`. */
static void classify(struct ban *ban, size_t id) {
    const char *piece = ban->pieces.texts[id];
    const size_t length = ban->pieces.lengths[id];
    for (size_t p = 0; p < ban->phrases.count; ++p) {
        const char *phrase = ban->phrases.texts[p];
        for (size_t at = 0; at < length; ++at)
            if (begins_with(piece + at, length - at, phrase, ban->phrases.lengths[p]) && can_begin(phrase, piece, at))
                add_token(at == 0 && is_word_byte(*phrase) ? ban->first : ban->always, id);
    }
}

static int read_phrases(struct ban *ban, const char *path) {
    struct line_reader reader;
    const char *text = NULL;
    size_t length = 0, longest = 0;
    if (!open_lines(&reader, path)) return EXIT_FAILED;
    enum line_status status;
    while ((status = next_line(&reader, true, &text, &length)) == LINE_OK) {
        while (length > 0 && text[length - 1] == ' ') --length;
        while (length > 0 && *text == ' ') ++text, --length;
        if (length > 0) sentences_add(&ban->phrases, text, length);
        if (length > longest) longest = length;
    }
    if (status == LINE_FAILED) complain("reading %s failed: %s", path, strerror(reader.error));
    if (status == LINE_TOO_LONG) complain("%s has a line longer than %d bytes", path, (int)LONGEST_LINE);
    close_lines(&reader);
    ban->tail_size = longest + 1024; /* a piece has fewer bytes */
    return status == LINE_END ? -1 : EXIT_FAILED;
}

int ban_open(struct ban *ban, const char *path, const xf_model *model) {
    const xf_tokenizer *tokenizer = xf_tokenizer_side(xf_model_tokenizer(model), XF_SIDE_TARGET);
    const int32_t tokens = vocabulary_size(tokenizer);
    xf_error err;
    if (read_phrases(ban, path) >= 0) return EXIT_FAILED;
    for (int32_t id = 0; id < tokens; ++id)
        if (add_piece(ban, tokenizer, id, &err) != XF_OK) return fail(&err);
    ban->tail = allocate(ban->tail_size);
    ban->always = allocate(words_of((size_t)tokens) * sizeof *ban->always);
    ban->first = allocate(words_of((size_t)tokens) * sizeof *ban->first);
    memset(ban->always, 0, words_of((size_t)tokens) * sizeof *ban->always);
    memset(ban->first, 0, words_of((size_t)tokens) * sizeof *ban->first);
    for (size_t id = 0; id < ban->pieces.count; ++id) classify(ban, id);
    ban->constraint = (xf_constraint)XF_CONSTRAINT_INIT;
    ban->constraint.function = forbid;
    ban->constraint.user = ban;
    return -1;
}

void ban_close(struct ban *ban) {
    sentences_free(&ban->phrases);
    sentences_free(&ban->pieces);
    free(ban->always);
    free(ban->first);
    free(ban->tail);
}
