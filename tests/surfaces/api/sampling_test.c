/*
 * Segmentation and changes at random in training: for which corpora they are refused, what does not use them, and that
 * a resumed run is the run that was never interrupted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdbool.h>

#include "support.h"

static xf_config *sampling(const char *value) {
    xf_config *config = small_config("cpu:ref");
    set(config, "data.max_tokens", "40");
    set(config, "data.sampling", value);
    set(config, "data.augment", strcmp(value, "0.3") == 0 ? "0.4" : "0");
    return config;
}

static xf_batcher *batcher_of(const xf_config *config) {
    xf_batcher *batcher = NULL;
    ACCEPTED(xf_batcher_create(world.corpus, world.tokenizer, config, NULL, &batcher, err));
    return batcher;
}

/* Source tokens of the batcher's epoch. */
static int64_t tokens_of(const xf_batcher *batcher) {
    const xf_batcher_stats stats = get_batcher_stats(batcher);
    return stats.src_tokens;
}

TEST(refused) {
    OWNED_CONFIG *config = sampling("1.5"), *wordpiece_config = sampling("0.5");
    set(config, "tokenizer.kind", "unigram");
    set(wordpiece_config, "tokenizer.kind", "wordpiece");
    MAKE(tokenizer, unigram, xf_tokenizer_train(world.context, world.corpus, config, NULL, &unigram, err));
    MAKE(tokenizer, wordpiece,
         xf_tokenizer_train(world.context, world.corpus, wordpiece_config, NULL, &wordpiece, err));
    xf_batcher *out = SENTINEL;
    REFUSED(XF_ERROR_OUT_OF_RANGE, out, xf_batcher_create(world.corpus, world.tokenizer, config, NULL, &out, err));
    SAYS("'data.sampling' is 1.5");
    SAYS("bpe");
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out,
            xf_batcher_create(world.corpus, wordpiece, wordpiece_config, NULL, &out, err));

    const xf_batch pairs = next_batch(world.batcher);
    MAKE(corpus, ids, xf_corpus_from_ids(world.context, &pairs, NULL, &ids, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_batcher_create(ids, NULL, config, NULL, &out, err));

    set(config, "data.sampling", "0");
    set(config, "data.augment", "0.1");
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_batcher_create(ids, NULL, config, NULL, &out, err));
    SAYS("'data.augment'");
    set(config, "data.augment", "0");
    set(config, "data.mix", "a.tsv=1");
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_batcher_create(ids, NULL, config, NULL, &out, err));
    SAYS("the corpus was not read from files");
    set(config, "data.mix", "");
    set(config, "data.sampling", "1.5");

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
}

enum { COPIES = 64 };

/* The first epoch's batch of COPIES pairs, both sides of which are one text. */
static xf_batcher *copies(const char *seed, xf_batch *batch) {
    OWNED_CONFIG *config = sampling("0.5");
    set(config, "data.seed", seed);
    set(config, "data.shuffle", "false");
    set(config, "data.batch_tokens", "4000");
    const char *texts[COPIES];
    size_t lengths[COPIES];
    for (int i = 0; i < COPIES; ++i) lengths[i] = strlen(texts[i] = "one two three four");
    xf_batcher *batcher = NULL;
    MAKE(corpus, corpus,
         xf_corpus_from_pairs(world.context, texts, lengths, texts, lengths, COPIES, NULL, NULL, &corpus, err));
    ACCEPTED(xf_batcher_create(corpus, world.tokenizer, config, NULL, &batcher, err));
    *batch = next_batch(batcher);
    assert_int_equal(batch->sentences, COPIES);
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
TEST(draws) {
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
TEST(epochs) {
    OWNED_CONFIG *config = sampling("0.5");
    xf_corpus *corpus = small_corpus(world.context);
    xf_tokenizer *tokenizer = NULL;
    ACCEPTED(xf_tokenizer_train(world.context, corpus, config, NULL, &tokenizer, err));
    MAKE(batcher, batcher, xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, err));
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
}

/* A measurement doesn't depend on how the batcher that brings the pairs segments for training. */
TEST(evaluation) {
    OWNED_CONFIG *off = sampling("0"), *on = sampling("0.5");
    OWNED_BATCHER *plain = batcher_of(off), *drawn = batcher_of(on);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
        ACCEPTED(xf_batcher_seek(plain, epoch, 1, NULL, err));
        ACCEPTED(xf_batcher_seek(drawn, epoch, 1, NULL, err));
        xf_eval_stats a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
        ACCEPTED(xf_evaluate(world.decoder, plain, NULL, &a, err));
        ACCEPTED(xf_evaluate(world.decoder, drawn, NULL, &b, err));
        assert_true(a.sentences == 12);
        assert_memory_equal(&a, &b, sizeof a);
        const xf_batcher_stats where = get_batcher_stats(drawn);
        assert_true(where.epoch == epoch && where.batch == 1);
    }
}

static void train(xf_trainer *trainer, xf_batcher *batcher, int64_t steps) {
    while (xf_trainer_step_count(trainer) < steps) {
        xf_error error;
        const xf_status status = xf_train_next(trainer, batcher, NULL, NULL, &error);
        assert_true(status == XF_OK || status == XF_DONE);
    }
}

/* 40 steps over several epochs; or 13, a checkpoint, another process' batcher, and the rest. */
TEST(resume) {
    OWNED_CONFIG *config = sampling("0.3");
    const char *whole = scratch_path("whole"), *half = scratch_path("half"), *parts = scratch_path("parts");
    for (int cut = 0; cut < 2; ++cut) {
        xf_trainer *trainer = NULL;
        xf_batcher *batcher = batcher_of(config);
        MAKE(model, model, xf_model_create(world.context, world.tokenizer, config, &model, err));
        ACCEPTED(xf_trainer_create(model, config, &trainer, err));
        if (cut) {
            train(trainer, batcher, 13);
            ACCEPTED(save_trainer(trainer, batcher, half, err));
            xf_trainer_free(trainer);
            xf_batcher_free(batcher);
            ACCEPTED(resume_trainer(world.context, half, NULL, &trainer, err));
            batcher = batcher_of(config);
            ACCEPTED(xf_batcher_resume(batcher, trainer, NULL, err));
            const xf_batcher_stats where = get_batcher_stats(batcher);
            assert_true(where.epoch > 0);
        }
        train(trainer, batcher, 40);
        ACCEPTED(save_trainer(trainer, batcher, cut ? parts : whole, err));
        xf_trainer_free(trainer);
        xf_batcher_free(batcher);
    }
    assert_same_files(whole, parts);

    /* Other options would not continue the run, and the sentence names them. */
    static const char *const others[][2] = {{"data.sampling", "0.2"},
                                            {"data.sampling", "0"},
                                            {"data.seed", "8"},
                                            {"data.augment", "0.1"},
                                            {"data.augment", "0"}};
    MAKE(trainer, trainer, resume_trainer(world.context, half, NULL, &trainer, err));
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        OWNED_CONFIG *other = sampling("0.3");
        set(other, others[i][0], others[i][1]);
        OWNED_BATCHER *batcher = batcher_of(other);
        REFUSED(XF_ERROR_DATA, nothing, xf_batcher_resume(batcher, trainer, NULL, err));
        SAYS(others[i][0]);
    }
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
TEST(progress) {
    struct ears ears = {0, false};
    OWNED_CONFIG *config = sampling("0.3");
    const xf_call call = {sizeof call, NULL, 0, hear, &ears};
    MAKE(context, context, xf_context_create(config, NULL, &context, err));
    OWNED_CORPUS *corpus = NULL;
    const size_t copies = 40000, length = strlen(corpus_text); /* so much that it takes longer than a report waits */
    OWNED_MEMORY char *text = malloc(copies * length);
    assert_non_null(text);
    for (size_t i = 0; i < copies; ++i) memcpy(text + i * length, corpus_text, length);
    ACCEPTED(corpus_from_text(context, NULL, text, copies * length, &corpus, err));
    MAKE(tokenizer, tokenizer, xf_tokenizer_train(context, world.corpus, config, NULL, &tokenizer, err));
    set(config, "data.batch_tokens", "100000");
    MAKE(batcher, batcher, xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, err));
    ACCEPTED(xf_batcher_seek(batcher, 0, get_batcher_stats(batcher).batches, NULL, err));
    const xf_batcher_stats at_end = get_batcher_stats(batcher);

    ears = (struct ears){0, true};
    xf_batch batch = {.struct_size = sizeof batch};
    REFUSED(XF_ERROR_CALLBACK, nothing, xf_batcher_next(batcher, &call, &batch, err));
    REFUSED(XF_ERROR_CALLBACK, nothing, xf_batcher_seek(batcher, 5, 0, &call, err));
    assert_true(ears.calls > 0);
    const xf_batcher_stats after = get_batcher_stats(batcher);
    assert_memory_equal(&at_end, &after, sizeof after);
    ears = (struct ears){0, false};
    assert_int_equal(xf_batcher_next(batcher, &call, &batch, NULL), XF_DONE);
    assert_true(ears.calls > 0);
    ears.calls = 0;
    ACCEPTED(xf_batcher_next(batcher, &call, &batch, err));
    assert_int_equal(ears.calls, 0); /* within an epoch nothing is encoded */
}

int main(void) { return RUN_TESTS(world_open, world_close); }
