/*
 * grammar.c - computes which symbols may follow a prefix of a tree; see grammar.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "grammar.h"

#include <string.h>

/* The state of a prefix of a tree. */
struct state {
    int64_t leaves, open; /* leaves so far, open brackets */
    int32_t innermost;    /* label of the innermost open bracket */
    int32_t last;         /* the last symbol, or -1 */
};

/* Returns false if the prefix contains an id that is not a tree symbol. */
static bool read_prefix(const struct grammar *grammar, const xf_partial *partial, struct state *state) {
    *state = (struct state){.innermost = -1, .last = -1};
    int64_t closed = 0; /* scanning backward: brackets whose opening has not been reached */
    for (size_t i = partial->id_count; i-- > 0;) {
        const int32_t symbol = symbol_of(&grammar->alphabet, partial->ids[i]);
        if (symbol < 0) return false;
        if (i == partial->id_count - 1) state->last = symbol;
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

/* Sets the bits of the symbols that may follow. Returns false for a prefix that was not allowed. */
static bool allow_next(const struct grammar *grammar, const xf_partial *partial, int32_t vocab_size) {
    const struct alphabet *alphabet = &grammar->alphabet;
    uint32_t *allowed = partial->allowed;
    struct state state;
    if (partial->sentence >= grammar->sentences || !read_prefix(grammar, partial, &state)) return false;
    memset(allowed, 0, ((size_t)vocab_size + 31) / 32 * sizeof *allowed);

    const int64_t left = grammar->words[partial->sentence] - state.leaves;
    const int64_t spare = (int64_t)partial->remaining - (left + state.open + 1);
    const bool root = partial->id_count == 0;
    if (left < 0 || (!root && spare < 0)) return false;
#define ALLOW(id) (allowed[(id) / 32] |= UINT32_C(1) << (id) % 32)
    if (left > 0 && state.open > 0) ALLOW(id_of_leaf(alphabet, state.leaves));
    if (left > 0 && (root || state.open > 0) && spare >= 2)
        for (int32_t label = 0; label < alphabet->labels; ++label) ALLOW(id_of_bracket(alphabet, opening(label)));
    /* The root is closed only after the last leaf. A bracket that was just opened is empty and cannot be closed. */
    if (state.open > 0 && !is_opening(state.last) && (state.open > 1 || left == 0))
        ALLOW(id_of_bracket(alphabet, closing(state.innermost)));
    if (!root && state.open == 0) ALLOW(END_SYMBOL);
#undef ALLOW
    return true;
}

int32_t grammar_allow(void *user, const xf_constraint_step *step) {
    const struct grammar *grammar = user;
    if (grammar->alphabet.first_id + alphabet_size(&grammar->alphabet) > step->vocab_size) return 1;
    for (size_t i = 0; i < step->count; ++i)
        if (!allow_next(grammar, step->partials[i], step->vocab_size)) return 1;
    return 0;
}
