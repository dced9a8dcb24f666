/*
 * page.h - self-contained HTML pages: a template that the build embedded, with data in JSON put into it.
 *
 * The templates are the files of the folder pages/. embed.cmake joins markup, style and script, forbids the page the
 * network in its Content-Security-Policy, and makes C arrays of it. A page's data is text from anywhere (tokens of a
 * vocabulary, names of files), so that no byte of it may act as markup: see text_json().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_PAGE_H
#define TRANSLATE_PAGE_H

#include <stddef.h>

/* A page up to its data, and what follows the data. */
struct page_template {
    const unsigned char *head, *tail;
    size_t head_size, tail_size;
};

extern const struct page_template attention_page, report_page;

/* A text that grows. */
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
 * Adds a JSON string, quotes included. '<', '>' and '&' are written as \u003c and the like: the data stands inside a
 * script element, which "</script>" or "<!--" in it would end.
 */
void text_json(struct text *text, const char *string, size_t length);

void text_free(struct text *text);

/* Writes a page, replacing an old one at once or not at all. Returns -1, or EXIT_FAILED after a message. */
int write_page(const char *path, const struct page_template *page, const struct text *json);

#endif
