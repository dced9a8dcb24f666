/*
 * line_checks.h - finds lines of input that a multilingual model would mistranslate.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_LINE_CHECKS_H
#define TRANSLATE_LINE_CHECKS_H

#include <stddef.h>

/*
 * Returns the length of a language tag such as ">>fra<<" at the beginning of a line, and its name, "fra", in *name; 0
 * if there is none. OPUS-MT models are often called with such tags in the text.
 */
size_t language_tag(const char *text, size_t length, const char **name);

#endif
