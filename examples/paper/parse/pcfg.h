/*
 * pcfg.h - generates sentences with their trees from a small probabilistic grammar.
 *
 * The words of a sentence determine its tree. Each word has one part of speech. "of" always attaches to the preceding
 * noun, "with" and adverbs attach to the verb, and neither follows a phrase that ends in a clause, so there is no
 * ambiguity. A model that has learned the grammar can parse new sentences without errors.
 *
 *     S  -> NP VP "."                            clause -> NP VP
 *     NP -> D N | D A N | (NP PP) | (NP SBAR)    PP     -> "of" NP, "with" NP
 *     VP -> V NP [ADVP | PP] | W [ADVP | PP] | C SBAR
 *     SBAR -> WHNP clause without NP, or clause
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_PCFG_H
#define PARSE_PCFG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PCFG_LINE = 8192 };

/* Writes a random "sentence TAB tree" with at most `most` words, and advances the state of the generator. */
void pcfg_line(uint64_t *state, int most, char line[PCFG_LINE]);

/* Returns whether the grammar contains a word. */
bool pcfg_has_word(const char *word, size_t length);

#endif
