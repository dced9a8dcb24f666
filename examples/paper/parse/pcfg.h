/*
 * pcfg.h - sentences of a small probabilistic grammar with their trees: a corpus whose right answers are known.
 *
 * The words decide the tree. Each has one part of speech. "of" always belongs to the noun before it; "with" and an
 * adverb to the verb; and after something that ends in a clause neither follows on the outer verb, so that there is
 * nothing to guess. What has learnt the grammar parses new sentences without a mistake.
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

/* Writes "sentence TAB tree" of a random sentence; the state of the generator goes on. At most `most` words. */
void pcfg_line(uint64_t *state, int most, char line[PCFG_LINE]);

/* Whether sentences of the grammar can hold a word. */
bool pcfg_has_word(const char *word, size_t length);

#endif
