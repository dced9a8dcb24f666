/*
 * alphabet.h - the token ids of tree symbols.
 *
 * The ids follow those of the source tokenizer: symbol s of tree.h has the id first_id + s. If `leaves` is greater than
 * 1, the id of a leaf depends on its index modulo `leaves`. Index 0 modulo `leaves` has the id of symbol 0; the other
 * values have the ids after all brackets. The decoder can then read its position from the last leaf instead of counting
 * all leaves. The meaning of a tree is the same in both cases.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_ALPHABET_H
#define PARSE_ALPHABET_H

#include "tree.h"

enum { MAX_LEAVES = 1000, END_SYMBOL = 1 /* the default of model.end_token */ };

struct alphabet {
    int32_t first_id; /* of symbol 0, the leaf */
    int32_t labels;   /* number of labels */
    int32_t leaves;   /* number of leaf ids, 1 to MAX_LEAVES */
};

static inline int32_t alphabet_size(const struct alphabet *a) { return a->leaves + 2 * a->labels; }

/* Returns the id of a leaf by its index in the tree. */
static inline int32_t id_of_leaf(const struct alphabet *a, int64_t leaf) {
    const int32_t rest = (int32_t)(leaf % a->leaves);
    return a->first_id + (rest == 0 ? SYMBOL_LEAF : 2 * a->labels + rest);
}

static inline int32_t id_of_bracket(const struct alphabet *a, int32_t symbol) { return a->first_id + symbol; }

/* Returns the symbol of an id, or -1 if the id is not a tree symbol. */
static inline int32_t symbol_of(const struct alphabet *a, int32_t id) {
    const int32_t symbol = id - a->first_id;
    if (symbol < 0 || symbol >= alphabet_size(a)) return -1;
    return symbol > 2 * a->labels ? SYMBOL_LEAF : symbol;
}

#endif
