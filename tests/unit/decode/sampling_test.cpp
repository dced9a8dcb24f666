// Sampling, the repetition penalty, the n-gram limit, and alternatives, compared with their definitions.
// SPDX-License-Identifier: Apache-2.0
#include "decode/sampling.h"

#include <cmath>
#include <set>

#include "decode/decoding.hpp"

namespace {

using namespace xf_test;

XF_TEST(exp_is_accurate) {
    for (double x = 0; x > -700; x -= 0.37) {
        const double expected = std::exp(x);
        CHECK(std::fabs(xf::exp_of_nonpositive(x) - expected) <= 2 * (std::nextafter(expected, 2.0) - expected));
    }
    CHECK_EQ(xf::exp_of_nonpositive(0), 1.0);
    CHECK_EQ(xf::exp_of_nonpositive(-1e300), 0.0);
    CHECK_EQ(xf::exp_of_nonpositive(-INFINITY), 0.0);
}

XF_TEST(uniform_numbers_are_uniform_and_differ) {
    std::set<double> seen;
    double sum = 0;
    for (uint32_t step = 0; step < 10; ++step)
        for (uint32_t sample = 0; sample < 10; ++sample)
            for (uint64_t sentence = 0; sentence < 10; ++sentence)
                for (uint64_t seed = 0; seed < 10; ++seed) {
                    const double u = xf::uniform_number(seed, {sentence << 30, sample, step});
                    CHECK(u >= 0 && u < 1);
                    seen.insert(u);
                    sum += u;
                }
    CHECK_EQ(seen.size(), size_t{10000});
    CHECK(std::fabs(sum / 10000 - 0.5) < 0.015);  // five standard deviations
}

// The probability of each id by the definition of the options, computed in another way: with a full sort.
std::vector<double> definition(const std::vector<float> &values, const xf::SamplingOptions &o) {
    std::vector<size_t> order;
    for (size_t id = 0; id < values.size(); ++id)
        if (values[id] > -INFINITY) order.push_back(id);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] > values[b]; });
    if (o.top_k > 0 && order.size() > static_cast<size_t>(o.top_k)) order.resize(static_cast<size_t>(o.top_k));
    std::vector<double> p(values.size(), 0.0);
    const auto total = [&] { return std::accumulate(p.begin(), p.end(), 0.0); };
    for (const size_t id : order) p[id] = std::exp((values[id] - values[order[0]]) / o.temperature);
    double before = 0;
    const double all = total();
    for (const size_t id : order) {
        const double weight = p[id];
        if ((id != order[0] && before >= o.top_p * all) || weight < o.min_p) p[id] = 0;
        before += weight;
    }
    const double rest = total();
    for (double &one : p) one /= rest;
    return p;
}

XF_TEST(each_id_is_chosen_with_its_probability) {
    Draw draw(41);
    xf::TokenSampler sampler;
    for (int round = 0; round < 200; ++round) {
        std::vector<float> values(static_cast<size_t>(draw.between(1, 9)));
        for (float &value : values) value = static_cast<float>(draw.between(-40, 0)) / 8;  // some are equal
        if (round % 3 == 0) values[0] = -INFINITY;
        if (values == std::vector<float>{-INFINITY}) values[0] = -1;
        xf::SamplingOptions o;
        o.temperature = static_cast<double>(draw.between(1, 30)) / 10;
        o.top_k = draw.between(0, 6);
        o.top_p = round % 2 == 0 ? 1 : static_cast<double>(draw.between(0, 99)) / 100;
        o.min_p = round % 5 == 0 ? static_cast<double>(draw.between(0, 10)) / 10 : 0;
        const std::vector<double> expected = definition(values, o);
        std::vector<double> share(values.size());
        constexpr int kGrid = 4000;
        int32_t last = 0;
        for (int i = 0; i < kGrid; ++i) {
            const int32_t id = sampler.choose(values, o, i / double{kGrid});
            CHECK(id >= last);  // the order of ids
            last = id;
            share[static_cast<size_t>(id)] += 1.0 / kGrid;
        }
        for (size_t id = 0; id < values.size(); ++id) {
            CHECK(std::fabs(share[id] - expected[id]) <= 1.01 / kGrid);
            CHECK_EQ(share[id] > 0, expected[id] > 0 && share[id] > 0);
        }
        CHECK_EQ(sampler.choose(values, o, 0x1.fffffffffffffp-1) >= 0, true);
    }
    CHECK_EQ(sampler.choose(std::vector<float>{-INFINITY, -INFINITY}, {.temperature = 1}, 0.5), -1);
}

XF_TEST(repeated_ngrams_are_forbidden) {
    Draw draw(42);
    for (int round = 0; round < 500; ++round) {
        Ids ids(static_cast<size_t>(draw.between(0, 12)));
        for (int32_t &id : ids) id = static_cast<int32_t>(draw.between(0, 3)) * 11;
        const auto n = static_cast<size_t>(draw.between(1, 4));
        std::vector<uint32_t> allowed(2, ~0u);
        xf::forbid_repeated_ngrams(ids, n, allowed);
        for (int32_t id = 0; id < 64; ++id) {
            Ids longer = ids;
            longer.push_back(id);
            bool repeats = false;
            for (size_t at = 0; longer.size() >= n && at < longer.size() - n; ++at)
                repeats |= std::equal(longer.end() - static_cast<std::ptrdiff_t>(n), longer.end(),
                                      longer.begin() + static_cast<std::ptrdiff_t>(at));
            CHECK_EQ((allowed[static_cast<size_t>(id) / 32] >> id % 32 & 1) == 0, repeats);
        }
    }
}

// The samples of a sentence have the probabilities of their sequences.
XF_TEST(sequences_are_sampled_with_their_probabilities) {
    const auto model = make_reverser(any_device());
    constexpr int kSamples = 1024;
    xf::Decoder decoder(model, with({{"decode.beam", "1"},
                                     {"decode.n_best", std::to_string(kSamples)},
                                     {"decode.temperature", "1"},
                                     {"decode.max_extra_tokens", "1"}}));
    std::map<Ids, std::pair<int, double>> found;
    const Answers answers = decode(&decoder, {{4, 6, kEndToken}});
    CHECK_EQ(answers[0].size(), size_t{kSamples});
    for (size_t i = 0; i < answers[0].size(); ++i) {
        const xf::Hypothesis &h = answers[0][i];
        if (i > 0) CHECK(h.score <= answers[0][i - 1].score);
        if (!h.finished) continue;
        auto &[count, p] = found[h.ids];
        ++count;
        p = std::exp(h.log_probability);
    }
    CHECK(found.size() > 3);
    for (const auto &[ids, one] : found) {
        const double expected = kSamples * one.second, deviation = std::sqrt(expected * (1 - one.second));
        CHECK(std::fabs(one.first - expected) <= 5 * deviation + 1);
    }
}

// Sample i is the same for any number of samples, and another seed gives others.
XF_TEST(samples_depend_on_the_seed_and_their_number) {
    const auto model = make_reverser(any_device());
    const Ids source{4, 6, 9, 3, kEndToken};
    const auto samples = [&](int count, const char *seed) {
        xf::Decoder decoder(model, with({{"decode.beam", "1"},
                                         {"decode.n_best", std::to_string(count)},
                                         {"decode.temperature", "2"},
                                         {"decode.seed", seed}}));
        std::multiset<Ids> all;
        const Answers answers = decode(&decoder, {source});
        for (const xf::Hypothesis &h : answers[0]) all.insert(h.ids);
        return all;
    };
    // With nearly equal probabilities, the numbers decide; they differ between sources.
    xf::Decoder decoder(model, with({{"decode.beam", "1"}, {"decode.temperature", "100"}}));
    const Answers answers = decode(&decoder, {{4, 6, kEndToken}, {4, 7, kEndToken}, {5, 6, kEndToken}});
    CHECK(answers[0][0].ids != answers[1][0].ids && answers[0][0].ids != answers[2][0].ids);
    const auto few = samples(3, "1"), many = samples(20, "1"), other = samples(20, "2");
    CHECK(std::includes(many.begin(), many.end(), few.begin(), few.end()));
    CHECK(many != other);
}

// Alternatives begin with the best tokens after the prefix and are completed as a search with that prefix would.
XF_TEST(alternatives_are_completed_by_greedy_search) {
    const auto model = make_reverser(any_device());
    const Ids source{4, 6, 9, 3, kEndToken}, prefix{7};
    const auto search = [&](const Ids &forced, const Settings &more) {
        xf::Decoder decoder(model, with(xf_test::with({{"decode.beam", "1"}, {"decode.alpha", "0"}}, more)));
        const int64_t offsets[] = {0, std::ssize(forced)};
        return decode(&decoder, {source}, {.prefix_ids = forced.data(), .prefix_offsets = offsets})[0];
    };
    std::vector<std::pair<float, int32_t>> first;  // without the end symbol, which cannot be forced
    for (int32_t id = 2; id < kReverserIds; ++id)
        first.emplace_back(search({7, id}, {})[0].token_log_probabilities[1], -id);
    std::sort(first.rbegin(), first.rend());
    const auto found = search(prefix, {{"decode.alternatives", "true"}, {"decode.n_best", "4"}});
    CHECK_EQ(found.size(), size_t{4});
    std::set<int32_t> wanted, begun;
    for (const xf::Hypothesis &h : found) {
        if (h.ids.size() < 2) continue;  // the end symbol is an alternative, too
        begun.insert(h.ids[1]);
        CHECK(same({h}, search({7, h.ids[1]}, {})));
    }
    for (size_t i = 0; i < begun.size(); ++i) wanted.insert(-first[i].second);
    CHECK(begun == wanted && begun.size() >= 3);
}

// With a penalty, greedy search takes the token whose penalized log-probability is the best.
XF_TEST(a_penalty_makes_repetitions_rarer) {
    const auto model = make_reverser(any_device());
    const Ids source{4, 4, 4, 4, 4, kEndToken};
    const auto greedy = [&](const char *penalty) {
        xf::Decoder decoder(
            model, with({{"decode.beam", "1"}, {"decode.repetition_penalty", penalty}, {"decode.min_tokens", "5"}}));
        return decode(&decoder, {source})[0][0];
    };
    const xf::Hypothesis plain = greedy("1"), penalized = greedy("100");
    const auto distinct = [](const Ids &ids) { return std::set<int32_t>(ids.begin(), ids.end()).size(); };
    CHECK(distinct(plain.ids) < plain.ids.size());
    CHECK_EQ(distinct(Ids(penalized.ids.begin(), penalized.ids.begin() + 5)), size_t{5});
    // The values are those of the model until a token repeats, and then their product with the penalty.
    xf::Decoder decoder(model, with({{"decode.beam", "1"}}));
    const xf::Hypothesis twice = greedy("1.0001");
    const int64_t offsets[] = {0, std::ssize(twice.ids)};
    const auto forced = decode(&decoder, {source}, {.prefix_ids = twice.ids.data(), .prefix_offsets = offsets})[0][0];
    std::set<int32_t> seen;
    for (size_t i = 0; i < twice.ids.size(); ++i) {
        const float value = forced.token_log_probabilities[i];
        const bool repeats = !seen.insert(twice.ids[i]).second;
        CHECK_EQ(twice.token_log_probabilities[i], repeats ? static_cast<float>(value * 1.0001) : value);
    }
    CHECK(seen.size() < twice.ids.size());
    // A prefix is not penalized.
    xf::Decoder penalizing(model, with({{"decode.beam", "1"}, {"decode.repetition_penalty", "3"}}));
    const auto prefixed =
        decode(&penalizing, {source}, {.prefix_ids = twice.ids.data(), .prefix_offsets = offsets})[0][0];
    for (size_t i = 0; i < twice.ids.size(); ++i)
        CHECK_EQ(prefixed.token_log_probabilities[i], forced.token_log_probabilities[i]);
}

XF_TEST(options_without_meaning_are_refused) {
    const auto model = make_reverser(any_device());
    const auto refused = [&](const Settings &settings) {
        CHECK_FAILS(xf::Decoder(model, with(settings)), XF_ERROR_INVALID_ARGUMENT);
    };
    refused({{"decode.temperature", "1"}});  // beam 4
    refused({{"decode.alternatives", "true"}});
    refused({{"decode.beam", "1"}, {"decode.temperature", "1"}, {"decode.alternatives", "true"}});
    refused({{"decode.top_k", "5"}});
    refused({{"decode.top_p", "0.5"}});
    refused({{"decode.min_p", "0.5"}});
    refused({{"decode.beam", "1"}, {"decode.n_best", "2"}});
}

}  // namespace
