/*
 * page.c - text buffers, JSON strings, and pages; see page.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "files.h"

void text_add(struct text *text, const char *bytes, size_t length) {
    if (text->capacity - text->length < length) {
        const size_t capacity = 2 * text->capacity + length + 4096;
        char *grown = allocate(capacity);
        if (text->length > 0) memcpy(grown, text->bytes, text->length);
        free(text->bytes);
        text->bytes = grown;
        text->capacity = capacity;
    }
    if (length > 0) memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

void text_print(struct text *text, const char *format, ...) {
    char piece[256];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof piece) {
        complain("a formatted part of a page has %d bytes, expected at most %zu", length, sizeof piece - 1);
        exit(EXIT_FAILED);
    }
    text_add(text, piece, (size_t)length);
}

void text_json(struct text *text, const char *string, size_t length) {
    text_add(text, "\"", 1);
    size_t plain = 0; /* start of the bytes that need no escape */
    for (size_t i = 0; i < length; ++i) {
        const unsigned char c = (unsigned char)string[i];
        if (c >= 0x20 && c != 0x7f && strchr("\"\\<>&", c) == NULL) continue;
        text_add(text, string + plain, i - plain);
        text_print(text, "\\u%04x", c);
        plain = i + 1;
    }
    text_add(text, string + plain, length - plain);
    text_add(text, "\"", 1);
}

void text_free(struct text *text) {
    free(text->bytes);
    memset(text, 0, sizeof *text);
}

struct page {
    const struct page_template *parts;
    const struct text *json;
};

static bool put_page(FILE *file, const void *user) {
    const struct page *page = user;
    return fwrite(page->parts->head, 1, page->parts->head_size, file) == page->parts->head_size &&
           fwrite(page->json->bytes, 1, page->json->length, file) == page->json->length &&
           fwrite(page->parts->tail, 1, page->parts->tail_size, file) == page->parts->tail_size;
}

int write_page(const char *path, const struct page_template *page, const struct text *json) {
    const struct page made = {page, json};
    return replace_file(path, put_page, &made);
}
