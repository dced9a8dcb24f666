/*
 * line_checks.c - recognizes language tags; see line_checks.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "line_checks.h"

#include <ctype.h>
#include <string.h>

size_t language_tag(const char *text, size_t length, const char **name) {
    enum { LONGEST = 32 };
    size_t begin = 0;
    while (begin < length && (text[begin] == ' ' || text[begin] == '\t')) ++begin;
    begin += 2;
    if (length < begin || memcmp(text + begin - 2, ">>", 2) != 0) return 0;
    size_t end = begin;
    while (end < length && (isalnum((unsigned char)text[end]) || text[end] == '_' || text[end] == '-')) ++end;
    if (end == begin || end - begin > LONGEST || length - end < 2 || memcmp(text + end, "<<", 2) != 0) return 0;
    *name = text + begin;
    return end - begin;
}
