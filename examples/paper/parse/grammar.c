/*
 * grammar.c - which symbols may follow the beginning of a tree; see grammar.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "grammar.h"

#include <string.h>

/* What the beginning of a tree leaves open. */
struct state {
    int64_t leaves, open; /* leaves so far, brackets that are open */
    int32_t innermost;    /* label of the innermost of these */
    int32_t last;         /* the last symbol, or -1 */
};

/* False when the prefix holds what is no symbol. */
static bool read_prefix(const struct grammar *grammar, const xf_prefix *prefix, struct state *state) {
    *state = (struct state){.innermost = -1, .last = -1};
    int64_t closed = 0; /* backwards: brackets whose beginnings are still to come */
    for (int64_t i = prefix->length - 1; i >= 0; --i) {
        const int32_t symbol = symbol_of(&grammar->alphabet, prefix->ids[i]);
        if (symbol < 0) return false;
        if (i == prefix->length - 1) state->last = symbol;
        if (symbol == SYMBOL_LEAF) {
            ++state->leaves;
        } else if (is_closing(symbol)) {
            ++closed;
        } else if (closed > 0) {
            --closed;
        } else {
            if (state->open == 0) state->innermost = label_of(symbol);
            ++state->open;
        }
    }
    return closed == 0;
}

int32_t grammar_allow(void *user, const xf_prefix *prefix, uint32_t *allowed) {
    const struct grammar *grammar = user;
    const struct alphabet *alphabet = &grammar->alphabet;
    struct state state;
    if (prefix->sentence >= grammar->sentences || !read_prefix(grammar, prefix, &state)) return 1;
    if (alphabet->first_id + alphabet_size(alphabet) > prefix->vocab_size) return 1;
    memset(allowed, 0, (size_t)(prefix->vocab_size + 31) / 32 * sizeof *allowed);

    const int64_t left = grammar->words[prefix->sentence] - state.leaves;
    const int64_t spare = prefix->remaining - (left + state.open + 1);
    const bool root = prefix->length == 0;
    if (left < 0 || (!root && spare < 0)) return 1;
#define ALLOW(id) (allowed[(id) / 32] |= UINT32_C(1) << (id) % 32)
    if (left > 0 && state.open > 0) ALLOW(id_of_leaf(alphabet, state.leaves));
    if (left > 0 && (root || state.open > 0) && spare >= 2)
        for (int32_t label = 0; label < alphabet->labels; ++label) ALLOW(id_of_bracket(alphabet, opening(label)));
    /* The root is closed last of all; a bracket that was just opened is still empty. */
    if (state.open > 0 && !is_opening(state.last) && (state.open > 1 || left == 0))
        ALLOW(id_of_bracket(alphabet, closing(state.innermost)));
    if (!root && state.open == 0) ALLOW(XF_TOKEN_END);
#undef ALLOW
    return 0;
}
