/*
 * Segmentation at random in training: whom it is refused, who never sees it, and that a resumed run is the run that was
 * never interrupted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdbool.h>

#include "support.h"

static xf_config *sampling(const char *key, const char *value) {
    xf_config *config = small_config("cpu:ref");
    set(config, "data.max_tokens", "40");
    if (key != NULL) set(config, key, value);
    return config;
}

static xf_batcher *batcher_of(const xf_config *config) {
    xf_batcher *batcher = NULL;
    ACCEPTED(xf_batcher_create(world.corpus, world.tokenizer, config, &batcher, err));
    return batcher;
}

/* Source tokens of the batcher's epoch. */
static int64_t tokens_of(const xf_batcher *batcher) {
    xf_batcher_stats stats = {.struct_size = sizeof stats};
    ACCEPTED(xf_batcher_get_stats(batcher, &stats, err));
    return stats.src_tokens;
}

static void test_refused(void **state) {
    (void)state;
    xf_config *dropout = sampling("data.bpe_dropout", "0.5"), *alpha = sampling("data.unigram_alpha", "0.02");
    set(alpha, "tokenizer.kind", "unigram");
    xf_tokenizer *unigram = NULL;
    ACCEPTED(xf_tokenizer_train(world.context, alpha, world.corpus, &unigram, err));
    xf_batcher *out = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_batcher_create(world.corpus, unigram, dropout, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_batcher_create(world.corpus, world.tokenizer, alpha, &out, err));
    xf_error error;
    assert_int_equal(xf_batcher_create(world.corpus, unigram, dropout, &out, &error), XF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "'data.bpe_dropout' is 0.5"));
    assert_non_null(strstr(error.message, "unigram"));

    const xf_batch pairs = next_batch(world.batcher);
    xf_corpus *ids = NULL;
    ACCEPTED(xf_corpus_from_ids(world.context, &pairs, &ids, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_batcher_create(ids, NULL, dropout, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_batcher_create(ids, NULL, alpha, &out, err));
    xf_corpus_free(ids);

    ACCEPTED(xf_batcher_create(world.corpus, unigram, alpha, &out, err));
    const int64_t first = tokens_of(out);
    xf_batcher_free(out);
    set(alpha, "data.unigram_alpha", "0");
    ACCEPTED(xf_batcher_create(world.corpus, unigram, alpha, &out, err));
    assert_true(tokens_of(out) < first);
    xf_batcher_free(out);
    xf_tokenizer_free(unigram);
    xf_config_free(alpha);
    xf_config_free(dropout);
}

enum { COPIES = 64 };

/* The first epoch's batch of COPIES pairs, both sides of which are one text. */
static xf_batcher *copies(const char *seed, xf_batch *batch) {
    xf_config *config = sampling("data.bpe_dropout", "0.5");
    set(config, "data.seed", seed);
    set(config, "data.shuffle", "false");
    set(config, "data.batch_tokens", "4000");
    const char *texts[COPIES];
    size_t lengths[COPIES];
    for (int i = 0; i < COPIES; ++i) lengths[i] = strlen(texts[i] = "one two three four");
    xf_corpus *corpus = NULL;
    xf_batcher *batcher = NULL;
    ACCEPTED(xf_corpus_from_pairs(world.context, NULL, texts, lengths, texts, lengths, COPIES, &corpus, err));
    ACCEPTED(xf_batcher_create(corpus, world.tokenizer, config, &batcher, err));
    *batch = next_batch(batcher);
    assert_int_equal(batch->sentences, COPIES);
    xf_corpus_free(corpus);
    xf_config_free(config);
    return batcher;
}

/* How many source sentences of a are as the target sentences `ahead` before them in b, or as its sources. */
static int alike(const xf_batch *a, const xf_batch *b, bool targets, int ahead) {
    const int32_t *const ids = targets ? b->tgt_ids : b->src_ids, *const at = targets ? b->tgt_offsets : b->src_offsets;
    int count = 0;
    for (int i = ahead; i < COPIES; ++i) {
        const int32_t *const one = a->src_ids + a->src_offsets[i], *const other = ids + at[i - ahead];
        const int32_t length = a->src_offsets[i + 1] - a->src_offsets[i];
        if (length == at[i - ahead + 1] - at[i - ahead] && memcmp(one, other, (size_t)length * sizeof *one) == 0)
            ++count;
    }
    return count;
}

/* Pair, side and seed each have draws of their own: one text is another wherever one of them is another. */
static void test_draws(void **state) {
    (void)state;
    xf_batch first, same, other;
    xf_batcher *const batchers[] = {copies("7", &first), copies("7", &same), copies("8", &other)};
    assert_int_equal(alike(&first, &same, false, 0), COPIES);
    assert_true(alike(&first, &other, false, 0) < COPIES / 2);
    assert_true(alike(&first, &first, false, 1) < COPIES / 2);
    assert_true(alike(&first, &first, true, 0) < COPIES / 2);
    assert_true(alike(&first, &first, true, 1) < COPIES / 2);
    for (int i = 0; i < 3; ++i) xf_batcher_free(batchers[i]);
}

/* The batcher outlives corpus and tokenizer, and each epoch has other ids. */
static void test_epochs(void **state) {
    (void)state;
    xf_config *config = sampling("data.bpe_dropout", "0.5");
    xf_corpus *corpus = small_corpus(world.context);
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    ACCEPTED(xf_tokenizer_train(world.context, config, corpus, &tokenizer, err));
    ACCEPTED(xf_batcher_create(corpus, tokenizer, config, &batcher, err));
    xf_corpus_free(corpus);
    xf_tokenizer_free(tokenizer);
    const int64_t plain = tokens_of(world.batcher);
    int64_t tokens[4];
    for (int i = 0; i < 4; ++i) {
        tokens[i] = tokens_of(batcher);
        assert_true(tokens[i] > plain);
        xf_batch batch = {.struct_size = sizeof batch};
        enum xf_status status;
        while ((status = xf_batcher_next(batcher, &batch, NULL)) == XF_OK) continue;
        assert_int_equal(status, XF_DONE);
    }
    assert_true(tokens[0] != tokens[1] || tokens[1] != tokens[2] || tokens[2] != tokens[3]);
    ACCEPTED(xf_batcher_seek(batcher, 1, 0, err));
    assert_int_equal(tokens_of(batcher), tokens[1]);
    xf_batcher_free(batcher);
    xf_config_free(config);
}

/* A measurement doesn't depend on how the batcher that brings the pairs segments for training. */
static void test_evaluation(void **state) {
    (void)state;
    xf_config *off = sampling(NULL, NULL), *on = sampling("data.bpe_dropout", "0.5");
    xf_batcher *plain = batcher_of(off), *drawn = batcher_of(on);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
        ACCEPTED(xf_batcher_seek(plain, epoch, 1, err));
        ACCEPTED(xf_batcher_seek(drawn, epoch, 1, err));
        xf_eval_stats a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
        ACCEPTED(xf_evaluate_batcher(world.decoder, plain, &a, err));
        ACCEPTED(xf_evaluate_batcher(world.decoder, drawn, &b, err));
        assert_true(a.sentences == 12);
        assert_memory_equal(&a, &b, sizeof a);
        xf_batcher_stats where = {.struct_size = sizeof where};
        ACCEPTED(xf_batcher_get_stats(drawn, &where, err));
        assert_true(where.epoch == epoch && where.batch == 1);
    }
    xf_batcher_free(plain);
    xf_batcher_free(drawn);
    xf_config_free(off);
    xf_config_free(on);
}

static void train(xf_trainer *trainer, xf_batcher *batcher, int64_t steps) {
    while (xf_trainer_step_count(trainer) < steps) {
        xf_error error;
        const enum xf_status status = xf_train_next(trainer, batcher, NULL, &error);
        assert_true(status == XF_OK || status == XF_DONE);
    }
}

/* 40 steps over several epochs; or 13, a checkpoint, another process' batcher, and the rest. */
static void test_resume(void **state) {
    (void)state;
    xf_config *config = sampling("data.bpe_dropout", "0.3");
    const char *whole = scratch_path("whole"), *half = scratch_path("half"), *parts = scratch_path("parts");
    for (int cut = 0; cut < 2; ++cut) {
        xf_model *model = NULL;
        xf_trainer *trainer = NULL;
        xf_batcher *batcher = batcher_of(config);
        ACCEPTED(xf_model_create(world.context, config, world.tokenizer, &model, err));
        ACCEPTED(xf_trainer_create(model, config, &trainer, err));
        if (cut) {
            train(trainer, batcher, 13);
            ACCEPTED(xf_trainer_save(trainer, batcher, half, err));
            xf_trainer_free(trainer);
            xf_batcher_free(batcher);
            ACCEPTED(xf_trainer_resume(world.context, half, NULL, &trainer, err));
            batcher = batcher_of(config);
            ACCEPTED(xf_trainer_seek(trainer, batcher, err));
            xf_batcher_stats where = {.struct_size = sizeof where};
            ACCEPTED(xf_batcher_get_stats(batcher, &where, err));
            assert_true(where.epoch > 0);
        }
        train(trainer, batcher, 40);
        ACCEPTED(xf_trainer_save(trainer, batcher, cut ? parts : whole, err));
        xf_trainer_free(trainer);
        xf_batcher_free(batcher);
        xf_model_free(model);
    }
    assert_same_files(whole, parts);

    /* Other options would not continue the run, and the sentence names them. */
    static const char *const others[][2] = {{"data.bpe_dropout", "0.2"}, {"data.bpe_dropout", "0"}, {"data.seed", "8"}};
    xf_trainer *trainer = NULL;
    ACCEPTED(xf_trainer_resume(world.context, half, NULL, &trainer, err));
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        xf_config *other = sampling("data.bpe_dropout", "0.3");
        set(other, others[i][0], others[i][1]);
        xf_batcher *batcher = batcher_of(other);
        REFUSED(XF_ERROR_DATA, nothing, xf_trainer_seek(trainer, batcher, err));
        xf_error error;
        assert_int_equal(xf_trainer_seek(trainer, batcher, &error), XF_ERROR_DATA);
        assert_non_null(strstr(error.message, others[i][0]));
        xf_batcher_free(batcher);
        xf_config_free(other);
    }
    xf_trainer_free(trainer);
    xf_config_free(config);
}

struct ears {
    int calls;
    bool stop;
};

static int32_t hear(void *user, const char *task, int64_t done, int64_t total) {
    (void)done, (void)total;
    struct ears *ears = user;
    if (strcmp(task, "encode") == 0) ++ears->calls;
    return ears->stop ? 1 : 0;
}

/* The beginning of a long epoch is heard of, can be stopped, and can be done again. */
static void test_progress(void **state) {
    (void)state;
    struct ears ears = {0, false};
    xf_config *config = sampling("data.bpe_dropout", "0.3");
    xf_host host = XF_HOST_INIT;
    host.progress = hear;
    host.progress_user = &ears;
    xf_context *context = NULL;
    ACCEPTED(xf_context_create(config, &host, &context, err));
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    const size_t copies = 40000, length = strlen(corpus_text); /* so much that it takes longer than a report waits */
    char *text = malloc(copies * length);
    assert_non_null(text);
    for (size_t i = 0; i < copies; ++i) memcpy(text + i * length, corpus_text, length);
    ACCEPTED(xf_corpus_from_memory(context, NULL, "copies", text, copies * length, &corpus, err));
    free(text);
    ACCEPTED(xf_tokenizer_train(context, config, world.corpus, &tokenizer, err));
    set(config, "data.batch_tokens", "100000");
    ACCEPTED(xf_batcher_create(corpus, tokenizer, config, &batcher, err));
    xf_batcher_stats at_end = {.struct_size = sizeof at_end}, after = at_end;
    ACCEPTED(xf_batcher_get_stats(batcher, &at_end, err));
    ACCEPTED(xf_batcher_seek(batcher, 0, at_end.batches, err));
    ACCEPTED(xf_batcher_get_stats(batcher, &at_end, err));

    ears = (struct ears){0, true};
    xf_batch batch = {.struct_size = sizeof batch};
    REFUSED(XF_ERROR_CALLBACK, nothing, xf_batcher_next(batcher, &batch, err));
    REFUSED(XF_ERROR_CALLBACK, nothing, xf_batcher_seek(batcher, 5, 0, err));
    assert_true(ears.calls > 0);
    ACCEPTED(xf_batcher_get_stats(batcher, &after, err));
    assert_memory_equal(&at_end, &after, sizeof after);
    ears = (struct ears){0, false};
    assert_int_equal(xf_batcher_next(batcher, &batch, NULL), XF_DONE);
    assert_true(ears.calls > 0);
    ears.calls = 0;
    ACCEPTED(xf_batcher_next(batcher, &batch, err));
    assert_int_equal(ears.calls, 0); /* within an epoch nothing is encoded */
    xf_batcher_free(batcher);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_context_free(context);
    xf_config_free(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_draws),
                                       cmocka_unit_test(test_epochs),  cmocka_unit_test(test_evaluation),
                                       cmocka_unit_test(test_resume),  cmocka_unit_test(test_progress)};
    return RUN(tests, world_open, world_close);
}
