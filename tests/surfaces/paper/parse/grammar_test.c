/*
 * grammar_test.c - the constraint: what it lets through is exactly the well-formed trees that fit the budget.
 *
 * Exhaustively for small sentences: every sequence the constraint accepts is counted, checked, and compared with the
 * number that a recurrence over trees gives, which knows nothing of prefixes. Leaves have one id or several in turn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <string.h>

#include "grammar.h"
#include "pairs.h"

enum { FIRST = 7, MOST_IDS = 64, MOST_LABELS = 12 };

static bool is_allowed(const uint32_t *allowed, int32_t id) { return (allowed[id / 32] >> id % 32 & 1) != 0; }

/* Calls the constraint for one hypothesis. */
static int32_t allow(const struct grammar *grammar, const xf_partial *partial, int32_t vocab_size) {
    const xf_constraint_step step = {sizeof step, &partial, 1, vocab_size, 0};
    return grammar_allow((void *)grammar, &step);
}

/* Calls the constraint and returns the number of allowed tokens. */
static int ask(const struct grammar *grammar, const int32_t *ids, int64_t length, int64_t budget, uint32_t *allowed) {
    const int32_t vocabulary = FIRST + alphabet_size(&grammar->alphabet);
    memset(allowed, 0xff, MOST_IDS / 8);
    const xf_partial partial = {sizeof partial, 0, ids, (size_t)length, (size_t)(budget - length), allowed};
    assert_int_equal(allow(grammar, &partial, vocabulary), 0);
    int count = 0;
    for (int32_t id = 0; id < vocabulary; ++id) {
        if (!is_allowed(allowed, id)) continue;
        assert_true(id == END_SYMBOL || id >= FIRST); /* no token of the source's vocabulary */
        ++count;
    }
    return count;
}

/* Ids as symbols; each leaf must have the id of its number. */
static void read_ids(const struct alphabet *alphabet, const int32_t *ids, int64_t length, int32_t *symbols) {
    int64_t leaves = 0;
    for (int64_t i = 0; i < length; ++i) {
        symbols[i] = symbol_of(alphabet, ids[i]);
        assert_true(symbols[i] >= 0);
        if (symbols[i] == SYMBOL_LEAF) assert_int_equal(ids[i], id_of_leaf(alphabet, leaves++));
    }
}

/* Counts the answers the constraint lets through. Each is a tree; and at no place may nothing follow. */
static int64_t count_accepted(const struct grammar *grammar, int32_t *ids, int64_t length, int64_t budget) {
    uint32_t allowed[MOST_IDS / 32];
    int64_t sum = 0;
    const int count = ask(grammar, ids, length, budget, allowed);
    if (length > 0) assert_true(count > 0);
    for (int32_t id = FIRST; id < FIRST + alphabet_size(&grammar->alphabet); ++id) {
        if (!is_allowed(allowed, id)) continue;
        ids[length] = id;
        sum += count_accepted(grammar, ids, length + 1, budget);
    }
    if (!is_allowed(allowed, END_SYMBOL)) return sum;
    int32_t symbols[64];
    read_ids(&grammar->alphabet, ids, length, symbols);
    assert_int_equal(tree_check(symbols, (size_t)length, grammar->words[0]), TREE_OK);
    assert_true(length + 1 <= budget);
    return sum + 1;
}

enum { MOST_WORDS = 4, MOST_BRACKETS = 8 };

/*
 * Trees by the number of leaves n and of brackets b, for k labels: a bracket is one of k labels around a forest that is
 * not empty, and a forest is nothing, a leaf and a forest, or a bracket and a forest.
 */
static int64_t trees[MOST_WORDS + 1][MOST_BRACKETS + 1], forests[MOST_WORDS + 1][MOST_BRACKETS + 1];

static void count_trees(int64_t k) {
    memset(trees, 0, sizeof trees);
    memset(forests, 0, sizeof forests);
    for (int n = 0; n <= MOST_WORDS; ++n) {
        for (int b = 0; b <= MOST_BRACKETS; ++b) {
            if (b > 0 && n > 0) trees[n][b] = k * forests[n][b - 1]; /* with n > 0 it is not empty */
            int64_t sum = n == 0 && b == 0 ? 1 : 0;
            if (n > 0) sum += forests[n - 1][b];
            for (int m = 1; m <= n; ++m)
                for (int c = 1; c <= b; ++c) sum += trees[m][c] * forests[n - m][b - c];
            forests[n][b] = sum;
        }
    }
}

TEST(exhaustive) {
    int32_t ids[64];
    for (int32_t labels = 1; labels <= 2; ++labels) {
        count_trees(labels);
        for (int64_t words = 1; words <= (labels == 1 ? 4 : 3); ++words) {
            const struct grammar grammar = {{FIRST, labels, labels == 1 ? 3 : 1}, &words, 1};
            for (int64_t budget = 1; budget <= words + 11; ++budget) {
                /* words leaves, two symbols for a bracket, and the end */
                int64_t expected = 0;
                for (int b = 1; b <= MOST_BRACKETS && words + 2 * b + 1 <= budget; ++b) expected += trees[words][b];
                assert_int_equal(count_accepted(&grammar, ids, 0, budget), expected);
            }
        }
    }
    /* One of these numbers by hand: 1 word, 1 label, up to 5 brackets: (S XX), (S (S XX)) ... */
    const int64_t words = 1;
    const struct grammar grammar = {{FIRST, 1, 1}, &words, 1};
    assert_int_equal(count_accepted(&grammar, ids, 0, 12), 5);
}

/* Random choices among what is allowed end in a tree, whatever the budget. */
TEST(random) {
    uint64_t random = 11;
    int32_t ids[512], symbols[512];
    for (int round = 0; round < 20000; ++round) {
        const int64_t words = 1 + (int64_t)(next_random(&random) % 40);
        const struct grammar grammar = {
            {FIRST, 1 + (int32_t)(next_random(&random) % MOST_LABELS), 1 + (int32_t)(next_random(&random) % 10)},
            &words,
            1};
        const int64_t budget = words + 3 + (int64_t)(next_random(&random) % (round % 2 == 0 ? 300 : 4));
        int64_t length = 0;
        for (;;) {
            uint32_t allowed[MOST_IDS / 32];
            const int count = ask(&grammar, ids, length, budget, allowed);
            assert_true(count > 0);
            int32_t id = -1;
            for (int left = (int)(next_random(&random) % (uint64_t)count); left >= 0; --left)
                while (!is_allowed(allowed, ++id)) continue;
            if (id == END_SYMBOL) break;
            assert_true(length + 1 < budget);
            ids[length++] = id;
        }
        read_ids(&grammar.alphabet, ids, length, symbols);
        assert_int_equal(tree_check(symbols, (size_t)length, words), TREE_OK);
    }
}

TEST(refusals) {
    const int64_t words[] = {3, 0};
    const struct grammar grammar = {{FIRST, 2, 1}, words, 2};
    uint32_t allowed[MOST_IDS / 32];
    const int32_t ids[] = {FIRST + 1, FIRST, FIRST, FIRST, FIRST};
    xf_partial partial = {sizeof partial, 2, ids, 1, 20, allowed};
    assert_int_not_equal(allow(&grammar, &partial, FIRST + 5), 0); /* no such sentence */
    partial.sentence = 0;
    partial.id_count = 5; /* four leaves where there are three words */
    assert_int_not_equal(allow(&grammar, &partial, FIRST + 5), 0);
    partial.id_count = 2;
    partial.remaining = 3; /* two leaves, a closing bracket and the end are still to come */
    assert_int_not_equal(allow(&grammar, &partial, FIRST + 5), 0);
    partial.remaining = 4;
    assert_int_equal(allow(&grammar, &partial, FIRST + 5), 0);
    assert_int_not_equal(allow(&grammar, &partial, FIRST + 4), 0); /* not all symbols have an id */
    const int32_t word = 5;
    partial = (xf_partial){sizeof partial, 0, &word, 1, 20, allowed}; /* a token that is no symbol */
    assert_int_not_equal(allow(&grammar, &partial, FIRST + 5), 0);
    /* A sentence without words has no tree. */
    partial = (xf_partial){sizeof partial, 1, NULL, 0, 20, allowed};
    assert_int_equal(allow(&grammar, &partial, FIRST + 5), 0);
    assert_int_equal(allowed[0], 0);
}

/* Symbols have ids from the first to the last, and back. */
TEST(alphabet) {
    const struct alphabet alphabet = {FIRST, 2, 3}; /* XX (0 )0 (1 )1 XX' XX'' */
    assert_int_equal(alphabet_size(&alphabet), 7);
    static const int32_t symbols[] = {SYMBOL_LEAF, 1, 2, 3, 4, SYMBOL_LEAF, SYMBOL_LEAF};
    for (int32_t i = 0; i < 7; ++i) assert_int_equal(symbol_of(&alphabet, FIRST + i), symbols[i]);
    assert_int_equal(symbol_of(&alphabet, FIRST - 1), -1);
    assert_int_equal(symbol_of(&alphabet, FIRST + 7), -1);
    static const int32_t leaves[] = {FIRST, FIRST + 5, FIRST + 6, FIRST, FIRST + 5};
    for (int32_t i = 0; i < 5; ++i) assert_int_equal(id_of_leaf(&alphabet, i), leaves[i]);
    for (int32_t symbol = 1; symbol <= 4; ++symbol)
        assert_int_equal(symbol_of(&alphabet, id_of_bracket(&alphabet, symbol)), symbol);
    /* A leaf with the id of another number is not allowed after all. */
    const int64_t words = 3;
    const struct grammar grammar = {alphabet, &words, 1};
    uint32_t allowed[MOST_IDS / 32];
    const int32_t ids[] = {FIRST + 1, FIRST};
    ask(&grammar, ids, 2, 20, allowed);
    assert_true(is_allowed(allowed, FIRST + 5));
    assert_false(is_allowed(allowed, FIRST) || is_allowed(allowed, FIRST + 6));
}

int main(void) { return RUN_TESTS(NULL, NULL); }
