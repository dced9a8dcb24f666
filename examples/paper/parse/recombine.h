/*
 * recombine.h - creates additional training pairs from existing ones.
 *
 * A bracket of a sentence, including its words, is replaced with a bracket of the same label from another sentence
 * (substructure substitution, Shi et al. 2021). The result is rarely a natural sentence, but its tree is known. This
 * keeps a parser from memorizing the sentences of a small training set.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_RECOMBINE_H
#define PARSE_RECOMBINE_H

#include "pairs.h"

/*
 * Adds up to `copies` pairs for each existing pair, or none if no bracket can be replaced. A root is never replaced,
 * the start of a sentence is replaced only with another start, and no sentence has more than `longest` words. The same
 * seed produces the same pairs.
 */
void pairs_recombine(struct pairs *pairs, int64_t copies, int64_t longest, uint64_t seed);

#endif
