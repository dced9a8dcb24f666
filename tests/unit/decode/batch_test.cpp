// A sentence decodes to the same tokens and a bit-identical score alone or in any batch, in any order, with any number
// of threads (decode.h). Scoring the result as a target gives the score of the search.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/decoding.hpp"

namespace {

using namespace xf_test;

constexpr size_t kSentences = 200;

// Fewer on a GPU, which may be emulated.
size_t count_for(const DeviceName &device) { return device.cuda() ? 16 : kSentences; }
// Threads exist only on the CPU.
std::vector<int> threads_for(const DeviceName &device) {
    return device.cuda() ? std::vector<int>{1} : std::vector<int>{1, 2, 3};
}

std::vector<Ids> sentences(size_t count) { return random_pairs(5, count, 20, kReverserIds).src; }

std::vector<size_t> shuffled(size_t count, uint64_t seed) {
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    Draw draw(seed);
    draw.shuffle(&order);
    return order;
}

std::vector<Ids> pick(const std::vector<Ids> &all, const std::vector<size_t> &order) {
    std::vector<Ids> picked;
    for (const size_t i : order) picked.push_back(all[i]);
    return picked;
}

void check_batches(const DeviceName &device, const Settings &search) {
    const std::vector<Ids> sources = sentences(count_for(device));
    xf::Decoder single(make_reverser(open_device(device, 2)), options_of(search));
    const Answers expected = decode_alone(&single, sources);
    size_t finished = 0;
    std::set<size_t> lengths;
    for (const auto &answers : expected) finished += answers[0].finished, lengths.insert(answers[0].ids.size());
    CHECK(finished > sources.size() / 2);  // otherwise the test covers too little
    CHECK(lengths.size() > std::min(size_t{10}, sources.size() / 4));
    for (const int threads : threads_for(device)) {
        const auto model = make_reverser(open_device(device, threads));
        for (const char *batch : {"1", "7", "64"}) {
            xf::Decoder decoder(model, options_of(with(search, {{"decode.batch_sentences", batch}})));
            const std::vector<size_t> order = shuffled(sources.size(), static_cast<uint64_t>(threads));
            const Answers found = decode(&decoder, pick(sources, order));
            size_t wrong = 0;
            for (size_t i = 0; i < sources.size(); ++i) wrong += same(found[i], expected[order[i]]) ? 0 : 1;
            if (wrong > 0)
                record(__FILE__, __LINE__,
                       xf::format("%s, %d threads, batches of %s: %zu answers differ", device.text().c_str(), threads,
                                  batch, wrong));
        }
    }
}

XF_TEST(searches_do_not_depend_on_the_batch) {
    on_each_device(1, [](const auto &, const DeviceName &device) {
        check_batches(device, {{"decode.n_best", "3"}, {"decode.max_extra_tokens", "15"}});
        check_batches(device, {{"decode.beam", "1"}, {"decode.max_extra_tokens", "15"}});
    });
}

XF_TEST(scores_do_not_depend_on_the_batch) {
    on_each_device(1, [&](const auto &, const DeviceName &device) {
        const size_t count = count_for(device);
        const Pairs pairs = random_pairs(6, count, 25, kReverserIds);
        const std::vector<size_t> order = shuffled(count, 4);
        std::vector<double> expected;
        xf::Decoder single(make_reverser(open_device(device, 2)), options_of({}));
        for (size_t i = 0; i < count; ++i) expected.push_back(score(&single, pairs.pick({i}))[0]);
        for (const int threads : threads_for(device)) {
            xf::Decoder decoder(make_reverser(open_device(device, threads)), options_of({}));
            const std::vector<double> together = score(&decoder, pairs), mixed = score(&decoder, pairs.pick(order));
            for (size_t i = 0; i < count; ++i) {
                CHECK_EQ(together[i], expected[i]);
                CHECK_EQ(mixed[i], expected[order[i]]);
            }
        }
    });
}

XF_TEST(evaluation_does_not_depend_on_the_batches) {
    if (has_run_on_cpu()) return;
    const Pairs pairs = random_pairs(7, kSentences, 40, kReverserIds);
    xf::Decoder decoder(make_reverser(any_device()), options_of({}));
    xf::EvalStats whole, pieces;
    decoder.evaluate(Batch(pairs).view(), &whole);
    for (size_t begin = 0, length = 1; begin < kSentences; begin += length, length = length % 13 + 1) {
        std::vector<size_t> which(std::min(length, kSentences - begin));
        std::iota(which.begin(), which.end(), begin);
        decoder.evaluate(Batch(pairs.pick(which)).view(), &pieces);
    }
    CHECK_EQ(whole.sentences, int64_t{kSentences});
    CHECK_EQ(pieces.sentences, whole.sentences);
    CHECK_EQ(pieces.tgt_tokens, whole.tgt_tokens);
    CHECK_EQ(pieces.loss_sum, whole.loss_sum);
    CHECK_EQ(pieces.nll_sum, whole.nll_sum);
    double sum = 0;
    for (const double one : score(&decoder, pairs)) sum -= one;
    CHECK_NEAR(sum, whole.nll_sum, 1e-9 * sum);
}

// Search and scoring compute the same log-probability.
XF_TEST(scoring_a_hypothesis_gives_the_score_of_the_search) {
    on_each_device(2, [&](const auto &context, const DeviceName &device) {
        const std::vector<Ids> sources = sentences(count_for(device));
        const auto model = make_reverser(context);
        xf::Decoder decoder(model, options_of({{"decode.n_best", "4"}, {"decode.alpha", "0.6"}}));
        const Answers answers = decode(&decoder, sources);
        Pairs pairs;
        std::vector<double> expected;
        for (size_t i = 0; i < sources.size(); ++i) {
            for (const xf::Hypothesis &h : answers[i]) {
                if (!h.finished) continue;
                pairs.src.push_back(sources[i]);
                pairs.tgt.push_back(h.ids);
                pairs.tgt.back().push_back(kEndToken);
                expected.push_back(h.log_probability);
                const auto length = static_cast<double>(pairs.tgt.back().size());
                CHECK_NEAR(h.score, h.log_probability / std::pow((5 + length) / 6, 0.6), 1e-12);
            }
        }
        CHECK(pairs.size() > 3 * sources.size());
        const std::vector<double> scores = score(&decoder, pairs);
        for (size_t i = 0; i < scores.size(); ++i) CHECK_NEAR(scores[i], expected[i], device.bf16() ? 0.2 : 1e-4);
    });
}

XF_TEST(all_devices_agree_within_rounding) {
    const std::vector<Ids> sources = sentences(count_for(kDevices[0]));
    const Pairs pairs = random_pairs(8, 60, 25, kReverserIds);
    xf::Decoder reference(make_reverser(open_device(kDevices[0], 2)), options_of({}));
    const Answers expected = decode(&reference, sources);
    const std::vector<double> scores = score(&reference, pairs);
    on_each_device(2, [&](const auto &context, const DeviceName &device) {
        const size_t count = count_for(device);
        xf::Decoder decoder(make_reverser(context), options_of({}));
        const Answers found = decode(&decoder, {sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(count)});
        size_t alike = 0, near = 0;
        for (size_t i = 0; i < count; ++i) {
            alike += found[i][0].ids == expected[i][0].ids ? 1 : 0;
            near += std::fabs(found[i][0].score - expected[i][0].score) <= (device.bf16() ? 0.1 : 1e-4) ? 1 : 0;
        }
        // Rounding to bf16 sometimes changes the result of the search.
        CHECK(near >= (device.bf16() ? count * 9 / 10 : count));
        CHECK(alike >= (device.bf16() ? count * 3 / 4 : count - 2));  // two hypotheses may have almost equal scores
        const std::vector<double> mine = score(&decoder, pairs);
        for (size_t i = 0; i < mine.size(); ++i)
            CHECK_NEAR(mine[i], scores[i], (device.bf16() ? 2e-2 : 1e-5) * std::fabs(scores[i]));
    });
}

}  // namespace
