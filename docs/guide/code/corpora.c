/*
 * corpora.c - corpora from pairs in memory and from ids, parts of a corpus, held-out pairs, and an encoded corpus.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "must.h"

static void show(const xf_corpus *corpus, int64_t index) {
    const char *source, *target;
    size_t source_length, target_length;
    must(xf_corpus_get_pair(corpus, index, &source, &source_length, &target, &target_length, &err));
    printf("%.*s | %.*s\n", (int)source_length, source, (int)target_length, target);
}

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_corpus *corpus = NULL, *subset = NULL, *rest = NULL, *held_out = NULL, *numbers = NULL;
    xf_batcher *batcher = NULL, *encoded = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batch batch = XF_BATCH_INIT;
    must(xf_config_create(&config, &err));
    must(xf_context_create(config, NULL, &context, &err));

    /* [pairs] */
    const char *const sources[] = {"one", "two", "", "three"};
    const char *const targets[] = {"eins", "zwei", "leer", "drei"};
    xf_corpus_stats stats = XF_CORPUS_STATS_INIT;
    must(xf_corpus_from_pairs(context, sources, NULL, targets, NULL, 4, NULL, NULL, &corpus, &err));
    must(xf_corpus_get_stats(corpus, &stats, &err));
    printf("%d pairs, %d with an empty side\n", (int)xf_corpus_pair_count(corpus), (int)stats.empty_side);
    /* [pairs] */

    /* [subset] */
    const int64_t wanted[] = {2, 0};
    must(xf_corpus_subset(corpus, wanted, 2, &subset, &err));
    xf_corpus_free(corpus); /* the subset keeps the text */
    show(subset, 0);
    show(subset, 1);
    /* [subset] */

    /* [split] */
    must(xf_corpus_open(context, "train.tsv", NULL, NULL, NULL, &corpus, &err));
    must(xf_corpus_split(corpus, 20, 1, &rest, &held_out, &err));
    xf_corpus_free(corpus);
    printf("%d for training, %d held out\n", (int)xf_corpus_pair_count(rest), (int)xf_corpus_pair_count(held_out));
    /* [split] */

    /* [ids] */
    /* Two pairs from the host's own tokenizer. Each sentence ends with the end symbol, here 1. */
    const int32_t source_ids[] = {17, 4, 1, 9, 1}, target_ids[] = {21, 1, 8, 8, 1};
    const int64_t source_offsets[] = {0, 3, 5}, target_offsets[] = {0, 2, 5};
    xf_batch pairs = XF_BATCH_INIT;
    pairs.sentences = 2;
    pairs.src_ids = source_ids;
    pairs.src_offsets = source_offsets;
    pairs.tgt_ids = target_ids;
    pairs.tgt_offsets = target_offsets;
    must(xf_corpus_from_ids(context, &pairs, NULL, &numbers, &err));
    must(xf_batcher_create(numbers, NULL, config, NULL, &batcher, &err)); /* no tokenizer */
    must(xf_batcher_next(batcher, NULL, &batch, &err));
    printf("%d pairs of ids, %d source tokens\n", (int)batch.sentences, (int)batch.src_offsets[batch.sentences]);
    /* [ids] */

    /* [encoded] */
    must(xf_corpus_open(context, "train.tsv", NULL, NULL, NULL, &corpus, &err));
    must(xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, &err));
    xf_corpus_free(corpus);
    must(xf_corpus_encode(context, "train.tsv", NULL, tokenizer, config, NULL, "corpus.encoded", &err));
    must(xf_corpus_open(context, "corpus.encoded", NULL, NULL, NULL, &corpus, &err));
    printf("%d encoded pairs\n", (int)xf_corpus_pair_count(corpus));
    must(xf_batcher_create(corpus, tokenizer, config, NULL, &encoded, &err)); /* the same tokenizer */
    /* [encoded] */

    xf_batcher_free(encoded);
    xf_batcher_free(batcher);
    xf_tokenizer_free(tokenizer);
    xf_corpus_free(corpus);
    xf_corpus_free(numbers);
    xf_corpus_free(held_out);
    xf_corpus_free(rest);
    xf_corpus_free(subset);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
