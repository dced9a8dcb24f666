// Batcher: every pair occurs once, batches respect the limits, and any position can be restored. Permutation, its
// order: a bijection for every size, uniform, and with frozen results.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include "data/batcher.h"
#include "data/shuffle.h"

namespace {

using xf::Batch;
using xf::Batcher;
using xf::BatcherOptions;
using xf::EncodedCorpus;

// n pairs of 2 to 40 tokens. The ids encode the pair and the side. Pair i has corpus index i + kFirst, so that
// confusing the two indices is detected.
constexpr int64_t kFirst = 100000;
std::shared_ptr<EncodedCorpus> make_corpus(int n) {
    auto corpus = std::make_shared<EncodedCorpus>();
    uint32_t state = 12345;
    const auto draw = [&state] { return 1 + (state = state * 1664525u + 1013904223u) / 110127367u; };
    for (int i = 0; i < n; ++i) {
        corpus->src_ids.insert(corpus->src_ids.end(), draw(), 2 * i + 10);
        corpus->src_ids.push_back(1);
        corpus->src_offsets.push_back(static_cast<int64_t>(corpus->src_ids.size()));
        corpus->tgt_ids.insert(corpus->tgt_ids.end(), draw(), 2 * i + 11);
        corpus->tgt_ids.push_back(1);
        corpus->tgt_offsets.push_back(static_cast<int64_t>(corpus->tgt_ids.size()));
        corpus->corpus_index.push_back(i + kFirst);
    }
    return corpus;
}

BatcherOptions options_of(int64_t tokens, bool shuffle = true) {
    BatcherOptions options;
    options.batch_tokens = tokens;
    options.shuffle = shuffle;
    return options;
}

std::vector<std::vector<int64_t>> epoch_of(Batcher *batcher) {
    std::vector<std::vector<int64_t>> batches;
    for (Batch batch; batcher->next(&batch);) batches.push_back(batch.pair_index);
    return batches;
}

void check_packed(const EncodedCorpus &corpus, const Batch &batch, const BatcherOptions &options) {
    const auto pairs = static_cast<size_t>(batch.size());
    CHECK(pairs > 0);
    CHECK_EQ(batch.src_offsets.size(), pairs + 1);
    CHECK_EQ(batch.tgt_offsets.size(), pairs + 1);
    CHECK_EQ(static_cast<size_t>(batch.src_offsets.back()), batch.src_ids.size());
    CHECK_EQ(static_cast<size_t>(batch.tgt_offsets.back()), batch.tgt_ids.size());
    CHECK(static_cast<int64_t>(batch.src_ids.size()) <= options.batch_tokens);
    CHECK(static_cast<int64_t>(batch.tgt_ids.size()) <= options.batch_tokens);
    for (size_t b = 0; b < pairs; ++b) {
        const int64_t pair = batch.pair_index[b] - kFirst;
        CHECK_EQ(batch.src_offsets[b + 1] - batch.src_offsets[b], corpus.src_length(pair));
        CHECK_EQ(batch.tgt_offsets[b + 1] - batch.tgt_offsets[b], corpus.tgt_length(pair));
        CHECK_EQ(batch.src_ids[static_cast<size_t>(batch.src_offsets[b])], 2 * pair + 10);
        CHECK_EQ(batch.tgt_ids[static_cast<size_t>(batch.tgt_offsets[b])], 2 * pair + 11);
        CHECK_EQ(batch.src_ids[static_cast<size_t>(batch.src_offsets[b + 1]) - 1], 1);
    }
}

}  // namespace

XF_TEST(every_pair_once_an_epoch) {
    for (int n : {1, 2, 17, 1000}) {
        const auto corpus = make_corpus(n);
        for (bool shuffle : {true, false}) {
            for (int64_t tokens : {41, 100, 5000}) {
                const BatcherOptions options = options_of(tokens, shuffle);
                Batcher batcher(corpus, options);
                for (int epoch = 0; epoch < 3; ++epoch) {
                    std::vector<int64_t> seen;
                    int64_t count = 0;
                    const int64_t expected = batcher.batches_in_epoch();
                    for (Batch batch; batcher.next(&batch); ++count) {
                        check_packed(*corpus, batch, options);
                        seen.insert(seen.end(), batch.pair_index.begin(), batch.pair_index.end());
                    }
                    CHECK_EQ(count, expected);
                    std::sort(seen.begin(), seen.end());
                    CHECK(
                        std::equal(seen.begin(), seen.end(), corpus->corpus_index.begin(), corpus->corpus_index.end()));
                    CHECK_EQ(batcher.position().epoch, epoch + 1);
                    CHECK_EQ(batcher.position().batch, 0);
                }
            }
        }
    }
}

XF_TEST(epochs_and_seeds_differ_and_repeat) {
    const auto corpus = make_corpus(500);
    BatcherOptions options = options_of(200);
    Batcher one(corpus, options), two(corpus, options);
    options.seed = 2;
    Batcher other(corpus, options);
    const auto first = epoch_of(&one), second = epoch_of(&one);
    CHECK(first != second);
    CHECK(first != epoch_of(&other));
    CHECK(epoch_of(&two) == first);
    CHECK(epoch_of(&two) == second);
}

XF_TEST(without_shuffling_corpus_order_is_kept) {
    const auto corpus = make_corpus(300);
    Batcher batcher(corpus, options_of(150, false));
    const auto first = epoch_of(&batcher);
    int64_t next = kFirst;
    for (const auto &batch : first)
        for (int64_t pair : batch) CHECK_EQ(pair, next++);
    CHECK_EQ(next, kFirst + 300);
    CHECK(epoch_of(&batcher) == first);
}

XF_TEST(seeking_gives_what_reading_gives) {
    const auto corpus = make_corpus(400);
    Batcher reader(corpus, options_of(200)), seeker(corpus, options_of(200));
    Batch read, sought;
    for (int call = 0; call < 200; ++call) {
        const Batcher::Position position = reader.position();
        seeker.seek({call % 5, 0});
        seeker.seek(position);
        CHECK_EQ(seeker.position().batch, position.batch);
        const bool more = reader.next(&read);
        CHECK_EQ(seeker.next(&sought), more);
        if (more) CHECK(read.pair_index == sought.pair_index && read.src_ids == sought.src_ids);
    }
    CHECK(reader.position().epoch >= 2);
}

XF_TEST(batches_are_full_and_of_similar_length) {
    const auto corpus = make_corpus(20000);
    Batcher batcher(corpus, options_of(1000));
    int64_t tokens = 0, spread = 0, pairs = 0;
    for (Batch batch; batcher.next(&batch);) {
        int64_t longest = 0;
        const auto length = [&](int64_t line) {
            return std::max(corpus->src_length(line - kFirst), corpus->tgt_length(line - kFirst));
        };
        for (int64_t line : batch.pair_index) longest = std::max(longest, length(line));
        for (int64_t line : batch.pair_index) spread += longest - length(line);
        tokens += static_cast<int64_t>(std::max(batch.src_ids.size(), batch.tgt_ids.size()));
        pairs += batch.size();
    }
    // The last batch of each window of 100 batches is not full; the lengths within a batch differ by about one.
    CHECK(tokens > batcher.batches_in_epoch() * 940);
    CHECK(spread < pairs);
}

XF_TEST(long_and_short_batches_are_mixed) {
    const auto corpus = make_corpus(20000);
    Batcher batcher(corpus, options_of(1000));
    std::vector<double> sizes;
    for (Batch batch; batcher.next(&batch);) sizes.push_back(static_cast<double>(batch.size()));
    double mean = 0, covariance = 0, variance = 0;
    for (double size : sizes) mean += size / static_cast<double>(sizes.size());
    for (size_t i = 0; i + 1 < sizes.size(); ++i) {
        covariance += (sizes[i] - mean) * (sizes[i + 1] - mean);
        variance += (sizes[i] - mean) * (sizes[i] - mean);
    }
    CHECK(std::fabs(covariance / variance) < 0.2);  // sorted batches would give nearly 1
}

XF_TEST(an_empty_corpus_is_an_error) { CHECK_FAILS(Batcher(std::make_shared<EncodedCorpus>(), {}), XF_ERROR_DATA); }

XF_TEST(huge_limits_are_safe) {
    const auto corpus = make_corpus(20);
    Batcher batcher(corpus, options_of(INT32_MAX));
    CHECK_EQ(batcher.batches_in_epoch(), 1);
}

XF_TEST(options_are_read_where_they_are_used) {
    xf::Options options;
    options.set_i64("data.batch_tokens", 100);
    options.set_i64("data.max_tokens", 300);
    options.set_i64("data.seed", 7);
    options.set_bool("data.shuffle", false);
    BatcherOptions read = BatcherOptions::from(options);
    CHECK_EQ(read.batch_tokens, 100);
    CHECK_EQ(read.longest_side(), 100);  // a pair must fit into a batch
    CHECK_EQ(read.seed, 7u);
    CHECK(!read.shuffle);
    options.set_i64("data.max_tokens", 50);
    CHECK_EQ(BatcherOptions::from(options).longest_side(), 50);
}

namespace {

void check_bijection(uint64_t seed, uint64_t epoch, uint64_t n) {
    const xf::Permutation permutation(seed, epoch, n);
    std::vector<bool> seen(n, false);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < n; ++i) {
        const uint64_t at = permutation(i);
        if (at >= n || seen[at]) {
            ++wrong;
            continue;
        }
        seen[at] = true;
    }
    CHECK_EQ(wrong, 0u);
}

}  // namespace

XF_TEST(every_size_is_a_bijection) {
    for (uint64_t n = 0; n <= 1100; ++n) check_bijection(7, n % 5, n);
    for (uint64_t n : {4095, 4096, 4097, 65537, 386458, 1000003}) check_bijection(n, 3, n);
}

XF_TEST(huge_sizes_stay_in_range) {
    for (uint64_t n : {(uint64_t{1} << 32) + 1, (uint64_t{1} << 62) - 1, (uint64_t{1} << 63) + 5, ~uint64_t{0}}) {
        const xf::Permutation permutation(1, 0, n);
        std::set<uint64_t> values;
        for (uint64_t i = 0; i < 1000; ++i) values.insert(permutation(i));
        CHECK_EQ(values.size(), 1000u);
        CHECK(*values.rbegin() < n);
        CHECK(*values.rbegin() > n / 2);
    }
}

// Each position must have each value equally often over many epochs. n*n cells; chi-squared about (n-1)^2.
XF_TEST(positions_are_near_uniform) {
    for (uint64_t n : {2, 3, 5, 10, 16, 33}) {
        const uint64_t epochs = 400 * n;
        std::vector<double> hits(n * n, 0);
        for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
            const xf::Permutation permutation(11, epoch, n);
            for (uint64_t i = 0; i < n; ++i) hits[i * n + permutation(i)] += 1;
        }
        const double expected = static_cast<double>(epochs) / static_cast<double>(n);
        double chi2 = 0;
        for (double hit : hits) chi2 += (hit - expected) * (hit - expected) / expected;
        const double freedom = static_cast<double>((n - 1) * (n - 1));
        CHECK(chi2 < freedom + 5 * std::sqrt(2 * freedom) + 5);
    }
}

// Adjacent values must be separated: in a random order their mean distance is n/3.
XF_TEST(adjacent_values_are_separated) {
    const uint64_t n = 100000;
    const xf::Permutation permutation(3, 1, n);
    double distance = 0, rank_product = 0;
    for (uint64_t i = 0; i + 1 < n; ++i) {
        const auto a = static_cast<double>(permutation(i)), b = static_cast<double>(permutation(i + 1));
        distance += std::fabs(a - b) / static_cast<double>(n);
        rank_product += (a / n - 0.5) * (static_cast<double>(i) / n - 0.5);
    }
    CHECK_NEAR(distance / n, 1.0 / 3, 0.005);
    CHECK_NEAR(12 * rank_product / n, 0, 0.015);  // correlation of position and value
}

XF_TEST(seed_and_epoch_change_the_permutation) {
    const xf::Permutation base(1, 0, 1000), epoch(1, 1, 1000), seed(2, 0, 1000), again(1, 0, 1000);
    int same_epoch = 0, same_seed = 0, same_again = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
        same_epoch += base(i) == epoch(i);
        same_seed += base(i) == seed(i);
        same_again += base(i) == again(i);
    }
    CHECK(same_epoch < 12);
    CHECK(same_seed < 12);
    CHECK_EQ(same_again, 1000);
}

// Checkpoints depend on these numbers.
XF_TEST(order_is_frozen) {
    const xf::Permutation permutation(42, 7, 1000);
    const uint64_t expected[] = {871, 918, 406, 272};
    for (uint64_t i = 0; i < 4; ++i) CHECK_EQ(permutation(i), expected[i]);
}
