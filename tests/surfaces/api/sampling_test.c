/*
 * Segmentation at random in training: whom it is refused, who never sees it, and that a resumed run is the run that was
 * never interrupted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdbool.h>

#include "support.h"

static xf_config *sampling(const char *value) {
    xf_config *config = small_config("cpu:ref");
    set(config, "data.max_tokens", "40");
    set(config, "data.sampling", value);
    return config;
}

static xf_batcher *batcher_of(const xf_config *config) {
    xf_batcher *batcher = NULL;
    ACCEPTED(xf_batcher_create(world.corpus, world.tokenizer, config, NULL, &batcher, err));
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
    xf_config *config = sampling("1.5"), *wordpiece_config = sampling("0.5");
    set(config, "tokenizer.kind", "unigram");
    set(wordpiece_config, "tokenizer.kind", "wordpiece");
    xf_tokenizer *unigram = NULL, *wordpiece = NULL;
    ACCEPTED(xf_tokenizer_train(world.context, world.corpus, config, NULL, &unigram, err));
    ACCEPTED(xf_tokenizer_train(world.context, world.corpus, wordpiece_config, NULL, &wordpiece, err));
    xf_batcher *out = SENTINEL;
    REFUSED(XF_ERROR_OUT_OF_RANGE, out, xf_batcher_create(world.corpus, world.tokenizer, config, NULL, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out,
            xf_batcher_create(world.corpus, wordpiece, wordpiece_config, NULL, &out, err));
    xf_error error;
    assert_int_equal(xf_batcher_create(world.corpus, world.tokenizer, config, NULL, &out, &error),
                     XF_ERROR_OUT_OF_RANGE);
    assert_non_null(strstr(error.message, "'data.sampling' is 1.5"));
    assert_non_null(strstr(error.message, "bpe"));

    const xf_batch pairs = next_batch(world.batcher);
    xf_corpus *ids = NULL;
    ACCEPTED(xf_corpus_from_ids(world.context, &pairs, NULL, &ids, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_batcher_create(ids, NULL, config, NULL, &out, err));
    xf_corpus_free(ids);

    ACCEPTED(xf_batcher_create(world.corpus, unigram, config, NULL, &out, err)); /* an alpha may be more than 1 */
    xf_batcher_free(out);
    set(config, "data.sampling", "0.02");
    ACCEPTED(xf_batcher_create(world.corpus, unigram, config, NULL, &out, err));
    const int64_t first = tokens_of(out);
    xf_batcher_free(out);
    set(config, "data.sampling", "0");
    ACCEPTED(xf_batcher_create(world.corpus, unigram, config, NULL, &out, err));
    assert_true(tokens_of(out) < first);
    xf_batcher_free(out);
    xf_tokenizer_free(wordpiece);
    xf_tokenizer_free(unigram);
    xf_config_free(wordpiece_config);
    xf_config_free(config);
}

enum { COPIES = 64 };

/* The first epoch's batch of COPIES pairs, both sides of which are one text. */
static xf_batcher *copies(const char *seed, xf_batch *batch) {
    xf_config *config = sampling("0.5");
    set(config, "data.seed", seed);
    set(config, "data.shuffle", "false");
    set(config, "data.batch_tokens", "4000");
    const char *texts[COPIES];
    size_t lengths[COPIES];
    for (int i = 0; i < COPIES; ++i) lengths[i] = strlen(texts[i] = "one two three four");
    xf_corpus *corpus = NULL;
    xf_batcher *batcher = NULL;
    ACCEPTED(xf_corpus_from_pairs(world.context, texts, lengths, texts, lengths, COPIES, NULL, NULL, &corpus, err));
    ACCEPTED(xf_batcher_create(corpus, world.tokenizer, config, NULL, &batcher, err));
    *batch = next_batch(batcher);
    assert_int_equal(batch->sentences, COPIES);
    xf_corpus_free(corpus);
    xf_config_free(config);
    return batcher;
}

/* How many source sentences of a are as the target sentences `ahead` before them in b, or as its sources. */
static int alike(const xf_batch *a, const xf_batch *b, bool targets, int ahead) {
    const int32_t *const ids = targets ? b->tgt_ids : b->src_ids;
    const int64_t *const at = targets ? b->tgt_offsets : b->src_offsets;
    int count = 0;
    for (int i = ahead; i < COPIES; ++i) {
        const int32_t *const one = a->src_ids + a->src_offsets[i], *const other = ids + at[i - ahead];
        const int64_t length = a->src_offsets[i + 1] - a->src_offsets[i];
        if (length == at[i - ahead + 1] - at[i - ahead] && memcmp(one, other, (size_t)length * sizeof *one) == 0)
            ++count;
    }
    return count;
}

/* Pair, side, and seed have independent draws: a text is segmented differently if one of them differs. */
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
    xf_config *config = sampling("0.5");
    xf_corpus *corpus = small_corpus(world.context);
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    ACCEPTED(xf_tokenizer_train(world.context, corpus, config, NULL, &tokenizer, err));
    ACCEPTED(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, err));
    xf_corpus_free(corpus);
    xf_tokenizer_free(tokenizer);
    const int64_t plain = tokens_of(world.batcher);
    int64_t tokens[4];
    for (int i = 0; i < 4; ++i) {
        tokens[i] = tokens_of(batcher);
        assert_true(tokens[i] > plain);
        xf_batch batch = {.struct_size = sizeof batch};
        xf_status status;
        while ((status = xf_batcher_next(batcher, NULL, &batch, NULL)) == XF_OK) continue;
        assert_int_equal(status, XF_DONE);
    }
    assert_true(tokens[0] != tokens[1] || tokens[1] != tokens[2] || tokens[2] != tokens[3]);
    ACCEPTED(xf_batcher_seek(batcher, 1, 0, NULL, err));
    assert_int_equal(tokens_of(batcher), tokens[1]);
    xf_batcher_free(batcher);
    xf_config_free(config);
}

/* A measurement doesn't depend on how the batcher that brings the pairs segments for training. */
static void test_evaluation(void **state) {
    (void)state;
    xf_config *off = sampling("0"), *on = sampling("0.5");
    xf_batcher *plain = batcher_of(off), *drawn = batcher_of(on);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
        ACCEPTED(xf_batcher_seek(plain, epoch, 1, NULL, err));
        ACCEPTED(xf_batcher_seek(drawn, epoch, 1, NULL, err));
        xf_eval_stats a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
        ACCEPTED(xf_evaluate(world.decoder, plain, NULL, &a, err));
        ACCEPTED(xf_evaluate(world.decoder, drawn, NULL, &b, err));
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
        const xf_status status = xf_train_next(trainer, batcher, NULL, NULL, &error);
        assert_true(status == XF_OK || status == XF_DONE);
    }
}

/* 40 steps over several epochs; or 13, a checkpoint, another process' batcher, and the rest. */
static void test_resume(void **state) {
    (void)state;
    xf_config *config = sampling("0.3");
    const char *whole = scratch_path("whole"), *half = scratch_path("half"), *parts = scratch_path("parts");
    for (int cut = 0; cut < 2; ++cut) {
        xf_model *model = NULL;
        xf_trainer *trainer = NULL;
        xf_batcher *batcher = batcher_of(config);
        ACCEPTED(xf_model_create(world.context, world.tokenizer, config, &model, err));
        ACCEPTED(xf_trainer_create(model, config, &trainer, err));
        if (cut) {
            train(trainer, batcher, 13);
            ACCEPTED(save_trainer(trainer, batcher, half, err));
            xf_trainer_free(trainer);
            xf_batcher_free(batcher);
            ACCEPTED(resume_trainer(world.context, half, NULL, &trainer, err));
            batcher = batcher_of(config);
            ACCEPTED(xf_batcher_resume(batcher, trainer, NULL, err));
            xf_batcher_stats where = {.struct_size = sizeof where};
            ACCEPTED(xf_batcher_get_stats(batcher, &where, err));
            assert_true(where.epoch > 0);
        }
        train(trainer, batcher, 40);
        ACCEPTED(save_trainer(trainer, batcher, cut ? parts : whole, err));
        xf_trainer_free(trainer);
        xf_batcher_free(batcher);
        xf_model_free(model);
    }
    assert_same_files(whole, parts);

    /* Other options would not continue the run, and the sentence names them. */
    static const char *const others[][2] = {{"data.sampling", "0.2"}, {"data.sampling", "0"}, {"data.seed", "8"}};
    xf_trainer *trainer = NULL;
    ACCEPTED(resume_trainer(world.context, half, NULL, &trainer, err));
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        xf_config *other = sampling("0.3");
        set(other, others[i][0], others[i][1]);
        xf_batcher *batcher = batcher_of(other);
        REFUSED(XF_ERROR_DATA, nothing, xf_batcher_resume(batcher, trainer, NULL, err));
        xf_error error;
        assert_int_equal(xf_batcher_resume(batcher, trainer, NULL, &error), XF_ERROR_DATA);
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

static int32_t hear(void *user, const xf_progress *progress) {
    struct ears *ears = user;
    assert_true(progress->struct_size >= sizeof *progress);
    assert_true(progress->done >= 0 && progress->done <= progress->total);
    if (strcmp(progress->task, "encode") == 0) ++ears->calls;
    return ears->stop ? 1 : 0;
}

/* The start of a long epoch reports progress, can be cancelled, and can be repeated. */
static void test_progress(void **state) {
    (void)state;
    struct ears ears = {0, false};
    xf_config *config = sampling("0.3");
    const xf_call call = {sizeof call, NULL, 0, hear, &ears};
    xf_context *context = NULL;
    ACCEPTED(xf_context_create(config, NULL, &context, err));
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    const size_t copies = 40000, length = strlen(corpus_text); /* so much that it takes longer than a report waits */
    char *text = malloc(copies * length);
    assert_non_null(text);
    for (size_t i = 0; i < copies; ++i) memcpy(text + i * length, corpus_text, length);
    ACCEPTED(corpus_from_text(context, NULL, text, copies * length, &corpus, err));
    free(text);
    ACCEPTED(xf_tokenizer_train(context, world.corpus, config, NULL, &tokenizer, err));
    set(config, "data.batch_tokens", "100000");
    ACCEPTED(xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, err));
    xf_batcher_stats at_end = {.struct_size = sizeof at_end}, after = at_end;
    ACCEPTED(xf_batcher_get_stats(batcher, &at_end, err));
    ACCEPTED(xf_batcher_seek(batcher, 0, at_end.batches, NULL, err));
    ACCEPTED(xf_batcher_get_stats(batcher, &at_end, err));

    ears = (struct ears){0, true};
    xf_batch batch = {.struct_size = sizeof batch};
    REFUSED(XF_ERROR_CALLBACK, nothing, xf_batcher_next(batcher, &call, &batch, err));
    REFUSED(XF_ERROR_CALLBACK, nothing, xf_batcher_seek(batcher, 5, 0, &call, err));
    assert_true(ears.calls > 0);
    ACCEPTED(xf_batcher_get_stats(batcher, &after, err));
    assert_memory_equal(&at_end, &after, sizeof after);
    ears = (struct ears){0, false};
    assert_int_equal(xf_batcher_next(batcher, &call, &batch, NULL), XF_DONE);
    assert_true(ears.calls > 0);
    ears.calls = 0;
    ACCEPTED(xf_batcher_next(batcher, &call, &batch, err));
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
