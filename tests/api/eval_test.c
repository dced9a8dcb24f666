/*
 * eval.h: refusals of the metrics. Their values: tests/eval.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

static const char *const lines[] = {"the cat sat on the mat", "a dog"};
static const char *const holes[] = {"the cat sat on the mat", NULL};
static const char *const bytes[] = {"\xff\xfe \xc3", "\x01\x02"};
static const char *const blank[] = {"", "  "};

static void test_bleu(void **state) {
    (void)state;
    xf_bleu_score score;
    memset(&score, 0x5A, sizeof score);
    score.struct_size = sizeof score;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_bleu(NULL, lines, 2, XF_BLEU_13A, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_bleu(lines, NULL, 2, XF_BLEU_13A, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_bleu(holes, lines, 2, XF_BLEU_13A, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_bleu(lines, holes, 2, XF_BLEU_13A, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_bleu(lines, lines, 0, XF_BLEU_13A, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_bleu(lines, lines, SIZE_MAX, XF_BLEU_13A, &score, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, score, xf_bleu(lines, lines, 2, 3, &score, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, score, xf_bleu(lines, lines, 2, -1, &score, err));
    CHECK_OUTPUT_STRUCT(xf_bleu_score, out, xf_bleu(lines, lines, 2, XF_BLEU_NONE, out, err));
    ACCEPTED(xf_bleu(lines, lines, 1, XF_BLEU_13A, &score, err));
    assert_true(score.score > 99.99 && score.score < 100.01 && score.hypothesis_length == 6);
    assert_non_null(memchr(score.signature, 0, sizeof score.signature));
    ACCEPTED(xf_bleu(bytes, lines, 2, XF_BLEU_13A, &score, err));
    ACCEPTED(xf_bleu(lines, bytes, 2, XF_BLEU_NONE, &score, err));
    ACCEPTED(xf_bleu(blank, blank, 2, XF_BLEU_13A, &score, err));
    assert_true(score.score >= 0 && score.score <= 100.01);
    ACCEPTED(xf_bleu(blank, lines, 2, XF_BLEU_13A, &score, err));
    assert_true(score.score == 0);
    const char *compound[] = {"the well-known fox jumps over"};
    ACCEPTED(xf_bleu(compound, compound, 1, XF_BLEU_SPLIT_HYPHENS, &score, err));
    assert_true(score.score > 99.99 && score.hypothesis_length == 7);
    assert_non_null(strstr(score.signature, "tok:none-hyphens-split|smooth:none|version:"));
}

static void test_chrf(void **state) {
    (void)state;
    double score = 99;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_chrf(NULL, lines, 2, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_chrf(lines, NULL, 2, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_chrf(holes, lines, 2, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_chrf(lines, holes, 2, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_chrf(lines, lines, 0, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_chrf(lines, lines, 2, NULL, err));
    ACCEPTED(xf_chrf(lines, lines, 2, &score, err));
    assert_true(score > 99.99 && score < 100.01);
    ACCEPTED(xf_chrf(bytes, lines, 2, &score, err));
    ACCEPTED(xf_chrf(blank, lines, 2, &score, err));
    assert_true(score == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bleu), cmocka_unit_test(test_chrf)};
    return RUN(tests, NULL, NULL);
}
