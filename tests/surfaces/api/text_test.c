/*
 * text.h: the tokenizer's and the sentence splitter's refusals, and buffers of every size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <math.h>

TEST(make) {
    OWNED_TOKENIZER *out = SENTINEL;

    const char *path = scratch_path("tokenizer.json");
    ACCEPTED(save_tokenizer(world.tokenizer, path, err));
    const char *const model = scratch_path("a model");
    ACCEPTED(save_model(world.model, NULL, model, err));
    REFUSED(XF_ERROR_CORRUPT, out, load_tokenizer(world.context, model, &out, err));
    SAYS("xf_model_tokenizer()");
    REFUSED(XF_ERROR_CORRUPT, out, load_tokenizer(world.context, "/proc/self/comm", &out, err));
    SAYS("'/proc/self/comm': ");
    ACCEPTED(load_tokenizer(world.context, path, &out, err));
    xf_tokenizer_info info = XF_TOKENIZER_INFO_INIT;
    ACCEPTED(xf_tokenizer_get_info(out, &info, err));
    assert_int_equal(info.vocab_size, vocab_size_of(world.tokenizer));
    assert_true(info.start_token == TOKEN_START && info.end_token == TOKEN_END);
    const char *again = scratch_path("again.json");
    ACCEPTED(save_tokenizer(out, again, err));
    assert_same_files(path, again);
}

TEST(encode) {
    const char text[] = "one two three";
    int32_t ids[64];
    size_t count = 99, needed = 0;
    memset(ids, 0x5A, sizeof ids);
    REFUSED(XF_ERROR_DATA, count, xf_tokenizer_encode(world.tokenizer, "ab\xff", 3, ids, 64, &count, err));
    xf_error error;
    assert_int_equal(xf_tokenizer_encode(world.tokenizer, "ab\xff", 3, ids, 64, &count, &error), XF_ERROR_DATA);
    assert_non_null(strpbrk(error.message, "23")); /* where */

    /* Sized by a first call, as the header says; one id too few writes none. */
    REFUSED(XF_ERROR_BUFFER_TOO_SMALL, ids, xf_tokenizer_encode(world.tokenizer, text, 13, NULL, 0, &needed, err));
    assert_true(needed > 0 && needed < 64);
    for (size_t room = 0; room < needed; ++room) {
        count = 0;
        REFUSED(XF_ERROR_BUFFER_TOO_SMALL, ids, xf_tokenizer_encode(world.tokenizer, text, 13, ids, room, &count, err));
        assert_int_equal(count, needed);
    }
    ACCEPTED(xf_tokenizer_encode(world.tokenizer, text, 13, ids, needed, &count, err));
    assert_int_equal(count, needed);
    assert_int_equal(ids[needed], 0x5A5A5A5A);
    ACCEPTED(xf_tokenizer_encode(world.tokenizer, NULL, 0, NULL, 0, &count, err));
    assert_int_equal(count, 0);
    ACCEPTED(xf_tokenizer_encode(world.tokenizer, "a\0b", 3, ids, 64, &count, err));

    OWNED_CONFIG *config = config_with("cpu:ref", "tokenizer.invalid_utf8=replace");
    MAKE(tokenizer, lenient, xf_tokenizer_train(world.context, world.corpus, config, NULL, &lenient, err));
    ACCEPTED(xf_tokenizer_encode(lenient, "ab\xff", 3, ids, 64, &count, err));
}

TEST(decode) {
    const int32_t size = vocab_size_of(world.tokenizer);
    int32_t ids[64];
    char text[512];
    size_t count = 0, length = 99;
    memset(text, 0x5A, sizeof text);
    ACCEPTED(xf_tokenizer_encode(world.tokenizer, "one two", 7, ids, 64, &count, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, length,
            xf_tokenizer_decode(world.tokenizer, ids, SIZE_MAX, text, 64, &length, err));
    for (size_t room = 0; room <= 7; ++room) {
        length = 0;
        REFUSED(XF_ERROR_BUFFER_TOO_SMALL, text,
                xf_tokenizer_decode(world.tokenizer, ids, count, text, room, &length, err));
        assert_int_equal(length, 7);
    }
    ACCEPTED(xf_tokenizer_decode(world.tokenizer, ids, count, text, 8, &length, err));
    assert_string_equal(text, "one two");
    assert_int_equal(text[8], 0x5A);
    ACCEPTED(xf_tokenizer_decode(world.tokenizer, NULL, 0, text, 1, &length, err));
    assert_int_equal(length, 0);
    REFUSED(XF_ERROR_BUFFER_TOO_SMALL, nothing, xf_tokenizer_decode(world.tokenizer, NULL, 0, NULL, 0, &length, err));

    const int32_t bad[] = {-1, size, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; ++i) {
        length = 99;
        ids[1] = bad[i];
        REFUSED(XF_ERROR_OUT_OF_RANGE, length,
                xf_tokenizer_decode(world.tokenizer, ids, count, text, 64, &length, err));
        REFUSED(XF_ERROR_OUT_OF_RANGE, length, xf_tokenizer_get_piece(world.tokenizer, bad[i], text, 64, &length, err));
    }
    REFUSED(XF_ERROR_BUFFER_TOO_SMALL, text, xf_tokenizer_get_piece(world.tokenizer, TOKEN_END, text, 4, &length, err));
    ACCEPTED(xf_tokenizer_get_piece(world.tokenizer, TOKEN_END, text, 5, &length, err));
    assert_string_equal(text, "</s>");
    for (int32_t id = 0; id < size; ++id) ACCEPTED(xf_tokenizer_get_piece(world.tokenizer, id, text, 64, &length, err));
    for (int32_t id = 0; id < 64; ++id) ids[id] = id * 4; /* any ids give some text */
    ACCEPTED(xf_tokenizer_decode(world.tokenizer, ids, 64, text, sizeof text, &length, err));
}

/* Another kind, through a file, and inside a model. */
static void check_kind(const char *kind) {
    OWNED_CONFIG *c = small_config("cpu:ref");
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_config_set(c, "tokenizer.kind", "words", err));
    set(c, "tokenizer.kind", kind);
    set(c, "tokenizer.vocab_size", "280");
    const char *path = scratch_path("kind.json"), *model_path = scratch_path("kind.model");
    MAKE(tokenizer, made, xf_tokenizer_train(world.context, world.corpus, c, NULL, &made, err));
    assert_int_equal(vocab_size_of(made), 280);
    ACCEPTED(save_tokenizer(made, path, err));
    MAKE(tokenizer, read, load_tokenizer(world.context, path, &read, err));
    xf_model *model = NULL;
    ACCEPTED(xf_model_create(world.context, read, c, &model, err));
    ACCEPTED(save_model(model, NULL, model_path, err));
    xf_model_free(model);
    ACCEPTED(load_model(world.context, model_path, &model, err));
    const xf_tokenizer *const three[] = {made, read, xf_model_tokenizer(model)};
    const char text[] = "one four two, seventeen and \xE2\x82\xAC";
    int32_t ids[3][64];
    size_t count[3], length = 0;
    for (int i = 0; i < 3; ++i) {
        char back[64];
        ACCEPTED(xf_tokenizer_encode(three[i], text, sizeof text - 1, ids[i], 64, &count[i], err));
        assert_int_equal(count[i], count[0]);
        assert_memory_equal(ids[i], ids[0], count[0] * sizeof **ids);
        ACCEPTED(xf_tokenizer_decode(three[i], ids[i], count[i], back, sizeof back, &length, err));
        assert_string_equal(back, text);
    }
    assert_true(count[0] < length - 2);
    xf_model_free(model);
}

TEST(kinds) {
    check_kind("wordpiece");
    check_kind("unigram");
}

/* A SentencePiece tokenizer without an end symbol is an error where one is required. */
TEST(no_end) {
    const char *path = scratch_path("no_end.json");
    const char text[] =
        "{\"format\":\"xformer-tokenizer\",\"version\":1,\"kind\":\"sentencepiece-unigram\",\"add_dummy_prefix\":true,"
        "\"remove_extra_whitespaces\":true,\"escape_whitespaces\":true,\"whitespace_as_suffix\":false,"
        "\"byte_fallback\":false,\"start\":-1,\"end\":-1,\"unknown_surface\":\"?\",\"character_map\":\"\","
        "\"decoded_map\":\"\",\"pieces\":[[\"<unk>\",0,2],[\"<stop>\",0,3],[\"o\",-1,1],[\"n\",-1,1],[\"e\",-1,1]]}";
    write_file(path, text, strlen(text));
    MAKE(tokenizer, tokenizer, load_tokenizer(world.context, path, &tokenizer, err));
    assert_int_equal(start_token_of(tokenizer), -1);
    assert_int_equal(end_token_of(tokenizer), -1);
    MAKE(config, c, xf_config_copy(world.config, &c, err));
    OWNED_MODEL *model = SENTINEL;
    OWNED_BATCHER *batcher = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, model, xf_model_create(world.context, tokenizer, c, &model, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, batcher, xf_batcher_create(world.corpus, tokenizer, c, NULL, &batcher, err));
    set(c, "model.end_token", "1");
    ACCEPTED(xf_model_create(world.context, tokenizer, c, &model, err));
    const char *value = NULL;
    ACCEPTED(xf_config_get(xf_model_config(model), "model.start_token", &value, err));
    assert_string_equal(value, "1"); /* without a start symbol, sentences start with the end symbol */
    ACCEPTED(xf_batcher_create(world.corpus, tokenizer, c, NULL, &batcher, err));
    xf_batch batch = XF_BATCH_INIT;
    ACCEPTED(xf_batcher_next(batcher, NULL, &batch, err));
    for (int64_t b = 0; b < batch.sentences; ++b) {
        assert_int_equal(batch.src_ids[batch.src_offsets[b + 1] - 1], 1);
        assert_int_equal(batch.tgt_ids[batch.tgt_offsets[b + 1] - 1], 1);
    }
}

/* Writes a file as the text of a JSON string. */
static void put_quoted(FILE *out, const char *path) {
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    fputc('"', out);
    for (int c = fgetc(in); c != EOF; c = fgetc(in)) {
        if (c == '"' || c == '\\') fputc('\\', out);
        fputc(c, out);
    }
    fputc('"', out);
    fclose(in);
}

/* Each side of a pair decodes the ids that it encoded; the pair itself has no decode(). */
static void check_sides(const xf_tokenizer *pair) {
    static const char *const texts[] = {"one two three", "eins zwei drei"};
    static const int32_t sizes[] = {280, 270};
    static const char *const kinds[] = {"bpe", "wordpiece"};
    int32_t ids[64];
    char text[64] = "kept";
    size_t count = 99, length = 99;
    for (int i = 0; i < 2; ++i) {
        const xf_tokenizer *const side = xf_tokenizer_side(pair, i == 0 ? XF_SIDE_SOURCE : XF_SIDE_TARGET);
        assert_non_null(side);
        const xf_tokenizer_info info = tokenizer_info(side);
        assert_int_equal(info.vocab_size, sizes[i]);
        assert_string_equal(info.kind, kinds[i]);
        assert_int_equal(info.end_token, TOKEN_END);
        for (int t = 0; t < 2; ++t) {
            ACCEPTED(xf_tokenizer_encode(side, texts[t], strlen(texts[t]), ids, 64, &count, err));
            ACCEPTED(xf_tokenizer_decode(side, ids, count, text, sizeof text, &length, err));
            assert_string_equal(text, texts[t]);
            assert_int_equal(length, strlen(texts[t]));
        }
        ACCEPTED(xf_tokenizer_get_piece(side, sizes[i] - 1, text, sizeof text, &length, err));
        REFUSED(XF_ERROR_OUT_OF_RANGE, text, xf_tokenizer_get_piece(side, sizes[i], text, sizeof text, &length, err));
        assert_ptr_equal(xf_tokenizer_side(side, XF_SIDE_SOURCE), side); /* it is not a pair */
        assert_ptr_equal(xf_tokenizer_side(side, XF_SIDE_TARGET), side);
        xf_tokenizer_free((xf_tokenizer *)side); /* owned by the pair: no effect */
        assert_int_equal(vocab_size_of(side), sizes[i]);
    }
    const xf_tokenizer_info info = tokenizer_info(pair);
    assert_true(info.start_token == -1 && info.end_token == -1);
    count = length = 99;
    REFUSED(XF_ERROR_STATE, count, xf_tokenizer_encode(pair, "one", 3, ids, 64, &count, err));
    SAYS("xf_tokenizer_side");
    REFUSED(XF_ERROR_STATE, length, xf_tokenizer_decode(pair, ids, 1, text, sizeof text, &length, err));
    REFUSED(XF_ERROR_STATE, length, xf_tokenizer_get_piece(pair, 1, text, sizeof text, &length, err));
    static const int32_t wrong[] = {0, 3, -1, INT32_MAX};
    for (int i = 0; i < 4; ++i) assert_null(xf_tokenizer_side(pair, wrong[i]));
}

/* The ids of xf_model_encode(), which are framed; NULL on an error. */
static size_t encode_for(const xf_model *model, int32_t side, const char *text, int32_t ids[64]) {
    size_t count = 0;
    ACCEPTED(xf_model_encode(model, side, text, strlen(text), NULL, ids, 64, &count, err));
    return count;
}

/* xf_model_encode() gives the ids of the side without the space around the text, and the end symbol. */
static void check_model_encode(const xf_model *model, const xf_tokenizer *tokenizer) {
    static const int32_t sides[] = {XF_SIDE_SOURCE, XF_SIDE_TARGET};
    static const char *const texts[] = {"one two three", "eins zwei drei", ""};
    int32_t ids[64], plain[64], spaced[64];
    size_t count = 0, needed = 0;
    for (int i = 0; i < 2; ++i)
        for (int t = 0; t < 3; ++t) {
            const xf_tokenizer *const side = xf_tokenizer_side(tokenizer, sides[i]);
            ACCEPTED(xf_tokenizer_encode(side, texts[t], strlen(texts[t]), plain, 63, &count, err));
            plain[count++] = TOKEN_END;
            assert_int_equal(encode_for(model, sides[i], texts[t], ids), count);
            assert_memory_equal(ids, plain, count * sizeof *ids);
            char around[64];
            snprintf(around, sizeof around, " \t%s\n", texts[t]);
            assert_int_equal(encode_for(model, sides[i], around, spaced), count);
            assert_memory_equal(ids, spaced, count * sizeof *ids);
            char back[64];
            size_t length = 0;
            ACCEPTED(xf_tokenizer_decode(side, ids, count, back, sizeof back, &length, err));
            assert_string_equal(back, texts[t]); /* the end symbol produces no text */
        }
    memset(ids, 0x5A, sizeof ids);
    const char text[] = "one two three";
    count = encode_for(model, XF_SIDE_SOURCE, text, spaced);
    for (size_t room = 0; room < count; ++room) {
        REFUSED(XF_ERROR_BUFFER_TOO_SMALL, ids,
                xf_model_encode(model, XF_SIDE_SOURCE, text, 13, NULL, room ? ids : NULL, room, &needed, err));
        assert_int_equal(needed, count);
    }
    count = 99;
    static const int32_t wrong[] = {0, 3, -1};
    for (int i = 0; i < 3; ++i)
        REFUSED(XF_ERROR_INVALID_ARGUMENT, count,
                xf_model_encode(model, wrong[i], text, 13, NULL, ids, 64, &count, err));
    REFUSED(XF_ERROR_DATA, count, xf_model_encode(model, 1, "a\xff", 2, NULL, ids, 64, &count, err));
}

/* Scores of texts are those of their ids, to the bit. A pair that cannot be scored does not disturb the others. */
static void check_score_texts(const xf_model *model, const xf_config *config) {
    enum { N = 3 };
    static const char *const sources[N] = {"one two three", " four one\n", "two"};
    static const char *const targets[N] = {"eins zwei drei", "vier eins", ""};
    int32_t ids[2][3 * 64];
    int64_t offsets[2][N + 1] = {{0}, {0}};
    for (int i = 0; i < N; ++i)
        for (int side = 0; side < 2; ++side)
            offsets[side][i + 1] =
                offsets[side][i] + (int64_t)encode_for(model, side == 0 ? XF_SIDE_SOURCE : XF_SIDE_TARGET,
                                                       side == 0 ? sources[i] : targets[i],
                                                       ids[side] + offsets[side][i]);
    const xf_batch batch = {sizeof batch, N, ids[0], offsets[0], ids[1], offsets[1], NULL, NULL, 0};
    double expected[N], found[N + 3];
    MAKE(decoder, decoder, xf_decoder_create(model, NULL, config, &decoder, err));
    ACCEPTED(xf_score(decoder, &batch, NULL, expected, err));
    ACCEPTED(xf_score_texts(decoder, sources, NULL, targets, NULL, N, NULL, found, NULL, err));
    assert_memory_equal(found, expected, sizeof expected);
    for (int i = 0; i < N; ++i) assert_true(found[i] < 0);
    /* Sizes: the text ends there. */
    const char *const longer[N] = {"one two three four", "four one", "two two"};
    const size_t lengths[N] = {13, 8, 3};
    xf_status statuses[N + 3] = {7, 7, 7, 7, 7, 7};
    ACCEPTED(xf_score_texts(decoder, longer, lengths, targets, NULL, N, NULL, found, statuses, err));
    assert_memory_equal(found, expected, sizeof expected);
    for (int i = 0; i < N; ++i) assert_int_equal(statuses[i], XF_OK);
    ACCEPTED(xf_score_texts(decoder, NULL, NULL, NULL, NULL, 0, NULL, found, NULL, err));

    static char endless[4000];
    memset(endless, '7', sizeof endless - 1);
    const char *const some[N + 3] = {sources[0], "a\xff", NULL, sources[1], endless, sources[2]};
    const char *const given[N + 3] = {targets[0], "x", "x", targets[1], "x", targets[2]};
    const xf_status stated[N + 3] = {XF_OK, XF_ERROR_DATA,         XF_ERROR_INVALID_ARGUMENT,
                                     XF_OK, XF_ERROR_OUT_OF_RANGE, XF_OK};
    for (int swapped = 0; swapped < 2; ++swapped) { /* the bad text is a source, or a target */
        const char *const *const a = swapped ? given : some, *const *const b = swapped ? some : given;
        ACCEPTED(xf_score_texts(decoder, a, NULL, b, NULL, N + 3, NULL, found, statuses, err));
        for (int i = 0, good = 0; i < N + 3; ++i) {
            assert_int_equal(statuses[i], stated[i]);
            if (stated[i] != XF_OK) assert_true(isnan(found[i]));
            if (stated[i] == XF_OK && !swapped) assert_true(found[i] == expected[good++]);
        }
        for (size_t i = 0; i < N + 3; ++i) {
            if (stated[i] == XF_OK) continue;
            found[0] = 99; /* without statuses, it is an error of the call */
            REFUSED(stated[i], found, xf_score_texts(decoder, a + i, NULL, b + i, NULL, 1, NULL, found, NULL, err));
        }
        REFUSED(XF_ERROR_DATA, found, xf_score_texts(decoder, a, NULL, b, NULL, N + 3, NULL, found, NULL, err));
    }
}

/* A model without a tokenizer encodes and scores no text; one that is not a pair does. */
TEST(model_texts) {
    check_model_encode(world.model, world.tokenizer);
    check_score_texts(world.model, world.config);
    OWNED_CONFIG *c = config_with("cpu:ref", "model.vocab_size=290");
    MAKE(model, model, xf_model_create(world.context, NULL, c, &model, err));
    MAKE(decoder, decoder, xf_decoder_create(model, NULL, c, &decoder, err));
    int32_t ids[8];
    size_t count = 99;
    double score = 99;
    const char *const text = "one";
    REFUSED(XF_ERROR_STATE, count, xf_model_encode(model, XF_SIDE_SOURCE, text, 3, NULL, ids, 8, &count, err));
    REFUSED(XF_ERROR_STATE, score, xf_score_texts(decoder, &text, NULL, &text, NULL, 1, NULL, &score, NULL, err));
}

/* Two tokenizers of different sizes in one: batches, a model, a step, answers, and all of it again from a file. */
TEST(pair) {
    const char *names[] = {scratch_path("of_sources.json"), scratch_path("of_targets.json")};
    const char *path = scratch_path("pair.json"), *model_path = scratch_path("pair.xf");
    const char *sizes[] = {"280", "270"};
    MAKE(config, c, xf_config_copy(world.config, &c, err));
    for (int side = 0; side < 2; ++side) {
        set(c, "tokenizer.kind", side == 0 ? "bpe" : "wordpiece"); /* whose ids differ */
        set(c, "tokenizer.vocab_size", sizes[side]);
        MAKE(tokenizer, one, xf_tokenizer_train(world.context, world.corpus, c, NULL, &one, err));
        ACCEPTED(save_tokenizer(one, names[side], err));
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("{\"format\":\"xformer-tokenizer\",\"version\":1,\"kind\":\"pair\",\"source\":", file);
    put_quoted(file, names[0]);
    fputs(",\"target\":", file);
    put_quoted(file, names[1]);
    fputs("}", file);
    assert_int_equal(fclose(file), 0);

    MAKE(tokenizer, pair, load_tokenizer(world.context, path, &pair, err));
    assert_int_equal(vocab_size_of(pair), 0);
    assert_string_equal(tokenizer_info(pair).kind, "pair");
    check_sides(pair);
    xf_model *model = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, model, xf_model_create(world.context, pair, c, &model, err)); /* one embedding */
    set(c, "model.tie", "decoder");
    set(c, "model.source_vocab_size", "279");
    REFUSED(XF_ERROR_INVALID_ARGUMENT, model, xf_model_create(world.context, pair, c, &model, err));
    set(c, "model.source_vocab_size", "0");
    ACCEPTED(xf_model_create(world.context, pair, c, &model, err));
    int64_t size = 0;
    ACCEPTED(get_integer(xf_model_config(model), "model.source_vocab_size", &size, err));
    assert_int_equal(size, 280);

    xf_batch batch = XF_BATCH_INIT;
    xf_step_stats stats = XF_STEP_STATS_INIT;
    MAKE(batcher, batcher, xf_batcher_create(world.corpus, pair, c, NULL, &batcher, err));
    ACCEPTED(xf_batcher_next(batcher, NULL, &batch, err));
    int32_t most = 0;
    for (int64_t i = 0; i < batch.src_offsets[batch.sentences]; ++i)
        if (batch.src_ids[i] > most) most = batch.src_ids[i];
    assert_true(most >= 270 && most < 280); /* the sources' own */
    MAKE(trainer, trainer, xf_trainer_create(model, c, &trainer, err));
    ACCEPTED(xf_train_step(trainer, &batch, 1, NULL, &stats, err));
    ACCEPTED(save_model(model, NULL, model_path, err));
    check_model_encode(model, pair);
    check_score_texts(model, c);

    const char *answers[2];
    xf_hypotheses *found[2] = {NULL, NULL};
    for (int i = 0; i < 2; ++i) {
        const char *const text = "one two three", *const begin = "eins zwei";
        OWNED_DECODER *decoder = NULL;
        xf_decode_params params = XF_DECODE_PARAMS_INIT;
        xf_hypothesis best = XF_HYPOTHESIS_INIT;
        params.prefixes = &begin;
        if (i == 1) ACCEPTED(load_model(world.context, model_path, &model, err));
        ACCEPTED(xf_decoder_create(model, NULL, c, &decoder, err));
        ACCEPTED(xf_translate(decoder, &text, NULL, 1, &params, NULL, &found[i], err));
        ACCEPTED(xf_hypotheses_get(found[i], 0, 0, &best, err));
        answers[i] = best.text;
        assert_memory_equal(best.text, "eins zwei", 9); /* the prefix was cut by the targets' */
        xf_model_free(model);
    }
    assert_string_equal(answers[0], answers[1]);
    for (int i = 0; i < 2; ++i) xf_hypotheses_free(found[i]);
}

TEST(sentences) {
    const char text[] = " Mr. Smith came.\n\"He left.\" ";
    const size_t length = sizeof text - 1;
    xf_span spans[3];
    size_t count = 99;
    memset(spans, 0x5A, sizeof spans);
    REFUSED(XF_ERROR_DATA, count, xf_split_sentences("ab\xff", 3, NULL, 0, spans, 3, &count, err));
    SAYS("byte 2");
    REFUSED(XF_ERROR_LIMIT, count, xf_split_sentences(text, ((size_t)1 << 30) + 1, NULL, 0, spans, 3, &count, err));
    for (size_t room = 0; room < 2; ++room) {
        REFUSED(XF_ERROR_BUFFER_TOO_SMALL, spans,
                xf_split_sentences(text, length, "en", 0, room > 0 ? spans : NULL, room, &count, err));
        assert_int_equal(count, 2);
    }
    const char *const languages[] = {"en", "en-US", NULL, ""};
    for (int i = 0; i < 4; ++i) {
        memset(spans, 0x5A, sizeof spans);
        ACCEPTED(xf_split_sentences(text, length, languages[i], 0, spans, 2, &count, err));
        assert_true(count == 2 && spans[0].begin == 1 && spans[0].end == 16 && spans[1].begin == 17);
        assert_int_equal(spans[1].end, length - 1);
        assert_int_equal(spans[2].begin, (size_t)0x5A5A5A5A5A5A5A5A);
    }
    ACCEPTED(xf_split_sentences(text, length, "fr", 0, spans, 3, &count, err)); /* "Mr" is not in the French list */
    assert_int_equal(count, 3);
    ACCEPTED(xf_split_sentences("one two three", 13, "en", 7, spans, 3, &count, err));
    assert_true(count == 2 && spans[0].end == 7 && spans[1].begin == 8);
    ACCEPTED(xf_split_sentences(NULL, 0, NULL, 0, NULL, 0, &count, err));
    assert_int_equal(count, 0);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
