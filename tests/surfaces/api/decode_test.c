/*
 * decode.h: refusals of decoding, scoring and evaluating, the edges of what is allowed, ensembles, and drafts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <math.h>
#include <string.h>

#include "xformer/experimental.h"

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

/* A model with more layers of the decoder than the world's, and with other weights. */
static xf_model *deeper_model(xf_context *context, const xf_tokenizer *tokenizer) {
    OWNED_CONFIG *config = small_config("cpu:ref");
    xf_model *model = NULL;
    set(config, "model.decoder_layers", "4");
    set(config, "model.seed", "77");
    ACCEPTED(xf_model_create(context, tokenizer, config, &model, err));
    return model;
}

/* Scores, losses, and hypotheses of an ensemble are those of the mean log-probability of its models. */
TEST(ensemble) {
    OWNED_CONFIG *config = small_config("cpu:ref");
    set(config, "decode.alpha", "0");
    xf_model *models[2] = {NULL, deeper_model(world.context, world.tokenizer)};
    ACCEPTED(xf_model_copy(world.model, NULL, NULL, NULL, &models[0], err));
    const xf_model *const others[] = {models[1]};
    xf_decode_models more = XF_DECODE_MODELS_INIT;
    more.ensemble = others;
    more.ensemble_count = 1;
    xf_decoder *decoders[3];
    for (int i = 0; i < 3; ++i)
        ACCEPTED(xf_decoder_create(models[i % 2], i == 2 ? &more : NULL, config, &decoders[i], err));
    for (int i = 0; i < 2; ++i) xf_model_free(models[i]); /* the decoders keep them alive */

    double scores[3][2];
    xf_eval_stats stats[3];
    for (int i = 0; i < 3; ++i) {
        stats[i] = (xf_eval_stats)XF_EVAL_STATS_INIT;
        ACCEPTED(xf_score(decoders[i], &two_pairs, NULL, scores[i], err));
        ACCEPTED(evaluate_pairs(decoders[i], world.context, &two_pairs, &stats[i], err));
    }
    for (int s = 0; s < 2; ++s) {
        assert_true(scores[0][s] != scores[1][s]);
        assert_true(scores[2][s] == (scores[0][s] + scores[1][s]) / 2);
    }
    assert_int_equal(stats[2].tgt_tokens, stats[0].tgt_tokens);
    assert_true(fabs(stats[2].nll - (stats[0].nll + stats[1].nll) / 2) < 1e-12);

    MAKE(hypotheses, found, xf_decode(decoders[2], &one_pair, NULL, NULL, &found, err));
    const xf_hypothesis h = get_hypothesis(found, 0, 0);
    int32_t target[80];
    const int64_t offsets[] = {0, (int64_t)h.id_count + 1};
    memcpy(target, h.ids, h.id_count * sizeof *target);
    target[h.id_count] = TOKEN_END;
    double means[2], mean;
    xf_batch pair = one_pair;
    pair.tgt_ids = target;
    pair.tgt_offsets = offsets;
    for (int i = 0; i < 2; ++i) ACCEPTED(xf_score(decoders[i], &pair, NULL, &means[i], err));
    ACCEPTED(xf_score(decoders[2], &pair, NULL, &mean, err));
    assert_true(mean == (means[0] + means[1]) / 2);
    if (h.finished) assert_true(fabs(h.log_probability - mean) < 1e-4);
    for (int i = 0; i < 3; ++i) xf_decoder_free(decoders[i]);
}

static void read_counts(void *user, const xf_log_line *line) {
    int *counts = user;
    (void)sscanf(line->message, "the draft proposed %d tokens, of which %d were accepted", &counts[0], &counts[1]);
}

/* A draft proposes tokens, and the results have the same bits as without it. */
TEST(draft) {
    int counts[2] = {-1, -1};
    const xf_host host = {
        .struct_size = sizeof host, .log_user = counts, .log = read_counts, .log_level = XF_LOG_DEBUG};
    OWNED_CONFIG *config = small_config("cpu:ref");
    MAKE(context, context, xf_context_create(config, &host, &context, err));
    xf_model *model = deeper_model(context, world.tokenizer), *draft = NULL;
    ACCEPTED(xf_model_copy(world.model, context, NULL, NULL, &draft, err));
    xf_decode_models more = XF_DECODE_MODELS_INIT;
    more.draft = draft;
    set(config, "decode.beam", "1");
    set(config, "decode.min_tokens", "5");
    MAKE(decoder, plain, xf_decoder_create(model, NULL, config, &plain, err));
    MAKE(decoder, drafted, xf_decoder_create(model, &more, config, &drafted, err));
    xf_model_free(model);
    xf_model_free(draft);
    for (int beam = 1; beam <= 2; ++beam) {
        xf_decode_params params = XF_DECODE_PARAMS_INIT;
        OWNED_CONFIG *options = NULL;
        ACCEPTED(xf_config_create(&options, err));
        set(options, "decode.beam", beam == 1 ? "1" : "2");
        params.config = options;
        MAKE(hypotheses, expected, xf_decode(plain, &one_pair, &params, NULL, &expected, err));
        assert_int_equal(counts[0], beam == 1 ? -1 : 0);
        MAKE(hypotheses, found, xf_decode(drafted, &one_pair, &params, NULL, &found, err));
        assert_true(beam == 1 ? counts[0] > 0 && counts[1] >= 0 && counts[1] <= counts[0] : counts[0] == 0);
        counts[0] = 0;
        const xf_hypothesis a = get_hypothesis(expected, 0, 0), b = get_hypothesis(found, 0, 0);
        assert_true(a.score == b.score && a.id_count == b.id_count && a.finished == b.finished);
        assert_memory_equal(a.ids, b.ids, a.id_count * sizeof *a.ids);
        assert_memory_equal(a.token_log_probabilities, b.token_log_probabilities, a.id_count * sizeof(float));
    }
}

/* Compares the alignment of a hypothesis with the attention weights of its pair. */
static void check_alignment(xf_decoder *decoder, const int32_t *source, size_t source_count, const xf_hypothesis *h) {
    int32_t target[64];
    assert_true(h->id_count < 64);
    memcpy(target, h->ids, h->id_count * sizeof *target);
    target[h->id_count] = TOKEN_END;
    const size_t queries = h->id_count + 1, keys = source_count;
    const int64_t offsets[2][2] = {{0, (int64_t)keys}, {0, (int64_t)queries}};
    const xf_batch pair = {sizeof pair, 1, source, offsets[0], target, offsets[1], NULL, NULL, 0};
    float weights[4 * 64 * 64];
    size_t count = 0;
    /* The model has one decoder layer. */
    ACCEPTED(xf_attention_weights(decoder, &pair, XF_ATTENTION_CROSS, 0, weights, 4 * 64 * 64, &count, err));
    for (size_t i = 0; i < h->id_count; ++i) {
        int32_t most = -1;
        double largest = -1;
        for (size_t s = 0; s + 1 < keys; ++s) {
            double sum = 0;
            for (size_t head = 0; head < count / queries / keys; ++head)
                sum += weights[(head * queries + i) * keys + s];
            if (sum > largest) most = (int32_t)s, largest = sum;
        }
        assert_int_equal(h->alignment[i], most);
    }
}

TEST(alignments) {
    static const char *const texts[] = {"  one two three\n", "", "four"};
    ON_EACH_DEVICE(d) {
        OWNED_CONFIG *config = small_config(cpu_devices[d]);
        MAKE(context, context, xf_context_create(config, NULL, &context, err));
        MAKE(model, model, xf_model_copy(world.model, context, NULL, NULL, &model, err));
        MAKE(decoder, decoder, xf_decoder_create(model, NULL, config, &decoder, err));
        set(config, "decode.alignment", "true");
        set(config, "decode.min_tokens", "2");
        xf_decode_params params = XF_DECODE_PARAMS_INIT;
        params.config = config;
        MAKE(hypotheses, found, xf_translate(decoder, texts, NULL, 3, &params, NULL, &found, err));
        for (size_t i = 0; i < 3; ++i) {
            xf_sentence_info info = XF_SENTENCE_INFO_INIT;
            ACCEPTED(xf_hypotheses_get_sentence(found, i, &info, err));
            const xf_hypothesis h = get_hypothesis(found, i, 0);
            if (i == 1) {
                assert_true(h.alignment == NULL && h.text_ends == NULL && info.source_ends == NULL);
                assert_int_equal(info.source_token_count, 0);
                continue;
            }
            int32_t ids[64];
            size_t count = 0;
            ACCEPTED(xf_model_encode(model, XF_SIDE_SOURCE, i == 0 ? "one two three" : texts[i],
                                     i == 0 ? strlen("one two three") : strlen(texts[i]), NULL, ids, 64, &count, err));
            assert_int_equal(info.source_token_count, count);
            for (size_t s = 1; s < count; ++s) assert_true(info.source_ends[s - 1] <= info.source_ends[s]);
            assert_int_equal(info.source_ends[count - 1], i == 0 ? strlen("  one two three") : strlen("four"));
            assert_int_equal(info.source_ends[count - 2], info.source_ends[count - 1]); /* the end symbol */
            assert_true(h.id_count >= 2);
            for (size_t t = 1; t < h.id_count; ++t) assert_true(h.text_ends[t - 1] <= h.text_ends[t]);
            assert_int_equal(h.text_ends[h.id_count - 1], h.text_length);
            check_alignment(decoder, ids, count, &h);
        }
        /* Ids have no text. */
        MAKE(hypotheses, of_ids, xf_decode(decoder, &two_pairs, &params, NULL, &of_ids, err));
        xf_sentence_info info = XF_SENTENCE_INFO_INIT;
        ACCEPTED(xf_hypotheses_get_sentence(of_ids, 1, &info, err));
        assert_true(info.source_ends == NULL && info.source_token_count == 0);
        const xf_hypothesis h = get_hypothesis(of_ids, 1, 0);
        check_alignment(decoder, two_pairs.src_ids + two_pairs.src_offsets[1],
                        (size_t)(two_pairs.src_offsets[2] - two_pairs.src_offsets[1]), &h);
        assert_int_equal(h.text_ends[h.id_count - 1], h.text_length);
        MAKE(hypotheses, plain, xf_translate(decoder, texts, NULL, 1, NULL, NULL, &plain, err));
        const xf_hypothesis unaligned = get_hypothesis(plain, 0, 0);
        assert_true(unaligned.alignment == NULL && unaligned.text_ends == NULL);
    }
}

/* more: with world.model as the first model. */
static void refused_models(xf_decode_models more, const char *reason) {
    xf_decoder *decoder = SENTINEL;
    xf_engine *engine = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, decoder, xf_decoder_create(world.model, &more, NULL, &decoder, err));
    SAYS(reason);
    REFUSED(XF_ERROR_INVALID_ARGUMENT, engine, xf_engine_create(world.model, &more, NULL, &engine, err));
    SAYS(reason);
}

/* The model as the other one of an ensemble, and as a draft. */
static void refused_model(const void *model, const char *reason) {
    const xf_model *const others[] = {model};
    refused_models((xf_decode_models){sizeof(xf_decode_models), others, 1, NULL}, reason);
    if (model != NULL) refused_models((xf_decode_models){sizeof(xf_decode_models), NULL, 0, model}, reason);
}

TEST(models_that_cannot_decode_together) {
    const xf_model *others[8];
    for (int i = 0; i < 8; ++i) others[i] = world.model;
    const xf_decode_models none = XF_DECODE_MODELS_INIT, one = {sizeof one, others, 1, NULL};
    CHANGED(xf_decode_models, m, none, struct_size = 0, refused_models(m, "more->struct_size is 0"));
    CHANGED(xf_decode_models, m, none, ensemble_count = 1,
            refused_models(m, "more->ensemble is NULL with a count of 1"));
    CHANGED(xf_decode_models, m, one, draft = world.model, refused_models(m, "a draft is set for an ensemble of 2"));
    CHANGED(xf_decode_models, m, one, ensemble_count = 8,
            refused_models(m, "more->ensemble_count is 8, expected at most 7"));
    CHANGED(xf_decode_models, m, one, ensemble_count = SIZE_MAX, refused_models(m, "expected at most 7"));
    CHANGED(xf_decode_models, m, one, ensemble_count = 7,
            { MAKE(decoder, decoder, xf_decoder_create(world.model, &m, NULL, &decoder, err)); });
    for (int i = 0; i < WRONG_HANDLES; ++i)
        if (i != MODEL) refused_model(wrong_handle(i), "more->");

    OWNED_CONFIG *config = small_config("cpu:ref"), *sized = small_config("cpu:ref");
    set(config, "tokenizer.vocab_size", "280");
    MAKE(tokenizer, smaller, xf_tokenizer_train(world.context, world.corpus, config, NULL, &smaller, err));
    MAKE(model, other, xf_model_create(world.context, smaller, config, &other, err));
    refused_model(other, "has another tokenizer than the first model");
    ACCEPTED(xf_config_set_number(sized, "model.vocab_size", vocab_size_of(world.tokenizer), err));
    MAKE(model, without, xf_model_create(world.context, NULL, sized, &without, err));
    refused_model(without, "has another tokenizer than the first model");
    OWNED_CONTEXT *context = context_on("cpu:ref");
    MAKE(model, foreign, xf_model_copy(world.model, context, NULL, NULL, &foreign, err));
    refused_model(foreign, "belongs to another context than the");
    set(config, "model.max_length", "63");
    MAKE(model, shorter, xf_model_create(world.context, world.tokenizer, config, &shorter, err));
    const xf_model *const short_others[] = {shorter};
    CHANGED(xf_decode_models, m, one, ensemble = short_others, refused_models(m, "has model.max_length 63"));
}

int main(void) { return RUN_TESTS(world_open, world_close); }
