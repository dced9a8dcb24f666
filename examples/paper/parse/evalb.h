/*
 * evalb.h - labeled bracketing scores by the rules of EVALB (Sekine and Collins) with COLLINS.prm.
 *
 * - The brackets of a tree are a multiset of (label, first word, last word); the matched brackets are
 *   the intersection of the multisets of gold tree and answer.
 * - A label is cut at "-" or "=": NP-SBJ and NP=2 are NP. Brackets with the label TOP are ignored. ADVP and PRT are
 *   equal.
 * - Punctuation is deleted before words are numbered, and a bracket that contains only punctuation is dropped.
 *   COLLINS.prm deletes by part of speech (, : `` '' .). The leaves here have no part of speech, so the word itself
 *   decides: see evalb_is_punctuation(). As in the tags of the Penn Treebank, "!" and "?" count as ".", and ";", "...",
 *   and dashes count as ":".
 * - An answer that is not a tree, or whose number of leaves differs from the gold tree, is an error. EVALB excludes
 * such a sentence from all scores; evalb_strict_recall() and evalb_strict_f1() include it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_EVALB_H
#define PARSE_EVALB_H

#include "tree.h"

/* Counts over sentences. Initialize it with zeros. */
struct evalb {
    int64_t sentences;           /* scored sentences */
    int64_t errors;              /* sentences excluded because of their answers */
    int64_t skipped;             /* sentences excluded because all their words are deleted */
    int64_t gold, test, matched; /* brackets of the scored sentences */
    int64_t crossing;            /* brackets of answers that partially overlap a gold bracket */
    int64_t not_crossing;        /* sentences without such a bracket */
    int64_t complete;            /* sentences whose brackets all match */
    int64_t gold_of_errors;      /* gold brackets of the sentences in errors */
};

/* Returns whether a word is punctuation, which is deleted. */
bool evalb_is_punctuation(const char *word, size_t length);

/* Scores one answer. `gold` must be a valid tree (tree_check()); `deleted` marks its deleted words, NULL: none. */
void evalb_add(struct evalb *score, const struct labels *labels, const bool *deleted, const struct tree *gold,
               const int32_t *test, size_t test_length);

/* Percentages; 0 if the divisor is 0. */
double evalb_recall(const struct evalb *score);
double evalb_precision(const struct evalb *score);
double evalb_f1(const struct evalb *score);
double evalb_complete(const struct evalb *score);
double evalb_average_crossing(const struct evalb *score); /* a mean per sentence, not a percentage */

/* Also count the gold brackets of the sentences in errors, as not found. */
double evalb_strict_recall(const struct evalb *score);
double evalb_strict_f1(const struct evalb *score);

#endif
