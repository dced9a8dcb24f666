// A corpus of any bytes: from memory, from a file, from two parallel files; then a tokenizer learnt from it, batches of
// it, an epoch of them, and a place in another.
//
// SPDX-License-Identifier: Apache-2.0
#include "../../support/api.h"
#include "fuzz.hpp"

namespace {

struct World : fuzz::World {
    fuzz::ScratchFile file{"corpus"}, second{"parallel"};
};

void set(xf_config *config, const char *key, int64_t value) {
    if (JUDGED(xf_config_set_number, config, key, value) != XF_OK && !fuzz::Shortage::happened())
        fuzz::defect("%s: %s", key, fuzz::judge.message());
}

void check_corpus(const xf_corpus *corpus, int64_t longest) {
    xf_corpus_stats stats = XF_CORPUS_STATS_INIT;
    JUDGED(xf_corpus_get_stats, corpus, &stats);
    const int64_t pairs = xf_corpus_pair_count(corpus);
    if (stats.kept != pairs || stats.lines != stats.kept + stats.bad_columns + stats.empty_side + stats.too_long +
                                                  stats.invalid_utf8 + stats.nul_byte)
        fuzz::defect("%ld lines, %ld kept, %ld pairs", stats.lines, stats.kept, pairs);
    for (int64_t i = 0; i < pairs; ++i) {
        const char *source = nullptr, *target = nullptr;
        size_t source_length = 0, target_length = 0;
        if (JUDGED(xf_corpus_get_pair, corpus, i, &source, &source_length, &target, &target_length) != XF_OK)
            fuzz::defect("pair %ld is counted and not there", i);
        if (source_length == 0 || target_length == 0 || static_cast<int64_t>(source_length) > longest ||
            static_cast<int64_t>(target_length) > longest)
            fuzz::defect("a pair of %zu and %zu bytes", source_length, target_length);
    }
}

// Each pair once, in batches that keep to their size.
void check_epoch(xf_batcher *batcher, int64_t batch_tokens, int64_t vocab_size) {
    xf_batcher_stats stats = XF_BATCHER_STATS_INIT;
    JUDGED(xf_batcher_get_stats, batcher, &stats);
    int64_t pairs = 0, batches = 0;
    for (;; ++batches) {
        xf_batch batch = XF_BATCH_INIT;
        const xf_status status = JUDGED(xf_batcher_next, batcher, nullptr, &batch);
        if (status == XF_ERROR_NO_MEMORY) return;
        if (status == XF_DONE) break;
        if (status != XF_OK || batch.sentences < 1) fuzz::defect("a batch of %ld pairs", batch.sentences);
        pairs += batch.sentences;
        const int64_t ids = batch.src_offsets[batch.sentences];
        if (batch.sentences > 1 && (ids > batch_tokens || batch.tgt_offsets[batch.sentences] > batch_tokens))
            fuzz::defect("%ld tokens in a batch of %ld", ids, batch_tokens);
        for (int64_t i = 0; i < ids; ++i)
            if (batch.src_ids[i] < 0 || batch.src_ids[i] >= vocab_size) fuzz::defect("id %d", batch.src_ids[i]);
    }
    if (pairs != stats.pairs || batches != stats.batches)
        fuzz::defect("%ld pairs in %ld batches, of %ld in %ld", pairs, batches, stats.pairs, stats.batches);
}

// The pairs that were kept, given as pairs, are kept; a part that is held out is what the rest has not; the same as
// ids.
void check_parts(const World &world, const xf_config *config, const xf_corpus *corpus, uint8_t flags) {
    const int64_t pairs = xf_corpus_pair_count(corpus);
    const auto count = static_cast<size_t>(pairs);
    std::vector<const char *> sources(count), targets(count);
    std::vector<size_t> source_lengths(count), target_lengths(count);
    for (size_t i = 0; i < count; ++i)
        JUDGED(xf_corpus_get_pair, corpus, static_cast<int64_t>(i), &sources[i], &source_lengths[i], &targets[i],
               &target_lengths[i]);
    fuzz::Corpus again, rest, held, ids;
    const auto given = [&](const size_t *lengths) {
        return JUDGED(xf_corpus_from_pairs, world.context, sources.data(), lengths, targets.data(),
                      target_lengths.data(), count, config, nullptr, again.out());
    };
    const xf_status status = given(source_lengths.data());
    if (status != XF_OK && status != XF_ERROR_NO_MEMORY)
        fuzz::defect("pairs that were kept: %s", fuzz::judge.message());
    if (status == XF_OK && xf_corpus_pair_count(again) != pairs) fuzz::defect("not all that was kept is kept again");

    const int64_t out = 1 + flags % 8;
    const xf_status split = JUDGED(xf_corpus_split, corpus, out, flags, rest.out(), held.raw());
    if (split == XF_OK && (xf_corpus_pair_count(held) != out || xf_corpus_pair_count(rest) != pairs - out))
        fuzz::defect("%ld of %ld pairs held out", out, pairs);
    if (split != XF_ERROR_NO_MEMORY && (split == XF_OK) != (out < pairs))
        fuzz::defect("%ld of %ld pairs held out: %s", out, pairs, xf_status_name(split));

    std::vector<int32_t> bytes(source_lengths[0] + 1, 1);
    for (size_t i = 0; i < source_lengths[0]; ++i) bytes[i] = 2 + (sources[0][i] & 0xFF);
    const int64_t offsets[] = {0, static_cast<int64_t>(bytes.size())};
    const xf_batch batch = {sizeof batch, 1, bytes.data(), offsets, bytes.data(), offsets, nullptr, nullptr, 0};
    fuzz::Batcher batcher;
    if (JUDGED(xf_corpus_from_ids, world.context, &batch, nullptr, ids.out()) == XF_OK)
        JUDGED(xf_batcher_create, ids, nullptr, config, nullptr, batcher.out());

    sources[flags % count] = nullptr;
    if (given(source_lengths.data()) != XF_ERROR_INVALID_ARGUMENT && !fuzz::Shortage::happened())
        fuzz::defect("a pair that is NULL was taken");
}

void use(World &world, fuzz::Choices choices) {
    fuzz::Config config;
    if (JUDGED(xf_config_copy, world.config, config.out()) != XF_OK) return;
    const int64_t longest = 1 + choices.byte(), batch_tokens = 2 + choices.byte();
    const uint8_t flags = choices.byte();
    set(config, "data.max_bytes", longest);
    set(config, "data.strict", flags & 1);
    set(config, "data.shuffle", (flags >> 1) & 1);
    set(config, "data.batch_tokens", batch_tokens);
    set(config, "data.max_tokens", 2 + choices.byte());
    set(config, "tokenizer.vocab_size", 259 + choices.byte());
    const char *const kinds[] = {"bpe", "wordpiece", "unigram", "bpe"}, *const forms[] = {"none", "nfc", "nfkc",
                                                                                          "nfkc"};
    JUDGED(xf_config_set, config, "tokenizer.kind", kinds[(flags >> 2) & 3]);
    JUDGED(xf_config_set, config, "tokenizer.normalization", forms[(flags >> 4) & 3]);
    const double sampling = flags & 128 ? 1.4 : 0.4;  // 1.4 is no probability
    if (flags & (64 | 128)) JUDGED(xf_config_set_number, config, "data.sampling", sampling);
    if (flags & 2) JUDGED(xf_config_set_number, config, "data.augment", 0.7);

    const std::string_view text = choices.rest();
    fuzz::Corpus corpus, parallel;
    world.file.write(text);
    const xf_status status =
        JUDGED(xf_corpus_open, world.context, world.file.path(), nullptr, config, &fuzz::watched, corpus.out());
    world.second.write(text.substr(text.size() / 3));
    if (JUDGED(xf_corpus_open, world.context, world.file.path(), world.second.path(), config, nullptr,
               parallel.out()) == XF_OK)
        check_corpus(parallel, longest);
    if (status != XF_OK) return;
    check_corpus(corpus, longest);
    check_parts(world, config, corpus, flags);

    fuzz::Tokenizer tokenizer;
    if (JUDGED(xf_tokenizer_train, world.context, corpus, config, nullptr, tokenizer.out())) return;
    fuzz::Batcher batcher;
    if (JUDGED(xf_batcher_create, corpus, tokenizer, config, nullptr, batcher.out())) return;
    check_epoch(batcher, batch_tokens, vocab_size_of(tokenizer));
    JUDGED(xf_batcher_seek, batcher, 3, flags % 5, nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static World world;
    fuzz::run(world.host, data, size, [&] { use(world, fuzz::Choices(data, size)); });
    return 0;
}
