/*
 * line_checks.h - finds lines of input that a translation model would probably mistranslate.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_LINE_CHECKS_H
#define TRANSLATE_LINE_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns whether a line seems to contain more than one sentence: a period, question mark, or exclamation mark, then
 * white space, then a capital letter; or a Chinese or Japanese full stop that is not at the end. Periods of numbers,
 * initials, and common abbreviations do not count. The check prefers to miss a second sentence over a false alarm.
 */
bool has_several_sentences(const char *text, size_t length);

/*
 * Returns the length of a language tag such as ">>fra<<" at the beginning of a line, and its name, "fra", in *name; 0
 * if there is none. OPUS-MT models are often called with such tags in the text.
 */
size_t language_tag(const char *text, size_t length, const char **name);

#endif
