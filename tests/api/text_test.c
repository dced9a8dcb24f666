/*
 * text.h: the tokenizer's refusals, and buffers of every size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

static void test_make(void **state) {
    (void)state;
    xf_tokenizer *out = SENTINEL;
    REFUSED_HANDLE(CONTEXT, out, xf_tokenizer_train(handle, world.config, world.corpus, &out, err));
    REFUSED_HANDLE(CORPUS, out, xf_tokenizer_train(world.context, world.config, handle, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing,
            xf_tokenizer_train(world.context, world.config, world.corpus, NULL, err));
    for (int i = 0; i < WRONG_HANDLES; ++i)
        if (i != CONFIG && wrong_handle(i) != NULL)
            REFUSED(XF_ERROR_INVALID_ARGUMENT, out,
                    xf_tokenizer_train(world.context, wrong_handle(i), world.corpus, &out, err));

    const char *path = scratch_path("tokenizer.json");
    REFUSED_HANDLE(TOKENIZER, nothing, xf_tokenizer_save(handle, path, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_tokenizer_save(world.tokenizer, NULL, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_tokenizer_save(world.tokenizer, "", err));
    REFUSED(XF_ERROR_NOT_FOUND, nothing, xf_tokenizer_save(world.tokenizer, "/nowhere/at/all", err));
    REFUSED_HANDLE(CONTEXT, out, xf_tokenizer_load(handle, path, &out, err));
    REFUSED(XF_ERROR_NOT_FOUND, out, xf_tokenizer_load(world.context, path, &out, err));
    ACCEPTED(xf_tokenizer_save(world.tokenizer, path, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_tokenizer_load(world.context, NULL, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_tokenizer_load(world.context, path, NULL, err));
    const char *const model = scratch_path("a model");
    ACCEPTED(xf_model_save(world.model, NULL, model, err));
    REFUSED(XF_ERROR_CORRUPT, out, xf_tokenizer_load(world.context, model, &out, err));
    xf_error said;
    assert_int_equal(xf_tokenizer_load(world.context, model, &out, &said), XF_ERROR_CORRUPT);
    assert_non_null(strstr(said.message, "xf_model_tokenizer()"));
    assert_int_equal(xf_tokenizer_load(world.context, "/proc/self/comm", &out, &said), XF_ERROR_CORRUPT);
    assert_non_null(strstr(said.message, "'/proc/self/comm': "));
    ACCEPTED(xf_tokenizer_load(world.context, path, &out, err));
    assert_int_equal(xf_tokenizer_vocab_size(out), xf_tokenizer_vocab_size(world.tokenizer));
    assert_int_equal(xf_tokenizer_start_token(out), XF_TOKEN_START);
    assert_int_equal(xf_tokenizer_end_token(out), XF_TOKEN_END);
    const char *again = scratch_path("again.json");
    ACCEPTED(xf_tokenizer_save(out, again, err));
    assert_same_files(path, again);
    xf_tokenizer_free(out);
    xf_tokenizer_free(NULL);
    for (int i = 0; i < WRONG_HANDLES; ++i) {
        if (i == TOKENIZER) continue;
        xf_tokenizer_free(wrong_handle(i));
        assert_int_equal(xf_tokenizer_vocab_size(wrong_handle(i)), 0);
        assert_int_equal(xf_tokenizer_start_token(wrong_handle(i)), -1);
        assert_int_equal(xf_tokenizer_end_token(wrong_handle(i)), -1);
    }
}

static void test_encode(void **state) {
    (void)state;
    const char text[] = "one two three";
    int32_t ids[64];
    size_t count = 99, needed = 0;
    memset(ids, 0x5A, sizeof ids);
    REFUSED_HANDLE(TOKENIZER, count, xf_tokenizer_encode(handle, text, 13, ids, 64, &count, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, count, xf_tokenizer_encode(world.tokenizer, NULL, 13, ids, 64, &count, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, count, xf_tokenizer_encode(world.tokenizer, text, 13, NULL, 64, &count, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, ids, xf_tokenizer_encode(world.tokenizer, text, 13, ids, 64, NULL, err));
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

    xf_config *config = small_config("cpu:ref");
    set(config, "tokenizer.invalid_utf8", "replace");
    xf_tokenizer *lenient = NULL;
    ACCEPTED(xf_tokenizer_train(world.context, config, world.corpus, &lenient, err));
    ACCEPTED(xf_tokenizer_encode(lenient, "ab\xff", 3, ids, 64, &count, err));
    xf_tokenizer_free(lenient);
    xf_config_free(config);
}

static void test_decode(void **state) {
    (void)state;
    const int32_t size = xf_tokenizer_vocab_size(world.tokenizer);
    int32_t ids[64];
    char text[512];
    size_t count = 0, length = 99;
    memset(text, 0x5A, sizeof text);
    ACCEPTED(xf_tokenizer_encode(world.tokenizer, "one two", 7, ids, 64, &count, err));
    REFUSED_HANDLE(TOKENIZER, length, xf_tokenizer_decode(handle, ids, count, text, 64, &length, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, length, xf_tokenizer_decode(world.tokenizer, NULL, 3, text, 64, &length, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, length,
            xf_tokenizer_decode(world.tokenizer, ids, SIZE_MAX, text, 64, &length, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, length,
            xf_tokenizer_decode(world.tokenizer, ids, count, NULL, 64, &length, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, text, xf_tokenizer_decode(world.tokenizer, ids, count, text, 64, NULL, err));
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
    REFUSED_HANDLE(TOKENIZER, length, xf_tokenizer_get_piece(handle, 0, text, 64, &length, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, length, xf_tokenizer_get_piece(world.tokenizer, 0, NULL, 64, &length, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, text, xf_tokenizer_get_piece(world.tokenizer, 0, text, 64, NULL, err));
    REFUSED(XF_ERROR_BUFFER_TOO_SMALL, text,
            xf_tokenizer_get_piece(world.tokenizer, XF_TOKEN_END, text, 4, &length, err));
    ACCEPTED(xf_tokenizer_get_piece(world.tokenizer, XF_TOKEN_END, text, 5, &length, err));
    assert_string_equal(text, "</s>");
    for (int32_t id = 0; id < size; ++id) ACCEPTED(xf_tokenizer_get_piece(world.tokenizer, id, text, 64, &length, err));
    for (int32_t id = 0; id < 64; ++id) ids[id] = id * 4; /* any ids give some text */
    ACCEPTED(xf_tokenizer_decode(world.tokenizer, ids, 64, text, sizeof text, &length, err));
}

/* Another kind, through a file, and inside a model. */
static void check_kind(const char *kind) {
    xf_config *c = small_config("cpu:ref");
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_config_set(c, "tokenizer.kind", "words", err));
    set(c, "tokenizer.kind", kind);
    set(c, "tokenizer.vocab_size", "280");
    const char *path = scratch_path("kind.json"), *model_path = scratch_path("kind.model");
    xf_tokenizer *made = NULL, *read = NULL;
    ACCEPTED(xf_tokenizer_train(world.context, c, world.corpus, &made, err));
    assert_int_equal(xf_tokenizer_vocab_size(made), 280);
    ACCEPTED(xf_tokenizer_save(made, path, err));
    ACCEPTED(xf_tokenizer_load(world.context, path, &read, err));
    xf_model *model = NULL;
    ACCEPTED(xf_model_create(world.context, c, read, &model, err));
    ACCEPTED(xf_model_save(model, NULL, model_path, err));
    xf_model_free(model);
    ACCEPTED(xf_model_load(world.context, model_path, &model, err));
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
    xf_tokenizer_free(made);
    xf_tokenizer_free(read);
    xf_config_free(c);
}

static void test_kinds(void **state) {
    (void)state;
    check_kind("wordpiece");
    check_kind("unigram");
}

/* A tokenizer of SentencePiece without an end symbol: who needs one has to be told. */
static void test_no_end(void **state) {
    (void)state;
    const char *path = scratch_path("no_end.json");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(
        "{\"format\":\"xformer-tokenizer\",\"version\":1,\"kind\":\"sentencepiece-unigram\",\"add_dummy_prefix\":true,"
        "\"remove_extra_whitespaces\":true,\"escape_whitespaces\":true,\"whitespace_as_suffix\":false,"
        "\"byte_fallback\":false,\"start\":-1,\"end\":-1,\"unknown_surface\":\"?\",\"character_map\":\"\","
        "\"decoded_map\":\"\",\"pieces\":[[\"<unk>\",0,2],[\"<stop>\",0,3],[\"o\",-1,1],[\"n\",-1,1],[\"e\",-1,1]]}",
        file);
    assert_int_equal(fclose(file), 0);
    xf_tokenizer *tokenizer = NULL;
    ACCEPTED(xf_tokenizer_load(world.context, path, &tokenizer, err));
    assert_int_equal(xf_tokenizer_start_token(tokenizer), -1);
    assert_int_equal(xf_tokenizer_end_token(tokenizer), -1);
    xf_config *c = NULL;
    ACCEPTED(xf_config_copy(world.config, &c, err));
    xf_model *model = SENTINEL;
    xf_batcher *batcher = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, model, xf_model_create(world.context, c, tokenizer, &model, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, batcher, xf_batcher_create(world.corpus, tokenizer, c, &batcher, err));
    set(c, "model.end_token", "1");
    ACCEPTED(xf_model_create(world.context, c, tokenizer, &model, err));
    const char *value = NULL;
    ACCEPTED(xf_config_get(xf_model_config(model), "model.start_token", &value, err));
    assert_string_equal(value, "1"); /* without one of its own the end symbol comes first */
    ACCEPTED(xf_batcher_create(world.corpus, tokenizer, c, &batcher, err));
    xf_batch batch = XF_BATCH_INIT;
    ACCEPTED(xf_batcher_next(batcher, &batch, err));
    for (int64_t b = 0; b < batch.sentences; ++b) {
        assert_int_equal(batch.src_ids[batch.src_offsets[b + 1] - 1], 1);
        assert_int_equal(batch.tgt_ids[batch.tgt_offsets[b + 1] - 1], 1);
    }
    xf_batcher_free(batcher);
    xf_model_free(model);
    xf_config_free(c);
    xf_tokenizer_free(tokenizer);
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

/* Two tokenizers of different sizes in one: batches, a model, a step, answers, and all of it again from a file. */
static void test_pair(void **state) {
    (void)state;
    const char *names[] = {scratch_path("of_sources.json"), scratch_path("of_targets.json")};
    const char *path = scratch_path("pair.json"), *model_path = scratch_path("pair.xf");
    const char *sizes[] = {"280", "270"};
    xf_config *c = NULL;
    ACCEPTED(xf_config_copy(world.config, &c, err));
    for (int side = 0; side < 2; ++side) {
        xf_tokenizer *one = NULL;
        set(c, "tokenizer.kind", side == 0 ? "bpe" : "wordpiece"); /* whose ids differ */
        set(c, "tokenizer.vocab_size", sizes[side]);
        ACCEPTED(xf_tokenizer_train(world.context, c, world.corpus, &one, err));
        ACCEPTED(xf_tokenizer_save(one, names[side], err));
        xf_tokenizer_free(one);
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("{\"format\":\"xformer-tokenizer\",\"version\":1,\"kind\":\"pair\",\"source\":", file);
    put_quoted(file, names[0]);
    fputs(",\"target\":", file);
    put_quoted(file, names[1]);
    fputs("}", file);
    assert_int_equal(fclose(file), 0);

    xf_tokenizer *pair = NULL;
    ACCEPTED(xf_tokenizer_load(world.context, path, &pair, err));
    assert_int_equal(xf_tokenizer_vocab_size(pair), 270);
    xf_model *model = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, model, xf_model_create(world.context, c, pair, &model, err)); /* one embedding */
    set(c, "model.tie", "decoder");
    set(c, "model.source_vocab_size", "279");
    REFUSED(XF_ERROR_INVALID_ARGUMENT, model, xf_model_create(world.context, c, pair, &model, err));
    set(c, "model.source_vocab_size", "0");
    ACCEPTED(xf_model_create(world.context, c, pair, &model, err));
    int64_t size = 0;
    ACCEPTED(xf_config_get_i64(xf_model_config(model), "model.source_vocab_size", &size, err));
    assert_int_equal(size, 280);

    xf_batcher *batcher = NULL;
    xf_trainer *trainer = NULL;
    xf_batch batch = XF_BATCH_INIT;
    xf_step_stats stats = XF_STEP_STATS_INIT;
    ACCEPTED(xf_batcher_create(world.corpus, pair, c, &batcher, err));
    ACCEPTED(xf_batcher_next(batcher, &batch, err));
    int32_t most = 0;
    for (int32_t i = 0; i < batch.src_offsets[batch.sentences]; ++i)
        if (batch.src_ids[i] > most) most = batch.src_ids[i];
    assert_true(most >= 270 && most < 280); /* the sources' own */
    ACCEPTED(xf_trainer_create(model, c, &trainer, err));
    ACCEPTED(xf_train_step(trainer, &batch, 1, &stats, err));
    ACCEPTED(xf_model_save(model, NULL, model_path, err));

    const char *answers[2];
    xf_hypotheses *found[2] = {NULL, NULL};
    for (int i = 0; i < 2; ++i) {
        const char *const text = "one two three", *const begin = "eins zwei";
        xf_decoder *decoder = NULL;
        xf_decode_params params = XF_DECODE_PARAMS_INIT;
        xf_hypothesis best = XF_HYPOTHESIS_INIT;
        params.prefixes = &begin;
        if (i == 1) ACCEPTED(xf_model_load(world.context, model_path, &model, err));
        ACCEPTED(xf_decoder_create(model, c, &decoder, err));
        ACCEPTED(xf_translate(decoder, &text, NULL, 1, &params, &found[i], err));
        ACCEPTED(xf_hypotheses_get(found[i], 0, 0, &best, err));
        answers[i] = best.text;
        assert_memory_equal(best.text, "eins zwei", 9); /* the prefix was cut by the targets' */
        xf_decoder_free(decoder);
        xf_model_free(model);
    }
    assert_string_equal(answers[0], answers[1]);
    for (int i = 0; i < 2; ++i) xf_hypotheses_free(found[i]);
    xf_trainer_free(trainer);
    xf_batcher_free(batcher);
    xf_tokenizer_free(pair);
    xf_config_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_make),   cmocka_unit_test(test_encode),
                                       cmocka_unit_test(test_decode), cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_no_end), cmocka_unit_test(test_pair)};
    return RUN(tests, world_open, world_close);
}
