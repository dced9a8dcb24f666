/*
 * evalb_test.c - the rules of EVALB on handwritten cases and on those of evalb_cases.tsv, which make_evalb_cases.py
 * generated with an independent implementation and PYEVALB.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evalb.h"
#include "pairs.h"

/* Adds the answer to a sentence; its words decide what is deleted. */
static void add(struct evalb *score, struct labels *labels, const char *sentence, const char *gold, const char *test) {
    struct pairs pairs = {0};
    struct tree wanted = tree_of(labels, gold), found = tree_of(labels, test);
    assert_true(pairs_add(&pairs, sentence, strlen(sentence)));
    assert_int_equal(tree_check(wanted.symbols, wanted.length, pairs.list[0].words), TREE_OK);
    evalb_add(score, labels, pairs.list[0].deleted, &wanted, found.symbols, found.length);
    tree_free(&wanted);
    tree_free(&found);
    pairs_free(&pairs);
}

static struct evalb score_of(const char *sentence, const char *gold, const char *test) {
    struct labels labels = {0};
    struct evalb score = {0};
    add(&score, &labels, sentence, gold, test);
    return score;
}

#define EXPECT(score, gold_, test_, matched_, crossing_, complete_)                           \
    do {                                                                                      \
        const struct evalb got = (score);                                                     \
        assert_int_equal(got.sentences, 1);                                                   \
        assert_true(got.gold == (gold_) && got.test == (test_) && got.matched == (matched_)); \
        assert_true(got.crossing == (crossing_) && got.complete == (complete_));              \
        assert_int_equal(got.not_crossing, (crossing_) == 0);                                 \
    } while (0)

TEST(by_hand) {
    /* The same tree. */
    EXPECT(score_of("the dog barks", "(S (NP XX XX )NP (VP XX )VP )S", "(S (NP XX XX )NP (VP XX )VP )S"), 3, 3, 3, 0,
           1);
    /* Another label. */
    EXPECT(score_of("the dog barks", "(S (NP XX XX )NP (VP XX )VP )S", "(S (NP XX XX )NP (NP XX )NP )S"), 3, 3, 2, 0,
           0);
    /* A bracket that crosses: [1, 3) against [0, 2). */
    EXPECT(score_of("a b c", "(S (NP XX XX )NP XX )S", "(S XX (NP XX XX )NP )S"), 2, 2, 1, 1, 0);
    /* A bracket that crosses two gold brackets counts once. */
    EXPECT(score_of("a b c d", "(S (NP XX (NP XX XX )NP )NP XX )S", "(S XX XX (VP XX XX )VP )S"), 3, 2, 1, 1, 0);
    /* One inside another does not cross; neither do neighbours. */
    EXPECT(score_of("a b c", "(S (NP XX XX XX )NP )S", "(S (NP (NP XX )NP XX XX )NP )S"), 2, 3, 2, 0, 0);
    EXPECT(score_of("a b c", "(S (NP XX )NP XX XX )S", "(S XX (NP XX XX )NP )S"), 2, 2, 1, 0, 0);
    /* Multisets: the same bracket twice in gold and once in the answer matches once, and the other way round. */
    EXPECT(score_of("a b", "(S (NP (NP XX )NP )NP XX )S", "(S (NP XX )NP XX )S"), 3, 2, 2, 0, 0);
    EXPECT(score_of("a b", "(S (NP XX )NP XX )S", "(S (NP (NP XX )NP )NP XX )S"), 2, 3, 2, 0, 0);
    /* The order of a chain of brackets over the same words does not matter. */
    EXPECT(score_of("a", "(S (VP (NP XX )NP )VP )S", "(NP (S (VP XX )VP )S )NP"), 3, 3, 3, 0, 1);
}

TEST(rules) {
    /* Punctuation is deleted: where it hangs makes no difference. */
    EXPECT(score_of("dogs bark .", "(S (NP XX )NP (VP XX )VP XX )S", "(S (NP XX )NP (VP XX XX )VP )S"), 3, 3, 3, 0, 1);
    EXPECT(score_of("\" dogs \" , bark !", "(S XX (NP XX )NP XX XX (VP XX )VP XX )S",
                    "(S (NP XX XX XX XX )NP (VP XX XX )VP )S"),
           3, 3, 3, 0, 1);
    /* A bracket that contains only punctuation is dropped, on either side. */
    EXPECT(score_of("dogs bark .", "(S (NP XX )NP (VP XX )VP (PRN XX )PRN )S", "(S (NP XX )NP (VP XX )VP XX )S"), 3, 3,
           3, 0, 1);
    EXPECT(score_of("dogs bark .", "(S (NP XX )NP (VP XX )VP XX )S", "(S (NP XX )NP (VP XX )VP (X (Y XX )Y )X )S"), 3,
           3, 3, 0, 1);
    /* The root TOP does not count; ADVP and PRT are equal, whichever of them the table has. */
    EXPECT(score_of("a b", "(TOP (S XX (NP XX )NP )S )TOP", "(S XX (NP XX )NP )S"), 2, 2, 2, 0, 1);
    EXPECT(score_of("give up", "(VP XX (PRT XX )PRT )VP", "(VP XX (ADVP XX )ADVP )VP"), 2, 2, 2, 0, 1);
    EXPECT(score_of("give up", "(VP XX (PRT XX )PRT )VP", "(VP XX (PRT XX )PRT )VP"), 2, 2, 2, 0, 1);
    /* Functions and indices of a label are ignored, and so is its position in the table. */
    EXPECT(score_of("a b", "(S (NP-SBJ XX )NP-SBJ (VP XX )VP )S", "(S (NP XX )NP (VP XX )VP )S"), 3, 3, 3, 0, 1);
    EXPECT(score_of("a b", "(S (NP XX )NP (NP=2 XX )NP=2 )S", "(S (NP-SBJ-1 XX )NP-SBJ-1 (NP XX )NP )S"), 3, 3, 3, 0,
           1);
    EXPECT(score_of("a b", "(S (NP-SBJ XX )NP-SBJ XX )S", "(S (NPX XX )NPX XX )S"), 2, 2, 1, 0, 0);
    EXPECT(score_of("give up", "(VP XX (PRT XX )PRT )VP", "(VP XX (ADVP-DIR XX )ADVP-DIR )VP"), 2, 2, 2, 0, 1);
    EXPECT(score_of("a b", "(TOP-1 (S XX XX )S )TOP-1", "(S XX XX )S"), 1, 1, 1, 0, 1);
    /* Words that look like punctuation and are not. */
    assert_false(evalb_is_punctuation("(", 1));
    assert_false(evalb_is_punctuation("%", 1));
    assert_false(evalb_is_punctuation(".5", 2));
    assert_false(evalb_is_punctuation("'s", 2));
    assert_true(evalb_is_punctuation("...", 3) && evalb_is_punctuation("\xe2\x80\x94", 3));
}

TEST(errors) {
    static const char gold[] = "(S (NP XX )NP (VP XX )VP )S";
    struct labels labels = {0};
    struct evalb score = {0};
    add(&score, &labels, "a b", gold, "(S XX )S");          /* unlike lengths */
    add(&score, &labels, "a b", gold, "(S (NP XX )NP XX");  /* no tree */
    add(&score, &labels, "a b", gold, "(S XX )S (S XX )S"); /* two */
    add(&score, &labels, "a b", gold, "");                  /* nothing */
    assert_true(score.sentences == 0 && score.errors == 4 && score.gold == 0 && score.gold_of_errors == 12);
    assert_true(evalb_f1(&score) == 0 && evalb_recall(&score) == 0 && evalb_complete(&score) == 0);
    add(&score, &labels, ". .", "(S XX XX )S", "(S XX XX )S"); /* only punctuation */
    assert_true(score.sentences == 0 && score.skipped == 1);
    add(&score, &labels, "a b", gold, gold);
    assert_true(score.sentences == 1 && score.matched == 3 && score.complete == 1);
    assert_true(fabs(evalb_f1(&score) - 100) < 1e-12 && fabs(evalb_complete(&score) - 100) < 1e-12);
    assert_true(fabs(evalb_strict_recall(&score) - 20) < 1e-12);               /* 3 of 15 */
    assert_true(fabs(evalb_strict_f1(&score) - 100.0 / 3) < 1e-12);            /* 2 * 20 * 100 / 120 */
    add(&score, &labels, "a b", gold, "(S (VP XX )VP (VP XX )VP (X XX )X )S"); /* unlike lengths once more */
    add(&score, &labels, "a b", gold, "(S XX XX )S");
    assert_true(fabs(evalb_recall(&score) - 400.0 / 6) < 1e-12 && fabs(evalb_precision(&score) - 100) < 1e-12);
    assert_true(fabs(evalb_f1(&score) - 80) < 1e-12 && fabs(evalb_complete(&score) - 50) < 1e-12);
    assert_true(evalb_average_crossing(&score) == 0);
}

/* Lines of sentence, gold, test, then state, gold, test, matched, crossing, complete. */
TEST(golden) {
    FILE *file = fopen(XF_EVALB_CASES, "r");
    assert_non_null(file);
    char line[16384];
    int lines = 0, errors = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#') continue;
        char *field[9];
        char *rest = line;
        for (int i = 0; i < 9; ++i) {
            field[i] = rest;
            rest += strcspn(rest, "\t\n");
            *rest++ = '\0';
        }
        const struct evalb score = score_of(field[0], field[1], field[2]);
        long expected[6];
        for (int i = 0; i < 6; ++i) expected[i] = strtol(field[i + 3], NULL, 10);
        assert_int_equal(score.errors, expected[0]);
        assert_int_equal(score.gold, expected[1]);
        assert_int_equal(score.test, expected[2]);
        assert_int_equal(score.matched, expected[3]);
        assert_int_equal(score.crossing, expected[4]);
        assert_int_equal(score.complete, expected[5]);
        ++lines;
        errors += score.errors != 0;
    }
    fclose(file);
    assert_int_equal(lines, 400);
    assert_true(errors > 10);
}

int main(void) { return RUN_TESTS(NULL, NULL); }
