/*
 * decode.h: refusals of decoding, scoring and evaluating, and the edges of what is allowed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <math.h>

static const int32_t ids[6] = {5, 6, 1, 7, 8, 1}, offsets[3] = {0, 3, 6};
static const xf_batch good = {sizeof good, 2, ids, offsets, ids, offsets, NULL};

static void test_handles(void **state) {
    (void)state;
    xf_decoder *out = SENTINEL;
    xf_hypotheses *found = SENTINEL;
    double scores[2] = {99, 99};
    xf_eval_stats stats;
    memset(&stats, 0x5A, sizeof stats);
    stats.struct_size = sizeof stats;
    const char *texts[] = {"one", "two"}, *with_null[] = {"one", NULL}, *bad[] = {"one", "\xff\xfe"};
    REFUSED_HANDLE(MODEL, out, xf_decoder_create(handle, world.config, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_decoder_create(world.model, world.config, NULL, err));
    for (int i = 0; i < WRONG_HANDLES; ++i)
        if (i != CONFIG && wrong_handle(i) != NULL)
            REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_decoder_create(world.model, wrong_handle(i), &out, err));
    xf_config *config = small_config("cpu:ref");
    set(config, "decode.n_best", "5");
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_decoder_create(world.model, config, &out, err));
    xf_config_free(config);
    REFUSED_HANDLE(DECODER, found, xf_decode(handle, &good, &found, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_decode(world.decoder, &good, NULL, err));
    REFUSED_HANDLE(DECODER, found, xf_translate(handle, texts, NULL, 2, &found, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, found, xf_translate(world.decoder, NULL, NULL, 2, &found, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, found, xf_translate(world.decoder, with_null, NULL, 2, &found, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_translate(world.decoder, texts, NULL, 2, NULL, err));
    REFUSED(XF_ERROR_DATA, found, xf_translate(world.decoder, bad, NULL, 2, &found, err));
    REFUSED_HANDLE(DECODER, scores, xf_score(handle, &good, scores, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_score(world.decoder, &good, NULL, err));
    REFUSED_HANDLE(DECODER, stats, xf_evaluate(handle, &good, 1, &stats, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, stats, xf_evaluate(world.decoder, NULL, 1, &stats, err));
    CHECK_OUTPUT_STRUCT(xf_eval_stats, got, xf_evaluate(world.decoder, &good, 1, got, err));
    for (int i = 0; i < WRONG_HANDLES; ++i)
        if (i != DECODER) xf_decoder_free(wrong_handle(i));
    xf_decoder_free(NULL);
}

static void refused_batch(enum xf_status source, enum xf_status target, const xf_batch *batch) {
    xf_hypotheses *found = SENTINEL;
    double scores[4] = {99, 99, 99, 99};
    xf_eval_stats stats;
    memset(&stats, 0x5A, sizeof stats);
    stats.struct_size = sizeof stats;
    if (source != XF_OK) REFUSED(source, found, xf_decode(world.decoder, batch, &found, err));
    REFUSED(target, scores, xf_score(world.decoder, batch, scores, err));
    REFUSED(target, stats, xf_evaluate(world.decoder, batch, 1, &stats, err));
}

static void test_batches(void **state) {
    (void)state;
    const enum xf_status invalid = XF_ERROR_INVALID_ARGUMENT, range = XF_ERROR_OUT_OF_RANGE;
    xf_batch b = good;
    b.src_ids = NULL;
    refused_batch(invalid, invalid, &b);
    b = good;
    b.src_offsets = NULL;
    refused_batch(invalid, invalid, &b);
    b = good;
    b.tgt_ids = NULL;
    refused_batch(XF_OK, invalid, &b);
    b = good;
    b.tgt_offsets = NULL;
    refused_batch(XF_OK, invalid, &b);
    const int64_t sizes[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 31};
    for (int i = 0; i < 4; ++i) {
        b = good;
        b.sentences = sizes[i];
        refused_batch(invalid, invalid, &b);
    }
    static const int32_t wrong_offsets[][3] = {{1, 3, 6}, {0, 0, 6}, {0, 6, 3}, {0, 3, 3}, {0, -3, 6}};
    for (int i = 0; i < 5; ++i) {
        b = good;
        b.src_offsets = wrong_offsets[i];
        refused_batch(invalid, invalid, &b);
        b = good;
        b.tgt_offsets = wrong_offsets[i];
        refused_batch(XF_OK, invalid, &b);
    }
    const int32_t wrong[] = {-1, xf_tokenizer_vocab_size(world.tokenizer), INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; ++i) {
        const int32_t bad_ids[6] = {5, 6, 1, 7, wrong[i], 1};
        b = good;
        b.src_ids = bad_ids;
        refused_batch(range, range, &b);
        b = good;
        b.tgt_ids = bad_ids;
        refused_batch(XF_OK, range, &b);
    }
    int32_t many[80];
    const int32_t too_long[3] = {0, 65, 66};
    for (int i = 0; i < 80; ++i) many[i] = 9;
    b = good;
    b.src_ids = b.tgt_ids = many;
    b.src_offsets = too_long;
    refused_batch(range, range, &b);
    b.src_offsets = offsets;
    b.tgt_offsets = too_long;
    refused_batch(XF_OK, range, &b);
    const size_t struct_sizes[] = {0, sizeof b - 1, sizeof b + 4, 4097, SIZE_MAX};
    for (int i = 0; i < 5; ++i) {
        b = good;
        b.struct_size = struct_sizes[i];
        refused_batch(invalid, invalid, &b);
    }
    refused_batch(invalid, invalid, NULL);
}

static void test_hypotheses(void **state) {
    (void)state;
    xf_hypothesis h;
    memset(&h, 0x5A, sizeof h);
    h.struct_size = sizeof h;
    assert_int_equal(xf_hypotheses_sentence_count(world.hypotheses), 2);
    assert_int_equal(xf_hypotheses_answer_count(world.hypotheses, 0), 1);
    assert_int_equal(xf_hypotheses_answer_count(world.hypotheses, 2), 0);
    assert_int_equal(xf_hypotheses_answer_count(world.hypotheses, SIZE_MAX), 0);
    REFUSED_HANDLE(HYPOTHESES, h, xf_hypotheses_get(handle, 0, 0, &h, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, h, xf_hypotheses_get(world.hypotheses, 2, 0, &h, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, h, xf_hypotheses_get(world.hypotheses, 0, 1, &h, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, h, xf_hypotheses_get(world.hypotheses, SIZE_MAX, SIZE_MAX, &h, err));
    CHECK_OUTPUT_STRUCT(xf_hypothesis, out, xf_hypotheses_get(world.hypotheses, 0, 0, out, err));
    ACCEPTED(xf_hypotheses_get(world.hypotheses, 1, 0, &h, err)); /* the empty text */
    assert_true(h.length == 0 && h.score == 0 && h.finished == 1 && h.text_length == 0 && h.text[0] == 0);
    for (int i = 0; i < WRONG_HANDLES; ++i) {
        if (i == HYPOTHESES) continue;
        assert_int_equal(xf_hypotheses_sentence_count(wrong_handle(i)), 0);
        assert_int_equal(xf_hypotheses_answer_count(wrong_handle(i), 0), 0);
        xf_hypotheses_free(wrong_handle(i));
    }
    xf_hypotheses_free(NULL);
}

static xf_decoder *decoder_with(const xf_model *model, const char *beam, const char *n_best, const char *extra) {
    xf_config *config = small_config("cpu:ref");
    xf_decoder *decoder = NULL;
    set(config, "decode.beam", beam);
    set(config, "decode.n_best", n_best);
    set(config, "decode.max_extra_tokens", extra);
    ACCEPTED(xf_decoder_create(model, config, &decoder, err));
    xf_config_free(config);
    return decoder;
}

/* Answers to `good` that are sound: ranked, within the limit, ids of the vocabulary, text or none. */
static void check_answers(xf_decoder *decoder, int32_t V, size_t most, int64_t extra) {
    xf_hypotheses *found = NULL;
    ACCEPTED(xf_decode(decoder, &good, &found, err));
    assert_int_equal(xf_hypotheses_sentence_count(found), 2);
    for (size_t s = 0; s < 2; ++s) {
        const size_t answers = xf_hypotheses_answer_count(found, s);
        assert_true(answers >= 1 && answers <= most);
        double last = INFINITY;
        for (size_t rank = 0; rank < answers; ++rank) {
            xf_hypothesis h = {.struct_size = sizeof h};
            ACCEPTED(xf_hypotheses_get(found, s, rank, &h, err));
            assert_true(h.score <= last && isfinite(h.log_probability) && h.log_probability <= 0);
            assert_true(h.length + h.finished <= 3 + extra);
            for (int64_t i = 0; i < h.length; ++i) assert_true(h.ids[i] > 1 && h.ids[i] < V);
            last = h.score;
        }
    }
    xf_hypotheses_free(found);
}

static void test_edges(void **state) {
    (void)state;
    static const char *const settings[][3] = {
        {"1", "1", "0"}, {"1", "1", "8"}, {"4", "4", "8"}, {"4", "4", "0"}, {"1024", "1024", "0"}, {"300", "7", "2"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
        xf_decoder *decoder = decoder_with(world.model, settings[i][0], settings[i][1], settings[i][2]);
        check_answers(decoder, xf_tokenizer_vocab_size(world.tokenizer), (size_t)atoi(settings[i][1]),
                      atoi(settings[i][2]));
        xf_decoder_free(decoder);
    }
    /* The smallest vocabulary: two symbols to choose from, and a beam of many times that. */
    xf_config *config = small_config("cpu:ref");
    set(config, "model.vocab_size", "4");
    xf_model *model = NULL;
    ACCEPTED(xf_model_create(world.context, config, NULL, &model, err));
    xf_decoder *decoder = decoder_with(model, "64", "64", "3");
    const int32_t small_ids[6] = {2, 3, 1, 3, 3, 1};
    xf_batch small = good;
    small.src_ids = small_ids;
    xf_hypotheses *found = SENTINEL;
    const char *texts[] = {"one"};
    REFUSED(XF_ERROR_OUT_OF_RANGE, found, xf_decode(decoder, &good, &found, err)); /* ids of a larger vocabulary */
    REFUSED(XF_ERROR_STATE, found, xf_translate(decoder, texts, NULL, 1, &found, err));
    ACCEPTED(xf_decode(decoder, &small, &found, err));
    assert_true(xf_hypotheses_answer_count(found, 0) > 4);
    xf_hypothesis h = {.struct_size = sizeof h};
    ACCEPTED(xf_hypotheses_get(found, 0, 0, &h, err));
    assert_null(h.text);
    xf_hypotheses_free(found);
    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_config_free(config);

    /* Nothing to do is done. */
    xf_batch empty = XF_BATCH_INIT;
    double score = 99;
    xf_eval_stats stats = {.struct_size = sizeof stats};
    ACCEPTED(xf_decode(world.decoder, &empty, &found, err));
    assert_int_equal(xf_hypotheses_sentence_count(found), 0);
    xf_hypotheses_free(found);
    ACCEPTED(xf_translate(world.decoder, NULL, NULL, 0, &found, err));
    xf_hypotheses_free(found);
    ACCEPTED(xf_score(world.decoder, &empty, &score, err));
    assert_true(score == 99);
    ACCEPTED(xf_evaluate(world.decoder, NULL, 0, &stats, err));
    assert_true(stats.sentences == 0 && stats.tgt_tokens == 0 && stats.perplexity == 1);
    const char *lines[] = {"", "one two"};
    const size_t lengths[] = {0, 3};
    ACCEPTED(xf_translate(world.decoder, lines, lengths, 2, &found, err));
    xf_hypotheses_free(found);

    /* The text that is refused is named by the caller's count, empty ones included. */
    static char endless[20000];
    memset(endless, '7', sizeof endless - 1);
    const char *texts_with_endless[] = {"", "", endless};
    xf_error why;
    found = SENTINEL;
    assert_int_equal(xf_translate(world.decoder, texts_with_endless, NULL, 3, &found, &why), XF_ERROR_OUT_OF_RANGE);
    assert_non_null(strstr(why.message, "text 2 has 2000"));
    assert_non_null(strstr(why.message, "model.max_length")); /* the lesser of the two limits counts */
}

/* The loss of xf_evaluate() by its definition: each other token gets s / (V - 1), or every token s / V. */
static void test_smoothing(void **state) {
    (void)state;
    static const char *const kinds[] = {"others", "uniform"};
    const double s = 0.3, V = xf_tokenizer_vocab_size(world.tokenizer);
    double all[2], nll[2]; /* the sum of -log P over all tokens, from the loss; nats per target token */
    for (int i = 0; i < 2; ++i) {
        xf_config *config = small_config("cpu:ref");
        xf_decoder *decoder = NULL;
        xf_eval_stats stats = XF_EVAL_STATS_INIT;
        set(config, "train.label_smoothing", "0.3");
        set(config, "train.label_smoothing_kind", kinds[i]);
        ACCEPTED(xf_decoder_create(world.model, config, &decoder, err));
        ACCEPTED(xf_evaluate(decoder, &good, 1, &stats, err));
        nll[i] = stats.nll;
        const double spread = (stats.loss - (1 - s) * stats.nll) / s;
        all[i] = i == 0 ? spread * (V - 1) + stats.nll : spread * V;
        xf_decoder_free(decoder);
        set(config, "train.label_smoothing", "0");
        ACCEPTED(xf_decoder_create(world.model, config, &decoder, err));
        ACCEPTED(xf_evaluate(decoder, &good, 1, &stats, err));
        assert_true(stats.loss == stats.nll && stats.nll == nll[i]);
        xf_decoder_free(decoder);
        xf_config_free(config);
    }
    assert_true(nll[0] == nll[1]);
    assert_true(all[0] > V * log(V) * 0.999); /* the least a sum of -log P can be */
    assert_true(fabs(all[0] - all[1]) < 1e-5 * all[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_handles), cmocka_unit_test(test_batches),
                                       cmocka_unit_test(test_hypotheses), cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_smoothing)};
    return RUN(tests, world_open, world_close);
}
