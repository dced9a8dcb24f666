/*
 * page.h - self-contained HTML pages: a template, embedded by the build, with JSON data inserted.
 *
 * The templates are in the folder pages/. embed.cmake joins markup, style, and script, adds a Content-Security-Policy
 * that blocks all network access, and converts the result to C arrays. The data contains untrusted text (tokens of a
 * vocabulary, names of files), so no byte of it may be interpreted as markup: see text_json().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_PAGE_H
#define TRANSLATE_PAGE_H

#include <stddef.h>

/* The parts of a page before and after its data. */
struct page_template {
    const unsigned char *head, *tail;
    size_t head_size, tail_size;
};

extern const struct page_template attention_page, report_page;

/* A growing text buffer. */
struct text {
    char *bytes;
    size_t length, capacity;
};

void text_add(struct text *text, const char *bytes, size_t length);

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void text_print(struct text *text, const char *format, ...);

/*
 * Appends a JSON string, including its quotes. Escapes '<', '>', and '&' (as \u003c and so on), because the data is
 * inside a script element, which "</script>" or "<!--" would end.
 */
void text_json(struct text *text, const char *string, size_t length);

void text_free(struct text *text);

/* Writes a page, replacing an existing file atomically. Returns -1, or EXIT_FAILED after a message. */
int write_page(const char *path, const struct page_template *page, const struct text *json);

#endif
