/*
 * recombine.h - more pairs to learn from, made of those there are.
 *
 * A bracket of a sentence is exchanged, words and all, for one of the same label of another sentence (substructure
 * substitution, Shi et al. 2021). What comes out is seldom a sentence a person would say, but its tree is known, and
 * a parser that has 40,000 trees to learn from can't lean on having seen the sentence.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_RECOMBINE_H
#define PARSE_RECOMBINE_H

#include "pairs.h"

/*
 * Adds up to `copies` pairs for each that is there; one in which nothing could be exchanged gives none. A root is never
 * exchanged, the beginning of a sentence only for another one, and no sentence gets more than `longest` words. The same
 * seed gives the same pairs.
 */
void pairs_recombine(struct pairs *pairs, int64_t copies, int64_t longest, uint64_t seed);

#endif
