/*
 * alphabet.h - which ids the symbols of trees have in a model.
 *
 * They stand above the ids of the source's tokenizer: symbol s of tree.h is first_id + s. With `leaves` above 1 the
 * leaves of a tree are told apart by their number modulo `leaves`: those that are no multiples of it have the ids after
 * all brackets. A decoder then sees in the last leaf how far it has come and need not count all of them; a tree means
 * the same either way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_ALPHABET_H
#define PARSE_ALPHABET_H

#include "tree.h"

enum { MAX_LEAVES = 1000 };

struct alphabet {
    int32_t first_id; /* of symbol 0, the leaf */
    int32_t labels;   /* how many */
    int32_t leaves;   /* how many ids a leaf may have, 1 to MAX_LEAVES */
};

static inline int32_t alphabet_size(const struct alphabet *a) { return a->leaves + 2 * a->labels; }

/* The id of the leaf number `leaf` of a tree, from 0. */
static inline int32_t id_of_leaf(const struct alphabet *a, int64_t leaf) {
    const int32_t rest = (int32_t)(leaf % a->leaves);
    return a->first_id + (rest == 0 ? SYMBOL_LEAF : 2 * a->labels + rest);
}

static inline int32_t id_of_bracket(const struct alphabet *a, int32_t symbol) { return a->first_id + symbol; }

/* The symbol of an id, -1 when it has none. */
static inline int32_t symbol_of(const struct alphabet *a, int32_t id) {
    const int32_t symbol = id - a->first_id;
    if (symbol < 0 || symbol >= alphabet_size(a)) return -1;
    return symbol > 2 * a->labels ? SYMBOL_LEAF : symbol;
}

#endif
