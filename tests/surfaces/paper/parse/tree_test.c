/*
 * tree_test.c - reading, checking and writing linearised trees; pairs; the generator of pairs whose trees are known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pairs.h"
#include "pcfg.h"
#include "recombine.h"

static enum tree_fault fault_of(const char *text, int64_t leaves) {
    struct labels labels = {0};
    struct tree tree = {0};
    enum tree_fault fault = tree_read(&tree, &labels, true, text, strlen(text));
    if (fault == TREE_OK) fault = tree_check(tree.symbols, tree.length, leaves);
    tree_free(&tree);
    return fault;
}

TEST(faults) {
    assert_int_equal(fault_of("(S XX )S", 1), TREE_OK);
    assert_int_equal(fault_of("(S (NP XX XX )NP (VP XX )VP XX )S", 4), TREE_OK);
    assert_int_equal(fault_of("(S (S (S XX )S )S )S", -1), TREE_OK);
    assert_int_equal(fault_of("", 1), TREE_NOTHING);
    assert_int_equal(fault_of("(S XX )S", 2), TREE_LEAVES);
    assert_int_equal(fault_of("XX", 1), TREE_OUTSIDE);
    assert_int_equal(fault_of("(S XX )S XX", 2), TREE_OUTSIDE);
    assert_int_equal(fault_of("(S XX )S (S XX )S", 2), TREE_OUTSIDE);
    assert_int_equal(fault_of("(S (NP )NP XX )S", 1), TREE_EMPTY_BRACKET);
    assert_int_equal(fault_of("(S (NP XX )VP )S", 1), TREE_MISMATCH);
    assert_int_equal(fault_of("(S (NP XX )S )NP", 1), TREE_MISMATCH);
    assert_int_equal(fault_of(")S XX", 1), TREE_MISMATCH);
    assert_int_equal(fault_of("(S XX )S )S", 1), TREE_MISMATCH);
    assert_int_equal(fault_of("(S (NP XX )NP", 1), TREE_OPEN);
    assert_int_equal(fault_of("(S YY )S", 1), TREE_UNKNOWN_WORD);
    assert_int_equal(fault_of("(S  XX )S", 1), TREE_UNKNOWN_WORD); /* two blanks */
    assert_int_equal(fault_of("( XX )S", 1), TREE_UNKNOWN_WORD);
    assert_int_equal(fault_of("(ABCDEFGHIJKLMNOPQRSTUVWX XX )S", 1), TREE_UNKNOWN_LABEL); /* 24 letters */
}

TEST(text) {
    static const char text[] = "(S (NP XX XX )NP (VP XX (NP XX )NP )VP XX )S";
    struct labels labels = {0};
    struct tree tree = tree_of(&labels, text);
    assert_int_equal(labels.count, 3);
    assert_string_equal(labels.names[2], "VP");
    assert_int_equal(tree_leaves(tree.symbols, tree.length), 5);
    char *written = malloc(tree_text_size(&labels, tree.symbols, tree.length));
    tree_write(written, &labels, tree.symbols, tree.length);
    assert_string_equal(written, text);
    /* A label that the table lacks is refused when it may not grow. */
    assert_int_equal(tree_read(&tree, &labels, false, "(PP XX )PP", 10), TREE_UNKNOWN_LABEL);
    assert_int_equal(labels.count, 3);
    free(written);
    tree_free(&tree);
}

/* Writes a file and says whether it is read as pairs. */
static bool reads(const char *text, struct pairs *pairs, struct labels *labels) {
    char path[] = "/tmp/xf_parse_pairs_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    const bool good = pairs_read(pairs, labels, true, path);
    remove(path);
    return good;
}

TEST(pairs) {
    struct pairs pairs = {0};
    struct labels labels = {0};
    assert_true(reads("Dogs bark .\t(S (NP XX )NP (VP XX )VP XX )S\r\n\xc2\xab x \xc2\xbb\t(S XX (NP XX )NP XX )S",
                      &pairs, &labels));
    assert_int_equal(pairs.count, 2);
    assert_string_equal(pairs.list[0].text, "Dogs bark .");
    assert_int_equal(pairs.list[0].words, 3);
    assert_true(!pairs.list[0].deleted[0] && !pairs.list[0].deleted[1] && pairs.list[0].deleted[2]);
    assert_true(pairs.list[1].deleted[0] && !pairs.list[1].deleted[1] && pairs.list[1].deleted[2]);
    pairs_limit(&pairs, 1);
    assert_int_equal(pairs.count, 1);
    pairs_free(&pairs);
    static const char *const bad[] = {"Dogs bark\t(S XX )S\n", "Dogs\n", "\t(S XX )S\n", "Dogs\t(S XX )NP\n", ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        assert_false(reads(bad[i], &pairs, &labels));
        pairs_free(&pairs);
    }
    assert_false(pairs_read(&pairs, &labels, true, "/nowhere/at-all.tsv"));
}

/* A batch has the ids of the tokenizer for sentences and those of the alphabet for trees, each with its end. */
TEST(batch) {
    struct pairs pairs = {0};
    struct labels labels = {0};
    static const char *const lines[] = {"a b\t(S XX XX )S", "a b c d\t(S XX (NP XX XX )NP XX )S"};
    for (int i = 0; i < 2; ++i) {
        struct pair *pair;
        assert_null(pairs_add_line(&pairs, &labels, true, lines[i], strlen(lines[i])));
        pair = &pairs.list[i];
        pair->source_length = i + 1;
        pair->source = malloc((size_t)pair->source_length * sizeof *pair->source);
        for (int32_t k = 0; k <= i; ++k) pair->source[k] = 10 * i + k;
    }
    const size_t index[] = {1, 0};
    struct own_batch own = {0};
    const struct alphabet alphabet = {100, 2, 3};
    own_batch_fill(&own, &pairs, index, 2, &alphabet);
    assert_int_equal(own.batch.sentences, 2);
    static const int32_t sources[] = {10, 11, 0};
    static const int64_t source_offsets[] = {0, 2, 3}, target_offsets[] = {0, 9, 14};
    static const int32_t targets[] = {101, 100,        103, 105, 106, 104, 100,
                                      102, END_SYMBOL, 101, 100, 105, 102, END_SYMBOL};
    assert_memory_equal(own.batch.src_ids, sources, sizeof sources);
    assert_memory_equal(own.batch.src_offsets, source_offsets, sizeof source_offsets);
    assert_memory_equal(own.batch.tgt_ids, targets, sizeof targets);
    assert_memory_equal(own.batch.tgt_offsets, target_offsets, sizeof target_offsets);
    own_batch_fill(&own, &pairs, index, 2, NULL);
    assert_memory_equal(own.batch.src_ids, sources, sizeof sources);
    assert_null(own.batch.tgt_ids);
    assert_null(own.batch.tgt_offsets);
    own_batch_free(&own);
    pairs_free(&pairs);
}

/*
 * Returns whether each word is the lowercase label of its bracket and only the first word of the sentence ends with a
 * plus, as in the next test.
 */
static bool words_fit(const struct pair *pair, const struct labels *labels) {
    int32_t open[64];
    size_t depth = 0;
    const char *word = pair->text;
    bool first = true;
    for (size_t i = 0; i < pair->tree.length; ++i) {
        const int32_t symbol = pair->tree.symbols[i];
        if (is_opening(symbol)) open[depth++] = label_of(symbol);
        if (is_closing(symbol)) --depth;
        if (symbol != SYMBOL_LEAF) continue;
        const char *label = labels->names[open[depth - 1]];
        for (; *label != '\0'; ++label, ++word)
            if (*word != *label + ('a' - 'A')) return false;
        if ((*word == '+') != first) return false;
        word += first;
        first = false;
        if (*word++ != ' ' && i + 1 < pair->tree.length && depth > 1) return false;
    }
    return true;
}

/* Words remain in their brackets, results are trees, limits hold, and the result depends only on the seed. */
TEST(recombine) {
    static const char *const lines[] = {
        "np+ np vp np s\t(S (NP XX XX )NP (VP XX (NP XX )NP )VP XX )S",
        "vp+ pp np np np s\t(S (VP XX (PP XX (NP XX XX XX )NP )PP )VP XX )S",
        "np+ pp np vp s s\t(S (NP (NP XX )NP (PP XX (NP XX )NP )PP )NP (VP XX (S XX )S )VP XX )S", "s+\t(S XX )S",
        "adjp+ s\t(S (ADJP XX )ADJP XX )S"};
    enum { COUNT = 5, COPIES = 40, LONGEST = 9 };
    struct pairs pairs[3] = {{0}};
    struct labels labels = {0};
    for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < COUNT; ++i)
            assert_null(pairs_add_line(&pairs[k], &labels, true, lines[i], strlen(lines[i])));
        pairs_recombine(&pairs[k], COPIES, LONGEST, k < 2 ? 7 : 8);
    }
    int64_t longest = 0;
    size_t changed = 0;
    for (size_t i = 0; i < pairs[0].count; ++i) {
        const struct pair *pair = &pairs[0].list[i];
        assert_int_equal(tree_check(pair->tree.symbols, pair->tree.length, pair->words), TREE_OK);
        assert_true(words_fit(pair, &labels));
        assert_true(pair->words <= LONGEST);
        if (pair->words > longest) longest = pair->words;
        changed += i >= COUNT && strcmp(pair->text, pairs[0].list[0].text) != 0;
        /* The last two lines have nothing that could be exchanged: no bracket, or one whose label no other has. */
        if (i >= COUNT) assert_true(pair->words > 2);
    }
    assert_true(pairs[0].count > COUNT + 2 * COPIES && pairs[0].count <= COUNT + 3 * COPIES);
    assert_int_equal(longest, LONGEST);
    assert_true(changed > COPIES);
    /* The same seed, the same pairs; another, others. */
    assert_int_equal(pairs[1].count, pairs[0].count);
    size_t equal = 0;
    for (size_t i = 0; i < pairs[0].count; ++i) {
        assert_string_equal(pairs[0].list[i].text, pairs[1].list[i].text);
        assert_int_equal(pairs[0].list[i].tree.length, pairs[1].list[i].tree.length);
        equal += i < pairs[2].count && strcmp(pairs[0].list[i].text, pairs[2].list[i].text) == 0;
    }
    assert_true(equal < pairs[0].count);
    for (int k = 0; k < 3; ++k) pairs_free(&pairs[k]);
    pairs_recombine(&pairs[0], 3, 9, 1); /* of nothing, nothing */
    assert_int_equal(pairs[0].count, 0);
}

/* The plan of an epoch holds each pair once, keeps to the limit, and differs from that of the next. */
TEST(plan) {
    struct pairs pairs = {0};
    struct labels labels = {0};
    struct plan plan = {0};
    uint64_t random = 5;
    char line[PCFG_LINE];
    for (int i = 0; i < 500; ++i) {
        pcfg_line(&random, 25, line);
        assert_null(pairs_add_line(&pairs, &labels, true, line, strlen(line)));
        pairs.list[i].source_length = (int32_t)pairs.list[i].words + 1;
    }
    assert_true(plan_open(&plan, &pairs, 300, 7));
    const int64_t batches = (int64_t)plan.count;
    assert_true(batches > 10);
    int seen[500] = {0};
    size_t first = 0, differ = 0;
    for (int64_t step = 0; step < 3 * batches; ++step) {
        size_t count = 0, tokens = 0;
        const size_t *index = plan_batch(&plan, step, &count);
        assert_int_equal(plan.count, batches);
        for (size_t i = 0; i < count; ++i) {
            ++seen[index[i]];
            tokens += pairs.list[index[i]].tree.length + 1;
        }
        assert_true(count > 0 && tokens <= 300);
        if (step == 0) first = index[0];
        if (step == batches) differ = index[0] != first;
    }
    for (int i = 0; i < 500; ++i) assert_int_equal(seen[i], 3);
    assert_int_equal(differ, 1);
    /* Going back to the first epoch gives its batches again. */
    size_t count = 0;
    assert_int_equal(plan_batch(&plan, 0, &count)[0], first);
    plan_free(&plan);
    assert_false(plan_open(&plan, &pairs, 5, 7)); /* no pair may be longer than a batch */
    pairs_free(&pairs);
}

/* The generator writes trees, the same for the same seed, and no sentence has two trees. */
TEST(pcfg) {
    enum { LINES = 3000 };
    static char lines[LINES][PCFG_LINE / 8];
    char line[PCFG_LINE];
    uint64_t random = 3, again = 3;
    struct labels labels = {0};
    for (int i = 0; i < LINES; ++i) {
        struct pairs pairs = {0};
        pcfg_line(&random, 20, line);
        assert_null(pairs_add_line(&pairs, &labels, true, line, strlen(line)));
        assert_true(pairs.list[0].words >= 4 && pairs.list[0].words <= 20);
        pairs_free(&pairs);
        assert_true(strlen(line) < sizeof lines[i]);
        strcpy(lines[i], line);
        pcfg_line(&again, 20, line);
        assert_string_equal(line, lines[i]);
    }
    assert_int_equal(labels.count, 7); /* S NP VP PP SBAR WHNP ADVP */
    qsort(lines, LINES, sizeof lines[0], (int (*)(const void *, const void *))strcmp);
    int repeated = 0;
    for (int i = 1; i < LINES; ++i) {
        const size_t length = strcspn(lines[i], "\t") + 1;
        if (strncmp(lines[i - 1], lines[i], length) != 0) continue;
        assert_string_equal(lines[i - 1], lines[i]);
        ++repeated;
    }
    assert_true(repeated > 0);
}

int main(void) { return RUN_TESTS(NULL, NULL); }
