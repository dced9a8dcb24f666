/*
 * Scenarios of fault injection: corpora, batchers and tokenizers. See injected.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "injected.h"

static void add_corpus(digest *d, const xf_corpus *corpus) {
    xf_corpus_stats stats = XF_CORPUS_STATS_INIT;
    ACCEPTED(xf_corpus_get_stats(corpus, &stats, err));
    add_bytes(d, &stats, sizeof stats);
    for (int64_t i = 0; i < xf_corpus_pair_count(corpus); ++i) {
        const char *source = NULL, *target = NULL;
        size_t source_length = 0, target_length = 0;
        ACCEPTED(xf_corpus_get_pair(corpus, i, &source, &source_length, &target, &target_length, err));
        add_bytes(d, source, source_length);
        add_bytes(d, target, target_length);
    }
}

static xf_status open_corpus(struct bench *b, const char *path, const char *targets, digest *d, xf_error *error) {
    OWNED(corpus) *corpus = NULL;
    TRY(xf_corpus_open(b->ref, path, targets, targets == NULL ? b->config : NULL, NULL, &corpus, error));
    add_corpus(d, corpus);
    return XF_OK;
}
static xf_status act_file(struct bench *b, digest *d, xf_error *error) {
    return open_corpus(b, CORPUS_FILE, NULL, d, error);
}
static xf_status act_folder(struct bench *b, digest *d, xf_error *error) {
    return open_corpus(b, CORPUS_FOLDER, NULL, d, error);
}
static xf_status act_parallel(struct bench *b, digest *d, xf_error *error) {
    return open_corpus(b, CORPUS_FILE, scratch_path("targets"), d, error);
}
static xf_status act_pairs(struct bench *b, digest *d, xf_error *error) {
    OWNED(corpus) *corpus = NULL;
    static const char *const sources[] = {"one\ttwo", "a text that is longer than a short string"};
    TRY(xf_corpus_from_pairs(b->ref, sources, NULL, sources, NULL, 2, NULL, NULL, &corpus, error));
    add_corpus(d, corpus);
    return XF_OK;
}

static xf_status act_parts(struct bench *b, digest *d, xf_error *error) {
    OWNED(corpus) *ids = NULL, *some = NULL, *rest = NULL, *held_out = NULL;
    const int64_t wanted[] = {3, 1, 3};
    TRY(xf_corpus_from_ids(b->ref, &b->batch, NULL, &ids, error));
    TRY(xf_corpus_subset(b->corpus, wanted, 3, &some, error));
    TRY(xf_corpus_split(b->corpus, 4, 9, &rest, &held_out, error));
    add_corpus(d, some), add_corpus(d, rest), add_corpus(d, held_out);
    add_number(d, (double)xf_corpus_pair_count(ids));
    return XF_OK;
}

static void add_batch(digest *d, const xf_batch *batch) {
    const int64_t count = batch->sentences;
    if (count == 0) return;
    add_bytes(d, batch->src_ids, (size_t)batch->src_offsets[count] * sizeof(int32_t));
    add_bytes(d, batch->tgt_ids, (size_t)batch->tgt_offsets[count] * sizeof(int32_t));
    add_bytes(d, batch->pair_index, (size_t)count * sizeof(int64_t));
}

/* All of an epoch and the beginning of the next one. */
static xf_status act_batcher(struct bench *b, digest *d, xf_error *error) {
    OWNED(batcher) *batcher = NULL;
    xf_batcher_stats stats = XF_BATCHER_STATS_INIT;
    TRY(xf_batcher_create(b->corpus, b->tokenizer, b->config, NULL, &batcher, error));
    do {
        xf_batch batch = XF_BATCH_INIT;
        TRY(xf_batcher_next(batcher, NULL, &batch, error));
        add_batch(d, &batch);
        TRY(xf_batcher_get_stats(batcher, &stats, error));
    } while (stats.epoch == 0 || stats.batch == 0);
    return XF_OK;
}

/* An encoded corpus in three chunks. After an error, the next attempt continues with the parts that are complete. */
#define ENCODED_FOLDER scratch_path("encoded")
static void reset_encoded(struct bench *b) {
    (void)b;
    char path[4096];
    for (int part = 0; part < 10; ++part) {
        snprintf(path, sizeof path, "%s/part-%05d.safetensors", ENCODED_FOLDER, part);
        remove(path);
    }
    static const char *const others[] = {"corpus.safetensors", "tokenizer.json"};
    for (int i = 0; i < 2; ++i) {
        snprintf(path, sizeof path, "%s/%s", ENCODED_FOLDER, others[i]);
        remove(path);
    }
}
static xf_status act_encoded(struct bench *b, digest *d, xf_error *error) {
    OWNED(corpus) *corpus = NULL;
    OWNED(batcher) *batcher = NULL;
    OWNED(config) *config = bench_config(b->place);
    set(config, "data.part_pairs", "2");
    set(config, "data.chunk_pairs", "4");
    TRY(xf_corpus_encode(b->ref, CORPUS_FILE, NULL, b->tokenizer, config, NULL, ENCODED_FOLDER, error));
    TRY(xf_corpus_open(b->ref, ENCODED_FOLDER, NULL, NULL, NULL, &corpus, error));
    add_number(d, (double)xf_corpus_pair_count(corpus));
    TRY(xf_batcher_create(corpus, b->tokenizer, config, NULL, &batcher, error));
    xf_batcher_stats stats = XF_BATCHER_STATS_INIT;
    do {
        xf_batch batch = XF_BATCH_INIT;
        TRY(xf_batcher_next(batcher, NULL, &batch, error));
        add_batch(d, &batch);
        TRY(xf_batcher_get_stats(batcher, &stats, error));
    } while (stats.epoch == 0);
    return XF_OK;
}

/* The call that begins an epoch encodes the corpus anew; when it fails the batcher stays. */
static void reset_sampled(struct bench *b) {
    OWNED(config) *config = bench_config(b->place);
    set(config, "data.sampling", "0.3");
    xf_batcher_free(b->moved);
    ACCEPTED(xf_batcher_create(b->corpus, b->tokenizer, config, NULL, &b->moved, err));
}
static xf_status act_seek(struct bench *b, digest *d, xf_error *error) {
    TRY(xf_batcher_seek(b->moved, 3, 1, NULL, error));
    const xf_batch batch = next_batch(b->moved);
    add_batch(d, &batch);
    return XF_OK;
}
static xf_status act_next_epoch(struct bench *b, digest *d, xf_error *error) {
    xf_batcher_stats stats = XF_BATCHER_STATS_INIT;
    xf_batch batch = XF_BATCH_INIT;
    ACCEPTED(xf_batcher_get_stats(b->moved, &stats, err));
    ACCEPTED(xf_batcher_seek(b->moved, stats.epoch, stats.batches, NULL, err));
    xf_status status;
    DO(status = xf_batcher_next(b->moved, NULL, &batch, error));
    if (status < 0) return status;
    assert_int_equal(status, XF_DONE);
    batch = next_batch(b->moved);
    add_batch(d, &batch);
    return XF_OK;
}

static xf_status train_tokenizer(const char *kind, struct bench *b, digest *d, xf_error *error) {
    OWNED(tokenizer) *tokenizer = NULL;
    OWNED(config) *config = bench_config(b->place);
    set(config, "tokenizer.kind", kind);
    set(config, "tokenizer.vocab_size", "270");
    TRY(xf_tokenizer_train(b->ref, b->corpus, config, NULL, &tokenizer, error));
    ACCEPTED(save_tokenizer(tokenizer, SAVED_FILE, err));
    add_file(d, SAVED_FILE);
    return XF_OK;
}
#define TRAINS(kind)                                                           \
    static xf_status act_##kind(struct bench *b, digest *d, xf_error *error) { \
        return train_tokenizer(#kind, b, d, error);                            \
    }
TRAINS(bpe)
TRAINS(wordpiece)
TRAINS(unigram)

static xf_status act_tokenizer(struct bench *b, digest *d, xf_error *error) {
    OWNED(tokenizer) *tokenizer = NULL;
    const char text[] = "two three \xC3\xA9t\xC3\xA9 one \xEF\xAC\x81 four";
    int32_t ids[80];
    char back[200];
    size_t count = 0, length = 0;
    TRY(load_tokenizer(b->ref, TOKENIZER_FILE, &tokenizer, error));
    TRY(xf_tokenizer_encode(tokenizer, text, sizeof text - 1, ids, 80, &count, error));
    add_bytes(d, ids, count * sizeof *ids);
    TRY(xf_tokenizer_decode(tokenizer, ids, count, back, sizeof back, &length, error));
    add_text(d, back);
    TRY(xf_tokenizer_get_piece(tokenizer, vocab_size_of(tokenizer) - 1, back, sizeof back, &length, error));
    add_text(d, back);
    add_number(d, start_token_of(tokenizer) + 100 * end_token_of(tokenizer));
    return XF_OK;
}

static xf_status act_save_tokenizer(struct bench *b, digest *d, xf_error *error) {
    TRY(save_tokenizer(b->tokenizer, SAVED_FILE, error));
    add_file(d, SAVED_FILE);
    return XF_OK;
}

const struct scenario data_scenarios[] = {
    {.name = "corpus_open", .act = act_file},
    {.name = "corpus_open_folder", .act = act_folder},
    {.name = "corpus_open_parallel", .act = act_parallel},
    {.name = "corpus_from_pairs", .act = act_pairs},
    {.name = "corpus_parts", .act = act_parts},
    {.name = "batcher", .act = act_batcher},
    {.name = "corpus_encoded", .reset = reset_encoded, .act = act_encoded},
    {.name = "batcher_seek", .reset = reset_sampled, .act = act_seek},
    {.name = "batcher_next_epoch", .reset = reset_sampled, .act = act_next_epoch},
    {.name = NULL},
};
const struct scenario text_scenarios[] = {
    {.name = "tokenizer_train_bpe", .act = act_bpe},
    {.name = "tokenizer_train_wordpiece", .act = act_wordpiece},
    {.name = "tokenizer_train_unigram", .act = act_unigram},
    {.name = "tokenizer", .act = act_tokenizer},
    {.name = "tokenizer_save", .saves = true, .act = act_save_tokenizer},
    {.name = NULL},
};
