/*
 * grammar.h - a constraint for xf_decode() that restricts beam search to well-formed trees.
 *
 * The tree of a sentence of n words has one root and n leaves. Each bracket is closed with the label that opened it and
 * is not empty. One more rule prevents dead ends. To complete a prefix, the search needs at least
 *
 *     remaining leaves + open brackets + 1 (the end token)
 *
 * tokens. A leaf or a closing bracket reduces this number by one and uses one token, so it always fits. An opening
 * bracket increases the number by one, and is allowed only if the result still fits into the remaining tokens.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_GRAMMAR_H
#define PARSE_GRAMMAR_H

#include <xformer/experimental.h>

#include "alphabet.h"

/* The sentences of a call. Pass its address as `user`. */
struct grammar {
    struct alphabet alphabet;
    const int64_t *words; /* of each sentence of the batch */
    size_t sentences;
};

/*
 * An xf_constraint_fn. Fails for a sentence index that is out of range and for a prefix that it did not allow. If no
 * tree fits into the token limit, it allows no token, and the sentence has no hypothesis.
 */
int32_t grammar_allow(void *user, const xf_constraint_step *step);

#endif
