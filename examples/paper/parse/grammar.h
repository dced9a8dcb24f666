/*
 * grammar.h - holds beam search to well-formed trees: a constraint for xf_decode().
 *
 * A tree of a sentence of n words has one root; each bracket is closed with the label it was opened with, and has
 * something in it; there are n leaves. That the search can't run into a dead end takes one rule more. What a prefix
 * still needs at the least is
 *
 *     leaves left + brackets open + 1 (the end symbol)
 *
 * tokens. A leaf and a closing bracket lower that by one and use up one token, so they are always within the budget; an
 * opening bracket raises it by one, and is allowed only as long as it then still fits into what remains.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_GRAMMAR_H
#define PARSE_GRAMMAR_H

#include <xformer/xformer.h>

#include "alphabet.h"

/* What the constraint is told about the sentences of a call: give its address as `user`. */
struct grammar {
    struct alphabet alphabet;
    const int64_t *words; /* of each sentence of the batch */
    size_t sentences;
};

/*
 * An xf_constraint_fn. Fails for a sentence it does not know and for a prefix it did not allow. Where no tree fits into
 * what remains at the start it allows nothing, and the sentence has no answer.
 */
int32_t grammar_allow(void *user, const xf_prefix *prefix, uint32_t *allowed);

#endif
