/*
 * data.h: refusals of corpora and batchers. Hostile bytes in files: tests/harness/fault.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

static const char *file_of(const char *name, const char *text) {
    const char *path = scratch_path(name);
    write_file(path, text, strlen(text));
    return path;
}

TEST(open) {
    xf_corpus *out = SENTINEL;
    xf_context *x = world.context;
    const char *both = file_of("both.tsv", corpus_text), *src = file_of("src.txt", "a b\nc\n"),
               *tgt = file_of("tgt.txt", "d\ne f\n");
    const char *shorter = file_of("shorter.txt", "d\n"), *bad = file_of("bad.tsv", "no tab\n"),
               *absent = scratch_path("absent");
    REFUSED(XF_ERROR_DATA, out, xf_corpus_open(x, bad, NULL, NULL, NULL, &out, err));
    REFUSED(XF_ERROR_DATA, out, xf_corpus_open(x, src, NULL, NULL, NULL, &out, err)); /* no line has a tab */
    REFUSED(XF_ERROR_DATA, out, xf_corpus_open(x, src, shorter, NULL, NULL, &out, err));
    REFUSED(XF_ERROR_NOT_FOUND, out, xf_corpus_open(x, src, absent, NULL, NULL, &out, err));
    REFUSED(XF_ERROR_DATA, out, corpus_from_text(x, NULL, NULL, 0, &out, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, corpus_from_text(x, NULL, NULL, 3, &out, err));
    REFUSED(XF_ERROR_DATA, out, corpus_from_text(x, NULL, "a\xff\tb", 4, &out, err));
    OWNED_CONFIG *strict = config_with("cpu:ref", "data.strict=true");
    REFUSED(XF_ERROR_DATA, out, corpus_from_text(x, strict, "a\tb\nc", 5, &out, err));
    ACCEPTED(xf_corpus_open(x, both, NULL, NULL, NULL, &out, err));
    assert_int_equal(xf_corpus_pair_count(out), 12);
    xf_corpus_free(out);
    ACCEPTED(xf_corpus_open(x, src, tgt, NULL, NULL, &out, err));
    assert_int_equal(xf_corpus_pair_count(out), 2);
    xf_corpus_free(out);
}

TEST(read) {
    const char *source = SENTINEL, *target = SENTINEL;
    size_t s = 99, t = 99;
    const int64_t wrong[] = {-1, 12, INT64_MAX, INT64_MIN};
    for (int i = 0; i < 4; ++i)
        REFUSED(XF_ERROR_OUT_OF_RANGE, target,
                xf_corpus_get_pair(world.corpus, wrong[i], &source, &s, &target, &t, err));
    ACCEPTED(xf_corpus_get_pair(world.corpus, 1, &source, &s, &target, &t, err));
    assert_true(s == 14 && memcmp(source, "two three four", s) == 0 && t == 14 &&
                memcmp(target, "zwei drei vier", t) == 0);
    PAINTED(xf_corpus_stats, stats);
}

TEST(batcher) {
    xf_batcher *out = SENTINEL;
    OWNED_CONFIG *config = small_config("cpu:ref");
    set(config, "data.max_tokens", "2"); /* one token and the end symbol: no pair fits */
    MAKE(corpus, long_ones, corpus_from_text(world.context, NULL, "unseen words\tnever seen\n", 24, &long_ones, err));
    REFUSED(XF_ERROR_DATA, out, xf_batcher_create(long_ones, world.tokenizer, config, NULL, &out, err));
    SAYS("skipped 1 of 1 pairs: 1 have a side of more than 2 tokens, 0 have an empty side");

    PAINTED(xf_batch, batch);
    ACCEPTED(xf_batcher_seek(world.batcher, 0, 0, NULL, err));
    PAINTED(xf_batcher_stats, stats);
    ACCEPTED(xf_batcher_get_stats(world.batcher, &stats, err));
    assert_true(stats.epoch == 0 && stats.batch == 0 && stats.batches >= 2 &&
                stats.pairs == 12); /* refusals took none */

    const int64_t far = stats.batches + 1; /* stats.batches is the end of the epoch */
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_batcher_seek(world.batcher, 0, far, NULL, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_batcher_seek(world.batcher, 0, -1, NULL, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_batcher_seek(world.batcher, -1, 0, NULL, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_batcher_seek(world.batcher, INT64_MAX, 0, NULL, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, xf_batcher_seek(world.batcher, 3, INT64_MAX, NULL, err));
    const xf_batcher_stats after = get_batcher_stats(world.batcher);
    assert_memory_equal(&stats, &after, sizeof after);

    /* The last epoch that can be asked for, and past its end. */
    batch.struct_size = sizeof batch;
    ACCEPTED(xf_batcher_seek(world.batcher, INT64_MAX - 1, 0, NULL, err));
    xf_status status;
    while ((status = xf_batcher_next(world.batcher, NULL, &batch, NULL)) == XF_OK) assert_true(batch.sentences > 0);
    assert_true(status == XF_ERROR_OUT_OF_RANGE || status == XF_DONE);
    ACCEPTED(xf_batcher_seek(world.batcher, 0, 0, NULL, err));
    while ((status = xf_batcher_next(world.batcher, NULL, &batch, NULL)) == XF_OK) continue;
    assert_int_equal(status, XF_DONE);
    assert_true(batch.sentences == 0 && batch.src_ids == NULL);
}

/* Corpora that a host makes of what it has in memory, and parts of them. */
TEST(made) {
    xf_context *x = world.context;
    xf_corpus *out = SENTINEL;
    OWNED_CORPUS *more = SENTINEL;
    const char *texts[] = {"one\ttab", "two", ""}, *with_null[] = {"a", NULL};
    const size_t lengths[] = {3, 3, 0};
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out,
            xf_corpus_from_pairs(x, texts, NULL, with_null, NULL, 2, NULL, NULL, &out, err));
    REFUSED(XF_ERROR_DATA, out, xf_corpus_from_pairs(x, texts, NULL, texts, NULL, 0, NULL, NULL, &out, err));
    ACCEPTED(xf_corpus_from_pairs(x, texts, NULL, texts, lengths, 3, NULL, NULL, &out, err));
    assert_int_equal(xf_corpus_pair_count(out), 2);
    xf_corpus_stats stats = XF_CORPUS_STATS_INIT;
    ACCEPTED(xf_corpus_get_stats(out, &stats, err));
    assert_true(stats.lines == 3 && stats.empty_side == 1);
    const char *source = NULL, *target = NULL;
    size_t source_length = 0, target_length = 0;
    ACCEPTED(xf_corpus_get_pair(out, 0, &source, &source_length, &target, &target_length, err));
    assert_true(source_length == 7 && memcmp(source, "one\ttab", 7) == 0);
    assert_true(target_length == 3 && memcmp(target, "one", 3) == 0);
    xf_corpus_free(out);

    const int32_t ids[] = {5, 6, 1, 7, 1, 8, 9, 1};
    const int64_t offsets[] = {0, 3, 5, 8}, falling[] = {0, 5, 3, 8};
    const int32_t negative[] = {5, -6, 1, 7, 1, 8, 9, 1};
    xf_batch pairs = XF_BATCH_INIT;
    out = SENTINEL;
    REFUSED(XF_ERROR_DATA, out, xf_corpus_from_ids(x, &pairs, NULL, &out, err));
    pairs.sentences = 3;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_corpus_from_ids(x, &pairs, NULL, &out, err));
    pairs.src_ids = pairs.tgt_ids = ids;
    pairs.src_offsets = pairs.tgt_offsets = offsets;
    pairs.tgt_offsets = falling;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_corpus_from_ids(x, &pairs, NULL, &out, err));
    pairs.tgt_offsets = offsets;
    pairs.tgt_ids = negative;
    REFUSED(XF_ERROR_OUT_OF_RANGE, out, xf_corpus_from_ids(x, &pairs, NULL, &out, err));
    pairs.tgt_ids = ids;
    ACCEPTED(xf_corpus_from_ids(x, &pairs, NULL, &out, err));
    REFUSED(XF_ERROR_STATE, nothing, xf_corpus_get_pair(out, 0, &source, &source_length, &target, &target_length, err));
    xf_tokenizer *tokenizer = SENTINEL;
    REFUSED(XF_ERROR_STATE, tokenizer, xf_tokenizer_train(x, out, NULL, NULL, &tokenizer, err));

    /* A batcher of ids has no tokenizer, one of text needs it. */
    OWNED_BATCHER *batcher = SENTINEL;
    OWNED_CONFIG *c = config_with("cpu:ref", "data.shuffle=false");
    REFUSED(XF_ERROR_INVALID_ARGUMENT, batcher, xf_batcher_create(out, world.tokenizer, c, NULL, &batcher, err));
    ACCEPTED(xf_batcher_create(out, NULL, c, NULL, &batcher, err));
    xf_batch batch = XF_BATCH_INIT;
    ACCEPTED(xf_batcher_next(batcher, NULL, &batch, err));
    assert_int_equal(batch.sentences, 3);
    assert_memory_equal(batch.src_ids, ids, sizeof ids);
    assert_memory_equal(batch.tgt_offsets, offsets, sizeof offsets);
    xf_corpus_free(out);

    const int64_t wanted[] = {11, 0, 11}, beyond[] = {12}, below[] = {-1};
    out = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_corpus_subset(world.corpus, wanted, 0, &out, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, out, xf_corpus_subset(world.corpus, beyond, 1, &out, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, out, xf_corpus_subset(world.corpus, below, 1, &out, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, out, xf_corpus_split(world.corpus, 0, 1, &out, &more, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, out, xf_corpus_split(world.corpus, 12, 1, &out, &more, err));
    assert_true(out == SENTINEL && more == SENTINEL);
    ACCEPTED(xf_corpus_subset(world.corpus, wanted, 3, &out, err));
    assert_int_equal(xf_corpus_pair_count(out), 3);
    xf_corpus_free(out);
    ACCEPTED(xf_corpus_split(world.corpus, 3, -7, &out, &more, err));
    assert_int_equal(xf_corpus_pair_count(out), 9);
    assert_int_equal(xf_corpus_pair_count(more), 3);
    xf_corpus_free(out);
    ACCEPTED(xf_corpus_get_pair(more, 2, &source, &source_length, &target, &target_length, err));
}

/* An encoded corpus on disk has the batches of its texts. */
TEST(encoded) {
    xf_corpus *out = SENTINEL, *more = SENTINEL;
    xf_batcher *batcher = SENTINEL;
    xf_tokenizer *tokenizer = SENTINEL;
    xf_context *x = world.context;
    const char *pairs = file_of("encode.tsv", corpus_text), *folder = scratch_path("encoded"),
               *other = file_of("other.tsv", "one\teins\n");
    assert_int_equal(xf_corpus_encode(x, scratch_path("absent"), NULL, world.tokenizer, NULL, NULL, folder, NULL),
                     XF_ERROR_NOT_FOUND);
    OWNED_CONFIG *sampling = config_with("cpu:ref", "data.sampling=0.1");
    assert_int_equal(xf_corpus_encode(x, pairs, NULL, world.tokenizer, sampling, NULL, folder, NULL),
                     XF_ERROR_INVALID_ARGUMENT);
    OWNED_CONFIG *small = small_config("cpu:ref");
    set(small, "data.part_pairs", "2");
    ACCEPTED(xf_corpus_encode(x, pairs, NULL, world.tokenizer, small, NULL, folder, err));
    ACCEPTED(xf_corpus_encode(x, pairs, NULL, world.tokenizer, small, NULL, folder, err)); /* nothing is left to do */
    assert_int_equal(xf_corpus_encode(x, other, NULL, world.tokenizer, small, NULL, folder, NULL), XF_ERROR_STATE);

    ACCEPTED(xf_corpus_open(x, folder, NULL, NULL, NULL, &out, err));
    assert_int_equal(xf_corpus_pair_count(out), 12);
    const char *source, *target;
    size_t source_length, target_length;
    const int64_t first[] = {0};
    assert_int_equal(xf_corpus_get_pair(out, 0, &source, &source_length, &target, &target_length, NULL),
                     XF_ERROR_STATE);
    REFUSED(XF_ERROR_STATE, more, xf_corpus_subset(out, first, 1, &more, err));
    REFUSED(XF_ERROR_STATE, tokenizer, xf_tokenizer_train(x, out, NULL, NULL, &tokenizer, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, batcher, xf_batcher_create(out, NULL, small, NULL, &batcher, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, batcher, xf_batcher_create(out, world.tokenizer, sampling, NULL, &batcher, err));

    ACCEPTED(xf_batcher_create(out, world.tokenizer, small, NULL, &batcher, err));
    MAKE(batcher, of_texts, xf_batcher_create(world.corpus, world.tokenizer, small, NULL, &of_texts, err));
    for (int epoch = 0; epoch < 2; ++epoch) {
        xf_batch a = XF_BATCH_INIT, b = XF_BATCH_INIT;
        xf_status status = XF_OK;
        while (status == XF_OK) {
            status = xf_batcher_next(batcher, NULL, &a, NULL);
            assert_int_equal(xf_batcher_next(of_texts, NULL, &b, NULL), status);
            assert_int_equal(a.sentences, b.sentences);
            if (status != XF_OK) break;
            assert_memory_equal(a.pair_index, b.pair_index, (size_t)a.sentences * sizeof *a.pair_index);
            assert_memory_equal(a.tgt_ids, b.tgt_ids, (size_t)b.tgt_offsets[b.sentences] * sizeof *a.tgt_ids);
        }
        assert_int_equal(status, XF_DONE);
    }
    xf_batcher_free(batcher);

    /* In chunks, batches are numbered through the epoch, and any of them can be restored. */
    set(small, "data.chunk_pairs", "4");
    ACCEPTED(xf_batcher_create(out, world.tokenizer, small, NULL, &batcher, err));
    xf_corpus_free(out);
    int64_t firsts[12], count = 0, pair_count = 0;
    xf_batch batch = XF_BATCH_INIT;
    while (xf_batcher_next(batcher, NULL, &batch, NULL) == XF_OK) {
        assert_true(count < 12);
        firsts[count++] = batch.pair_index[0];
        pair_count += batch.sentences;
        assert_int_equal(get_batcher_stats(batcher).batch, count);
    }
    assert_true(pair_count == 12 && count >= 3);
    for (int64_t i = count; i-- > 0;) {
        ACCEPTED(xf_batcher_seek(batcher, 0, i, NULL, err));
        ACCEPTED(xf_batcher_next(batcher, NULL, &batch, err));
        assert_int_equal(batch.pair_index[0], firsts[i]);
    }
    assert_int_equal(xf_batcher_seek(batcher, 0, count + 1, NULL, NULL), XF_ERROR_OUT_OF_RANGE);
    xf_batcher_free(batcher);
}

/* data.sample keeps a random part of a corpus of text. */
TEST(sample) {
    xf_corpus *out = SENTINEL;
    OWNED_CONFIG *c = config_with("cpu:ref", "data.sample=5");
    ACCEPTED(corpus_from_text(world.context, c, corpus_text, strlen(corpus_text), &out, err));
    assert_int_equal(xf_corpus_pair_count(out), 5);
    xf_corpus_stats stats = XF_CORPUS_STATS_INIT;
    ACCEPTED(xf_corpus_get_stats(out, &stats, err));
    assert_int_equal(stats.kept, 12);
    xf_corpus_free(out);
}

/* The memory of a corpus and a batcher is part of the account of the context and limited by its budget. */
TEST(account) {
    const size_t size = 8 << 20;
    OWNED_MEMORY char *text = malloc(size);
    for (size_t i = 0; i + 32 <= size; i += 32) memcpy(text + i, "a sentence here\tanother one...\n", 32);
    xf_corpus *corpus = NULL;
    const int64_t before = get_memory(world.context).current;
    ACCEPTED(corpus_from_text(world.context, NULL, text, size, &corpus, err));
    const int64_t after = get_memory(world.context).current;
    const int64_t least = (int64_t)(size / 32 * 29); /* without tab, newline, and NUL */
    assert_true(after - before >= least && after - before <= 3 * least);
    xf_batcher *batcher = NULL;
    ACCEPTED(xf_batcher_create(corpus, world.tokenizer, NULL, NULL, &batcher, err));
    const xf_batcher_stats stats = get_batcher_stats(batcher);
    assert_true(get_memory(world.context).current - after >= 4 * (stats.src_tokens + stats.tgt_tokens));
    xf_batcher_free(batcher);
    const int64_t first[] = {0};
    xf_corpus *part = NULL;
    ACCEPTED(xf_corpus_subset(corpus, first, 1, &part, err));
    xf_corpus_free(corpus);
    assert_true(get_memory(world.context).current - before >= least); /* a part holds the text */
    xf_corpus_free(part);
    assert_int_equal(get_memory(world.context).current, before);

    OWNED_CONFIG *c = config_with("cpu:ref", "context.memory_budget=4000000");
    MAKE(context, poor, xf_context_create(c, NULL, &poor, err));
    corpus = SENTINEL;
    REFUSED(XF_ERROR_NO_MEMORY, corpus, corpus_from_text(poor, NULL, text, size, &corpus, err));
}

int main(void) { return RUN_TESTS(world_open, world_close); }
