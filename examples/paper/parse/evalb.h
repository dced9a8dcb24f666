/*
 * evalb.h - labelled bracketing scores by the rules of EVALB (Sekine and Collins) with COLLINS.prm.
 *
 * - The brackets of a tree are a multiset of (label, first word, last word); gold and answer share its intersection.
 * - Of a label counts what stands before "-" or "=": NP-SBJ and NP=2 are NP. A bracket labelled TOP does not count.
 *   ADVP and PRT are equal.
 * - Punctuation is deleted before words are numbered, and a bracket that holds nothing else is dropped. COLLINS.prm
 *   deletes by part of speech (, : `` '' .); the leaves here have none, so the word's form decides: see
 *   evalb_is_punctuation(). As in the Penn Treebank's tags, "!" and "?" count as ".", and ";", "..." and dashes as ":".
 * - An answer that is no tree, or has another number of leaves than the gold tree, is an error: EVALB leaves the
 * sentence out of all scores. strict_recall() and strict_f1() leave nothing out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_EVALB_H
#define PARSE_EVALB_H

#include "tree.h"

/* Counts over sentences. Zeroed it is that of none. */
struct evalb {
    int64_t sentences;           /* scored ones */
    int64_t errors;              /* sentences left out because of their answers */
    int64_t skipped;             /* sentences left out because all their words are deleted */
    int64_t gold, test, matched; /* brackets of the scored sentences */
    int64_t crossing;     /* brackets of answers that overlap with a gold bracket without one being inside the other */
    int64_t not_crossing; /* sentences without such a bracket */
    int64_t complete;     /* sentences whose brackets all match */
    int64_t gold_of_errors; /* gold brackets of the sentences left out */
};

/* Whether a word is deleted. */
bool evalb_is_punctuation(const char *word, size_t length);

/* Scores one answer. The gold tree is one (tree_check()); deleted says which of its words are deleted, NULL: none. */
void evalb_add(struct evalb *score, const struct labels *labels, const bool *deleted, const struct tree *gold,
               const int32_t *test, size_t test_length);

/* In percent; 0 where there is nothing to divide by. */
double evalb_recall(const struct evalb *score);
double evalb_precision(const struct evalb *score);
double evalb_f1(const struct evalb *score);
double evalb_complete(const struct evalb *score);
double evalb_average_crossing(const struct evalb *score); /* a number for each sentence, no percentage */

/* With the gold brackets of the sentences that were left out as not found. */
double evalb_strict_recall(const struct evalb *score);
double evalb_strict_f1(const struct evalb *score);

#endif
