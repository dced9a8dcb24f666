/*
 * decode.h: refusals of decoding, scoring and evaluating, and the edges of what is allowed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <math.h>

/* The status of the second sentence of a batch. */
static xf_status second_of(const xf_batch *batch) {
    xf_error why;
    MAKE(hypotheses, found, xf_decode(world.decoder, batch, NULL, NULL, &found, err));
    ACCEPTED(sentence_status(found, 0, err));
    const xf_status status = sentence_status(found, 1, &why);
    assert_int_equal(hypothesis_count(found, 1), status == XF_OK ? 1 : 0);
    if (status != XF_OK) {
        assert_int_equal(why.status, status);
        assert_true(why.message[0] != 0);
        PAINTED(xf_hypothesis, h);
        REFUSED(status, h, xf_hypotheses_get(found, 1, 0, &h, err));
    }
    return status;
}

/* source: the status of xf_decode(); XF_OK if only one sentence or the target is invalid. */
static void refused_batch(xf_status source, xf_status target, const xf_batch *batch) {
    xf_hypotheses *found = SENTINEL;
    double scores[4] = {99, 99, 99, 99};
    if (source != XF_OK) REFUSED(source, found, xf_decode(world.decoder, batch, NULL, NULL, &found, err));
    REFUSED(target, scores, xf_score(world.decoder, batch, NULL, scores, err));
}

TEST(batches) {
    const xf_status invalid = XF_ERROR_INVALID_ARGUMENT, range = XF_ERROR_OUT_OF_RANGE;
    CHANGED(xf_batch, b, two_pairs, src_ids = NULL, refused_batch(invalid, invalid, &b));
    CHANGED(xf_batch, b, two_pairs, src_offsets = NULL, refused_batch(invalid, invalid, &b));
    CHANGED(xf_batch, b, two_pairs, tgt_ids = NULL, refused_batch(XF_OK, invalid, &b));
    CHANGED(xf_batch, b, two_pairs, tgt_offsets = NULL, refused_batch(XF_OK, invalid, &b));
    const int64_t sizes[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 31};
    for (int i = 0; i < 4; ++i)
        CHANGED(xf_batch, b, two_pairs, sentences = sizes[i], refused_batch(invalid, invalid, &b));
    static const int64_t wrong_offsets[][3] = {{1, 3, 6}, {0, 6, 3}, {0, -3, 6}, {0, 0, 6}, {0, 3, 3}};
    for (int i = 0; i < 5; ++i) {
        CHANGED(xf_batch, b, two_pairs, src_offsets = wrong_offsets[i],
                refused_batch(i < 3 ? invalid : XF_OK, invalid, &b)); /* an empty sentence is its own error */
        CHANGED(xf_batch, b, two_pairs, tgt_offsets = wrong_offsets[i], refused_batch(XF_OK, invalid, &b));
    }
    const int32_t wrong[] = {-1, vocab_size_of(world.tokenizer), INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; ++i) {
        const int32_t bad_ids[6] = {5, 6, 1, 7, wrong[i], 1};
        CHANGED(xf_batch, b, two_pairs, src_ids = bad_ids, assert_int_equal(second_of(&b), range));
        CHANGED(xf_batch, b, two_pairs, src_ids = bad_ids, refused_batch(XF_OK, range, &b));
        CHANGED(xf_batch, b, two_pairs, tgt_ids = bad_ids, refused_batch(XF_OK, range, &b));
    }
    xf_batch batch = two_pairs;
    int32_t many[80];
    const int64_t too_long[3] = {0, 65, 66}, short_and_long[3] = {0, 1, 66};
    for (int i = 0; i < 80; ++i) many[i] = TOKEN_END;
    const int32_t endless[6] = {5, 6, 1, 7, 9, 9}, with_language[6] = {5, 6, 1, 7, 1, 9};
    batch.src_ids = endless;
    assert_int_equal(second_of(&batch), invalid);
    refused_batch(XF_OK, invalid, &batch);
    batch.src_ids = with_language;
    assert_int_equal(second_of(&batch), XF_OK);
    batch = two_pairs;
    batch.src_offsets = wrong_offsets[4];
    assert_int_equal(second_of(&batch), invalid);
    batch.src_ids = batch.tgt_ids = many;
    batch.src_offsets = short_and_long;
    assert_int_equal(second_of(&batch), range);
    batch.src_offsets = too_long;
    refused_batch(XF_OK, range, &batch);
    batch.src_offsets = two_pairs.src_offsets;
    batch.tgt_offsets = too_long;
    refused_batch(XF_OK, range, &batch);
    refused_batch(invalid, invalid, NULL);
    /* Reserved members. */
    const float features[6] = {0};
    CHANGED(xf_batch, b, two_pairs, src_features = features,
            refused_batch(XF_ERROR_UNSUPPORTED, XF_ERROR_UNSUPPORTED, &b));
    CHANGED(xf_batch, b, two_pairs, src_feature_width = 1,
            refused_batch(XF_ERROR_UNSUPPORTED, XF_ERROR_UNSUPPORTED, &b));
    /* Offsets beyond 32 bits are not cut. */
    static const int64_t far[][3] = {
        {0, 3, ((int64_t)1 << 32) + 6}, {0, ((int64_t)1 << 32) + 3, 6}, {(int64_t)1 << 32, 3, 6}};
    batch = two_pairs;
    for (int i = 0; i < 3; ++i) {
        batch.src_offsets = far[i];
        OWNED_HYPOTHESES *found = NULL;
        const xf_status status = xf_decode(world.decoder, &batch, NULL, NULL, &found, NULL);
        if (i > 0) assert_int_equal(status, invalid);
        if (status == XF_OK) assert_int_equal(sentence_status(found, 1, NULL), range);
    }
}

TEST(hypotheses) {
    PAINTED(xf_hypothesis, h);
    assert_int_equal(xf_hypotheses_sentence_count(world.hypotheses), 2);
    assert_int_equal(hypothesis_count(world.hypotheses, 0), 1);
    assert_int_equal(hypothesis_count(world.hypotheses, 2), 0);
    assert_int_equal(hypothesis_count(world.hypotheses, SIZE_MAX), 0);
    REFUSED(XF_ERROR_OUT_OF_RANGE, h, xf_hypotheses_get(world.hypotheses, 2, 0, &h, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, h, xf_hypotheses_get(world.hypotheses, 0, 1, &h, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, h, xf_hypotheses_get(world.hypotheses, SIZE_MAX, SIZE_MAX, &h, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, sentence_status(world.hypotheses, 2, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, sentence_status(world.hypotheses, SIZE_MAX, err));
    ACCEPTED(sentence_status(world.hypotheses, 1, err));
    ACCEPTED(xf_hypotheses_get(world.hypotheses, 1, 0, &h, err)); /* the empty text */
    assert_true(h.id_count == 0 && h.score == 0 && h.finished == 1 && h.text_length == 0 && h.text[0] == 0);
    assert_true(h.complete == 1 && h.token_log_probabilities[0] == 0);
}

static xf_decoder *decoder_with(const xf_model *model, const char *beam, const char *n_best, const char *extra) {
    OWNED_CONFIG *config = small_config("cpu:ref");
    xf_decoder *decoder = NULL;
    set(config, "decode.beam", beam);
    set(config, "decode.n_best", n_best);
    set(config, "decode.max_extra_tokens", extra);
    ACCEPTED(xf_decoder_create(model, NULL, config, &decoder, err));
    return decoder;
}

/* Answers to `two_pairs` that are sound: ranked, within the limit, ids of the vocabulary, text or none. */
static void check_answers(xf_decoder *decoder, int32_t V, size_t most, int64_t extra) {
    MAKE(hypotheses, found, xf_decode(decoder, &two_pairs, NULL, NULL, &found, err));
    assert_int_equal(xf_hypotheses_sentence_count(found), 2);
    for (size_t s = 0; s < 2; ++s) {
        const size_t answers = hypothesis_count(found, s);
        assert_true(answers >= 1 && answers <= most);
        double last = INFINITY;
        for (size_t rank = 0; rank < answers; ++rank) {
            const xf_hypothesis h = get_hypothesis(found, s, rank);
            assert_true(h.score <= last && isfinite(h.log_probability) && h.log_probability <= 0);
            assert_true(h.id_count + (size_t)h.finished <= (size_t)(3 + extra));
            for (size_t i = 0; i < h.id_count; ++i) assert_true(h.ids[i] > 1 && h.ids[i] < V);
            double sum = 0;
            for (size_t i = 0; i < h.id_count + (size_t)h.finished; ++i) sum += h.token_log_probabilities[i];
            assert_true(sum == h.log_probability && h.complete == 1);
            last = h.score;
        }
    }
}

TEST(edges) {
    static const char *const settings[][3] = {
        {"1", "1", "0"}, {"1", "1", "8"}, {"4", "4", "8"}, {"4", "4", "0"}, {"1024", "1024", "0"}, {"300", "7", "2"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
        OWNED_DECODER *decoder = decoder_with(world.model, settings[i][0], settings[i][1], settings[i][2]);
        check_answers(decoder, vocab_size_of(world.tokenizer), (size_t)atoi(settings[i][1]), atoi(settings[i][2]));
    }
    /* The smallest vocabulary: two symbols to choose from, and a beam of many times that. */
    OWNED_CONFIG *config = small_config("cpu:ref");
    set(config, "model.vocab_size", "4");
    MAKE(model, model, xf_model_create(world.context, NULL, config, &model, err));
    xf_decoder *decoder = decoder_with(model, "64", "64", "3");
    const int32_t small_ids[6] = {2, 3, 1, 3, 3, 1};
    xf_batch small = two_pairs;
    small.src_ids = small_ids;
    xf_hypotheses *found = SENTINEL;
    const char *texts[] = {"one"};
    REFUSED(XF_ERROR_STATE, found, xf_translate(decoder, texts, NULL, 1, NULL, NULL, &found, err));
    ACCEPTED(xf_decode(decoder, &small, NULL, NULL, &found, err));
    assert_true(hypothesis_count(found, 0) > 4);
    const xf_hypothesis h = get_hypothesis(found, 0, 0);
    assert_null(h.text);
    xf_hypotheses_free(found);
    xf_decoder_free(decoder);

    /* Nothing to do is done. */
    xf_batch empty = XF_BATCH_INIT;
    double score = 99;
    ACCEPTED(xf_decode(world.decoder, &empty, NULL, NULL, &found, err));
    assert_int_equal(xf_hypotheses_sentence_count(found), 0);
    xf_hypotheses_free(found);
    ACCEPTED(xf_translate(world.decoder, NULL, NULL, 0, NULL, NULL, &found, err));
    xf_hypotheses_free(found);
    ACCEPTED(xf_score(world.decoder, &empty, NULL, &score, err));
    assert_true(score == 99);
    const char *lines[] = {"", "one two"};
    const size_t lengths[] = {0, 3};
    ACCEPTED(xf_translate(world.decoder, lines, lengths, 2, NULL, NULL, &found, err));
    xf_hypotheses_free(found);
}

/* A text that cannot be translated has its own error; the results of the others do not change. */
TEST(bad_texts) {
    static char endless[20000];
    memset(endless, '7', sizeof endless - 1);
    const char *texts[] = {"one two", "\xff\xfe", endless, NULL, " \t\r\n", "one two\n"};
    const xf_status expected[] = {XF_OK, XF_ERROR_DATA, XF_ERROR_OUT_OF_RANGE, XF_ERROR_INVALID_ARGUMENT, XF_OK, XF_OK};
    xf_error why;
    MAKE(hypotheses, found, xf_translate(world.decoder, texts, NULL, 6, NULL, NULL, &found, err));
    MAKE(hypotheses, alone, xf_translate(world.decoder, texts, NULL, 1, NULL, NULL, &alone, err));
    for (size_t i = 0; i < 6; ++i) assert_int_equal(sentence_status(found, i, &why), expected[i]);
    sentence_status(found, 2, &why);
    assert_non_null(strstr(why.message, "2000"));
    assert_non_null(strstr(why.message, "model.max_length")); /* the lesser of the two limits counts */
    const xf_hypothesis expected_one = get_hypothesis(alone, 0, 0), blank = get_hypothesis(found, 4, 0);
    for (size_t i = 0; i < 6; i += 5) {
        const xf_hypothesis h = get_hypothesis(found, i, 0);
        assert_string_equal(h.text, expected_one.text);
        assert_true(h.score == expected_one.score);
    }
    assert_true(blank.id_count == 0 && blank.finished == 1 && blank.score == 0);
}

/* A decoder whose first texts have nothing to translate in them. */
TEST(no_words) {
    const char *texts[] = {"", " \n", NULL};
    MAKE(decoder, decoder, xf_decoder_create(world.model, NULL, world.config, &decoder, err));
    MAKE(hypotheses, found, xf_translate(decoder, texts, NULL, 3, NULL, NULL, &found, err));
    for (size_t i = 0; i < 2; ++i) {
        const xf_hypothesis h = get_hypothesis(found, i, 0);
        assert_true(h.text_length == 0 && h.id_count == 0 && h.finished == 1);
    }
    assert_int_equal(sentence_status(found, 2, NULL), XF_ERROR_INVALID_ARGUMENT);
}

TEST(params) {
    const char *texts[] = {"one", "two"}, *prefixes[] = {"ab", NULL};
    const size_t lengths[] = {1, 0};
    const int32_t prefix_ids[] = {9, 8, 7};
    const int64_t prefix_offsets[] = {0, 1, 3};
    xf_hypotheses *found = SENTINEL;
    xf_decode_params p = XF_DECODE_PARAMS_INIT;
    p.prefix_ids = prefix_ids;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, found,
            xf_decode(world.decoder, &two_pairs, &p, NULL, &found, err)); /* no offsets */
    p.prefix_offsets = prefix_offsets;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, found, xf_translate(world.decoder, texts, NULL, 2, &p, NULL, &found, err));
    ACCEPTED(xf_decode(world.decoder, &two_pairs, &p, NULL, &found, err));
    xf_hypothesis h = get_hypothesis(found, 0, 0);
    assert_true(h.id_count >= 1 && h.ids[0] == 9);
    h = get_hypothesis(found, 1, 0);
    assert_true(h.id_count >= 2 && h.ids[0] == 8 && h.ids[1] == 7);
    xf_hypotheses_free(found);
    found = SENTINEL;
    const int64_t wrong_offsets[][3] = {{1, 1, 3}, {0, 3, 1}, {0, -1, 3}};
    for (int i = 0; i < 3; ++i) {
        p.prefix_offsets = wrong_offsets[i];
        REFUSED(XF_ERROR_INVALID_ARGUMENT, found, xf_decode(world.decoder, &two_pairs, &p, NULL, &found, err));
    }
    p = (xf_decode_params)XF_DECODE_PARAMS_INIT;
    p.prefix_lengths = lengths;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, found, xf_translate(world.decoder, texts, NULL, 2, &p, NULL, &found, err));
    p.prefixes = prefixes;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, found, xf_decode(world.decoder, &two_pairs, &p, NULL, &found, err));
    ACCEPTED(xf_translate(world.decoder, texts, NULL, 2, &p, NULL, &found, err));
    h = get_hypothesis(found, 0, 0);
    assert_true(h.text[0] == 'a');
    xf_hypotheses_free(found);

    /* Options of the call, and only those that were set. */
    MAKE(config, config, xf_config_create(&config, err));
    set(config, "decode.max_extra_tokens", "0");
    set(config, "decode.min_tokens", "1000");
    p = (xf_decode_params)XF_DECODE_PARAMS_INIT;
    p.config = config;
    ACCEPTED(xf_decode(world.decoder, &two_pairs, &p, NULL, &found, err));
    h = get_hypothesis(found, 0, 0);
    assert_true(h.id_count == 3 && h.finished == 0 && h.complete == 1);
    xf_hypotheses_free(found);
    found = SENTINEL;
    set(config, "decode.n_best", "1024");
    xf_decoder *decoder = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, decoder, xf_decoder_create(world.model, NULL, config, &decoder, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, found, xf_decode(world.decoder, &two_pairs, &p, NULL, &found, err));
    for (int i = 0; i < WRONG_HANDLES; ++i) {
        p.config = wrong_handle(i);
        if (i != CONFIG && p.config != NULL)
            REFUSED(XF_ERROR_INVALID_ARGUMENT, found, xf_decode(world.decoder, &two_pairs, &p, NULL, &found, err));
    }
}

/* All batches of an epoch, for any position of the batcher, which does not change. */
TEST(evaluate_batcher) {
    xf_eval_stats whole = XF_EVAL_STATS_INIT, again = XF_EVAL_STATS_INIT;
    int64_t sentences = 0;
    xf_status status;
    ACCEPTED(xf_batcher_seek(world.batcher, 0, 0, NULL, err));
    xf_batch b = XF_BATCH_INIT;
    double nll = 0, tokens = 0;
    while ((status = xf_batcher_next(world.batcher, NULL, &b, NULL)) == XF_OK) {
        xf_eval_stats one = XF_EVAL_STATS_INIT;
        ACCEPTED(evaluate_pairs(world.decoder, world.context, &b, &one, err));
        nll += one.nll * (double)one.tgt_tokens;
        tokens += (double)one.tgt_tokens;
        sentences += b.sentences;
    }
    assert_int_equal(status, XF_DONE);
    ACCEPTED(xf_batcher_seek(world.batcher, 0, 1, NULL, err));
    const xf_batcher_stats before = get_batcher_stats(world.batcher);
    ACCEPTED(xf_evaluate(world.decoder, world.batcher, NULL, &whole, err));
    const xf_batcher_stats after = get_batcher_stats(world.batcher);
    assert_memory_equal(&before, &after, sizeof before);
    assert_true(whole.sentences == sentences && fabs(whole.nll - nll / tokens) < 1e-9);
    ACCEPTED(xf_evaluate(world.decoder, world.batcher, NULL, &again, err));
    assert_memory_equal(&whole, &again, sizeof whole);
}

/* The loss of xf_evaluate() by its definition: each other token gets s / (V - 1), or every token s / V. */
TEST(smoothing) {
    static const char *const kinds[] = {"others", "uniform"};
    const double s = 0.3, V = vocab_size_of(world.tokenizer);
    double all[2], nll[2]; /* the sum of -log P over all tokens, from the loss; nats per target token */
    for (int i = 0; i < 2; ++i) {
        OWNED_CONFIG *config = small_config("cpu:ref");
        xf_decoder *decoder = NULL;
        xf_eval_stats stats = XF_EVAL_STATS_INIT;
        set(config, "train.label_smoothing", "0.3");
        set(config, "train.label_smoothing_kind", kinds[i]);
        ACCEPTED(xf_decoder_create(world.model, NULL, config, &decoder, err));
        ACCEPTED(evaluate_pairs(decoder, world.context, &two_pairs, &stats, err));
        nll[i] = stats.nll;
        const double spread = (stats.loss - (1 - s) * stats.nll) / s;
        all[i] = i == 0 ? spread * (V - 1) + stats.nll : spread * V;
        xf_decoder_free(decoder);
        set(config, "train.label_smoothing", "0");
        ACCEPTED(xf_decoder_create(world.model, NULL, config, &decoder, err));
        ACCEPTED(evaluate_pairs(decoder, world.context, &two_pairs, &stats, err));
        assert_true(stats.loss == stats.nll && stats.nll == nll[i]);
        xf_decoder_free(decoder);
    }
    assert_true(nll[0] == nll[1]);
    assert_true(all[0] > V * log(V) * 0.999); /* the least a sum of -log P can be */
    assert_true(fabs(all[0] - all[1]) < 1e-5 * all[0]);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
