/*
 * eval.h: refusals of the metrics. Their values: tests/unit/eval.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

static const char *const lines[] = {"the cat sat on the mat", "a dog"};
static const char *const holes[] = {"the cat sat on the mat", NULL};
static const char *const bytes[] = {"\xff\xfe \xc3", "\x01\x02"};
static const char *const blank[] = {"", "  "};

TEST(bleu) {
    PAINTED(xf_bleu_score, score);
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_bleu(holes, NULL, lines, NULL, 2, XF_BLEU_13A, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_bleu(lines, NULL, holes, NULL, 2, XF_BLEU_13A, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_bleu(lines, NULL, lines, NULL, 0, XF_BLEU_13A, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, xf_bleu(lines, NULL, lines, NULL, SIZE_MAX, XF_BLEU_13A, &score, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, score, xf_bleu(lines, NULL, lines, NULL, 2, 3, &score, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, score, xf_bleu(lines, NULL, lines, NULL, 2, -1, &score, err));
    ACCEPTED(xf_bleu(lines, NULL, lines, NULL, 1, XF_BLEU_13A, &score, err));
    assert_true(score.score > 99.99 && score.score < 100.01 && score.hypothesis_length == 6);
    assert_non_null(memchr(score.signature, 0, sizeof score.signature));
    ACCEPTED(xf_bleu(bytes, NULL, lines, NULL, 2, XF_BLEU_13A, &score, err));
    ACCEPTED(xf_bleu(lines, NULL, bytes, NULL, 2, XF_BLEU_NONE, &score, err));
    ACCEPTED(xf_bleu(blank, NULL, blank, NULL, 2, XF_BLEU_13A, &score, err));
    assert_true(score.score >= 0 && score.score <= 100.01);
    ACCEPTED(xf_bleu(blank, NULL, lines, NULL, 2, XF_BLEU_13A, &score, err));
    assert_true(score.score == 0);
    const char *compound[] = {"the well-known fox jumps over"};
    ACCEPTED(xf_bleu(compound, NULL, compound, NULL, 1, XF_BLEU_SPLIT_HYPHENS, &score, err));
    assert_true(score.score > 99.99 && score.hypothesis_length == 7);
    assert_non_null(strstr(score.signature, "tok:none-hyphens-split|smooth:none|version:"));
}

TEST(chrf) {
    double score = 99;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, chrf_of(holes, lines, 2, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, chrf_of(lines, holes, 2, &score, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, score, chrf_of(lines, lines, 0, &score, err));
    ACCEPTED(chrf_of(lines, lines, 2, &score, err));
    assert_true(score > 99.99 && score < 100.01);
    ACCEPTED(chrf_of(bytes, lines, 2, &score, err));
    ACCEPTED(chrf_of(blank, lines, 2, &score, err));
    assert_true(score == 0);
    xf_chrf_score whole = XF_CHRF_SCORE_INIT;
    ACCEPTED(xf_chrf(lines, NULL, lines, NULL, 2, &whole, err));
    assert_non_null(memchr(whole.signature, 0, sizeof whole.signature));
    assert_non_null(strstr(whole.signature, "version:"));
}

/* With sizes, a text needs no terminator and may contain NUL. */
TEST(lengths) {
    static const char *const longer[] = {"the cat sat on the mat and more", "a dog!"};
    static const size_t lengths[] = {22, 5};
    xf_bleu_score bleu[2] = {XF_BLEU_SCORE_INIT, XF_BLEU_SCORE_INIT};
    xf_chrf_score chrf[2] = {XF_CHRF_SCORE_INIT, XF_CHRF_SCORE_INIT};
    ACCEPTED(xf_bleu(lines, NULL, lines, NULL, 2, XF_BLEU_13A, &bleu[0], err));
    ACCEPTED(xf_bleu(longer, lengths, lines, NULL, 2, XF_BLEU_13A, &bleu[1], err));
    assert_memory_equal(&bleu[0], &bleu[1], sizeof *bleu);
    ACCEPTED(xf_bleu(lines, NULL, longer, lengths, 2, XF_BLEU_13A, &bleu[1], err));
    assert_memory_equal(&bleu[0], &bleu[1], sizeof *bleu);
    ACCEPTED(xf_chrf(lines, NULL, lines, NULL, 2, &chrf[0], err));
    ACCEPTED(xf_chrf(longer, lengths, longer, lengths, 2, &chrf[1], err));
    assert_memory_equal(&chrf[0], &chrf[1], sizeof *chrf);
    static const char *const with_nul[] = {"a\0b c d e f g"};
    static const size_t nul_length[] = {13};
    ACCEPTED(xf_bleu(with_nul, nul_length, with_nul, nul_length, 1, XF_BLEU_NONE, &bleu[0], err));
    assert_true(bleu[0].hypothesis_length > 4);
}

int main(void) { return RUN_TESTS(NULL, NULL); }
