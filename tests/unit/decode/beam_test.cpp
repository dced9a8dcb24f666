// Beam search without a network: compared with an exhaustive search, and on cases computed by hand.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/beam.h"

#include "core/philox.h"
#include "nn/packed_batch.h"
#include "support/test.hpp"

namespace {

using xf::BeamOptions;
using xf::BeamSearch;
using xf::Hypothesis;
constexpr int32_t kEnd = 1;

constexpr int64_t kLongest = 5;

// log P(next | position, last) of an artificial language of V tokens. It depends on the position because otherwise
// sequences of the same bigrams would tie.
struct Chain {
    int32_t V;
    std::vector<float> log_p;  // [kLongest, V, V]
    size_t index(int64_t position, int32_t last, int32_t next) const {
        return static_cast<size_t>((position * V + last) * V + next);
    }
    float at(int64_t position, int32_t last, int32_t next) const { return log_p[index(position, last, next)]; }
};

Chain random_chain(uint64_t seed, int32_t V) {
    Chain chain{V, std::vector<float>(static_cast<size_t>(kLongest * V * V))};
    for (int64_t position = 0; position < kLongest; ++position) {
        for (int32_t last = 0; last < V; ++last) {
            std::vector<double> weight(static_cast<size_t>(V));
            double sum = 0;
            for (int32_t next = 0; next < V; ++next) {
                const auto bits = xf::philox(seed, static_cast<uint32_t>(last), static_cast<uint32_t>(next),
                                             static_cast<uint32_t>(position), 0)
                                      .word[0];
                weight[static_cast<size_t>(next)] = next == 0 ? 0 : 0.05 + bits / 4294967296.0;
                sum += weight[static_cast<size_t>(next)];
            }
            for (int32_t next = 0; next < V; ++next)
                chain.log_p[chain.index(position, last, next)] =
                    static_cast<float>(std::log(weight[static_cast<size_t>(next)] / sum));
        }
    }
    return chain;
}

std::vector<Hypothesis> search(const Chain &chain, const BeamOptions &options) {
    BeamSearch beam(options, kLongest);
    int64_t position = 0;
    const int64_t k = std::min<int64_t>(BeamSearch::continuations(options), chain.V - 1);
    while (!beam.done()) {
        std::vector<float> values;
        std::vector<int32_t> ids;
        for (const BeamSearch::Live &live : beam.live()) {
            std::vector<int32_t> order;
            for (int32_t next = 1; next < chain.V; ++next) order.push_back(next);
            std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
                return chain.at(position, live.token, a) > chain.at(position, live.token, b);
            });
            for (int64_t j = 0; j < k; ++j) {
                ids.push_back(order[static_cast<size_t>(j)]);
                values.push_back(chain.at(position, live.token, ids.back()));
            }
        }
        beam.advance(values.data(), ids.data(), k, k);
        ++position;
    }
    return beam.result();
}

// All finished sequences of at most kLongest tokens, best first.
std::vector<Hypothesis> all_sequences(const Chain &chain, double alpha) {
    std::vector<Hypothesis> all;
    std::vector<int32_t> ids;
    const std::function<void(int32_t, double)> walk = [&](int32_t last, double log_p) {
        const auto length = static_cast<int64_t>(ids.size()) + 1;
        const double ended = log_p + chain.at(length - 1, last, kEnd);
        all.push_back({ids, ended, ended / std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha), true});
        if (length >= kLongest) return;
        for (int32_t next = 2; next < chain.V; ++next) {
            ids.push_back(next);
            walk(next, log_p + chain.at(length - 1, last, next));
            ids.pop_back();
        }
    };
    walk(0, 0);
    std::stable_sort(all.begin(), all.end(),
                     [](const Hypothesis &x, const Hypothesis &y) { return x.score > y.score; });
    return all;
}

// Advances by the same continuations {id, value} for each of `rows` live hypotheses.
void advance(BeamSearch *beam, const std::vector<std::pair<int32_t, float>> &continuations, size_t rows = 1) {
    std::vector<float> values;
    std::vector<int32_t> ids;
    for (size_t row = 0; row < rows; ++row)
        for (const auto &[id, value] : continuations) ids.push_back(id), values.push_back(value);
    const auto k = std::ssize(continuations);
    beam->advance(values.data(), ids.data(), k, k);
}

// At most 3^4 = 81 sequences are live at once, so a beam of 100 is exhaustive.
XF_TEST(an_exhaustive_beam_finds_the_best_sequences) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        const Chain chain = random_chain(seed, 5);
        for (const double alpha : {0.0, 0.6, 1.0, 2.5}) {
            const std::vector<Hypothesis> want = all_sequences(chain, alpha);
            for (const int64_t n_best : {1, 3, 20}) {
                const std::vector<Hypothesis> got = search(chain, {100, n_best, alpha});
                CHECK_EQ(got.size(), static_cast<size_t>(n_best));
                for (size_t i = 0; i < got.size(); ++i) {
                    CHECK(got[i].finished);
                    CHECK(got[i].ids == want[i].ids);
                    CHECK_EQ(got[i].score, want[i].score);
                    CHECK_EQ(got[i].log_probability, want[i].log_probability);
                }
            }
        }
    }
}

XF_TEST(a_small_beam_never_exceeds_the_optimum) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        const Chain chain = random_chain(seed, 6);
        const double best = all_sequences(chain, 0.6)[0].score;
        for (const int64_t beam : {1, 2, 4}) CHECK(search(chain, {beam, 1, 0.6})[0].score <= best + 1e-9);
    }
}

XF_TEST(length_penalty_is_that_of_wu_et_al) {
    CHECK_NEAR(xf::length_penalty(1, 0.6), 1.0, 1e-15);
    CHECK_NEAR(xf::length_penalty(7, 1.0), 2.0, 1e-15);
    CHECK_NEAR(xf::length_penalty(25, 0.6), std::pow(5.0, 0.6), 1e-12);
    CHECK_NEAR(xf::length_penalty(100, 0), 1.0, 1e-15);
}

XF_TEST(greedy_search_ends_where_the_end_symbol_is_best) {
    BeamSearch beam({1, 1, 0.6}, 10);
    advance(&beam, {{5, -0.1f}});
    CHECK(!beam.done());
    advance(&beam, {{kEnd, -0.1f}});
    CHECK(beam.done());
    const Hypothesis h = beam.result()[0];
    CHECK(h.finished);
    CHECK(h.ids == std::vector<int32_t>{5});
    CHECK_NEAR(h.log_probability, 2 * double{0.1f} * -1, 1e-12);
    CHECK_NEAR(h.score, h.log_probability / xf::length_penalty(2, 0.6), 1e-12);
}

XF_TEST(a_hypothesis_cut_by_the_limit_is_unfinished) {
    BeamSearch beam({2, 1, 0.6}, 1);
    advance(&beam, {{7, -0.5f}, {9, -0.5f}, {8, -3.0f}, {6, -4.0f}});
    CHECK(beam.done());
    const std::vector<Hypothesis> answers = beam.result();
    CHECK_EQ(answers.size(), size_t{1});
    CHECK(!answers[0].finished);
    CHECK(answers[0].ids == std::vector<int32_t>{7});  // the first continuation wins a tie
    CHECK_NEAR(answers[0].score, -0.5 / xf::length_penalty(1, 0.6), 1e-7);
}

XF_TEST(an_end_symbol_among_the_2b_best_finishes) {
    BeamSearch beam({2, 2, 0}, 4);
    advance(&beam, {{5, -0.5f}, {6, -0.6f}, {7, -0.7f}, {kEnd, -0.8f}});  // the fourth of 2B = 4
    CHECK_EQ(beam.live().size(), size_t{2});
    CHECK_EQ(beam.live()[0].token, 5);
    CHECK_EQ(beam.live()[1].token, 6);
    while (!beam.done()) advance(&beam, {{5, -90}, {6, -91}, {7, -92}, {kEnd, -93}}, 2);
    const std::vector<Hypothesis> answers = beam.result();
    CHECK(answers[0].finished && answers[0].ids.empty());
    CHECK_NEAR(answers[0].score, double{-0.8f}, 1e-12);
}

XF_TEST(the_search_stops_when_no_live_hypothesis_can_win) {
    // A finished hypothesis has the score -1. The live one has -0.9, and its bound at the limit of 10 is better:
    // continue.
    BeamSearch wide({2, 1, 1.0}, 10);
    advance(&wide, {{5, -0.9f}, {kEnd, -1.0f}, {6, -40}, {7, -41}});
    CHECK(!wide.done());
    // Now the live hypotheses are much worse: -40 / lp(10) = -16 is less than -1.
    advance(&wide, {{5, -40}, {6, -41}, {7, -42}, {8, -43}}, 2);
    CHECK(wide.done());
    CHECK_NEAR(wide.result()[0].score, -1.0, 1e-7);
}

XF_TEST(n_best_hypotheses_are_ordered_and_distinct) {
    const Chain chain = random_chain(3, 6);
    const std::vector<Hypothesis> answers = search(chain, {4, 4, 0.6});
    CHECK_EQ(answers.size(), size_t{4});
    for (size_t i = 1; i < answers.size(); ++i) {
        CHECK(answers[i - 1].score >= answers[i].score);
        for (size_t j = 0; j < i; ++j) CHECK(answers[i].ids != answers[j].ids);
    }
}

// Two live hypotheses have four equal candidates. The hypothesis with the lower index comes first, then the order of
// its continuations, which top_k sorts by ascending id.
XF_TEST(ties_prefer_the_lower_index_and_then_the_lower_id) {
    BeamSearch beam({2, 1, 0.6}, 10);
    advance(&beam, {{4, -1}, {8, -1}, {3, -2}, {5, -2}});
    CHECK(beam.live()[0].token == 4 && beam.live()[1].token == 8);
    const float second[] = {-1, -1, -5, -5, -1, -1, -5, -5};
    const int32_t second_ids[] = {7, 9, 3, 4, 2, 3, 5, 6};
    beam.advance(second, second_ids, 4, 4);
    CHECK(beam.live()[0].parent == 0 && beam.live()[0].token == 7);
    CHECK(beam.live()[1].parent == 0 && beam.live()[1].token == 9);
    CHECK_EQ(beam.live()[0].log_probability, -2.0);
}

// alpha 1, limit 7: a live hypothesis of -3 can reach -3 / 2 = -1.5, so a finished score of -1.5 does not stop the
// search.
XF_TEST(the_stop_test_uses_the_penalty_at_the_limit_and_is_strict) {
    for (const bool just_worse : {false, true}) {
        BeamSearch beam({2, 1, 1.0}, 7);
        const float live = just_worse ? std::nextafter(-3.0f, -4.0f) : -3.0f;
        advance(&beam, {{kEnd, -1.5f}, {5, live}, {6, live}, {7, -9}});
        CHECK_EQ(beam.done(), just_worse);
    }
}

// With n_best 2 the second-best finished hypothesis counts.
XF_TEST(the_stop_test_uses_the_worst_kept_hypothesis) {
    for (const int64_t n_best : {1, 2}) {
        BeamSearch beam({2, n_best, 0.0}, 9);
        advance(&beam, {{kEnd, -1}, {5, -4}, {6, -5}, {7, -9}});
        CHECK_EQ(beam.done(), n_best == 1);
        if (n_best == 1) continue;
        advance(&beam, {{kEnd, -0.5f}, {5, -50}, {6, -60}, {7, -70}}, 2);  // -4.5 and -5.5 end; only one is kept
        CHECK(beam.done());
        CHECK_EQ(beam.result().size(), size_t{2});
        CHECK_EQ(beam.result()[1].score, -4.5);
        CHECK(beam.result()[1].ids == std::vector<int32_t>{5});
    }
}

XF_TEST(an_end_symbol_after_the_2b_best_is_ignored) {
    BeamSearch beam({1, 1, 0.6}, 9);
    CHECK_EQ(BeamSearch::continuations({1, 1, 0.6}), 1);
    advance(&beam, {{5, -1}, {kEnd, -2}});  // greedy: only the best continuation counts
    CHECK(!beam.done());
    BeamSearch wide({2, 1, 0.6}, 9);
    advance(&wide, {{5, -1}, {6, -2}, {7, -3}, {8, -4}, {kEnd, -5}});
    CHECK(!wide.done());
    CHECK(!wide.result()[0].finished);
}

// A hypothesis that the limit cut off is returned only if none has finished.
XF_TEST(an_unfinished_hypothesis_is_the_last_resort) {
    BeamSearch beam({2, 2, 0.0}, 2);
    advance(&beam, {{5, -0.1f}, {6, -0.2f}, {kEnd, -7}, {7, -8}});
    CHECK(!beam.done());
    advance(&beam, {{5, -0.1f}, {6, -0.2f}, {7, -9}, {8, -9}}, 2);
    CHECK(beam.done());
    CHECK_EQ(beam.result().size(), size_t{1});
    CHECK(beam.result()[0].finished && beam.result()[0].ids.empty());
    CHECK_EQ(beam.result()[0].score, -7.0);
}

XF_TEST(rows_without_a_possible_token_end_the_search) {
    BeamSearch beam({2, 1, 0.6}, 5);
    advance(&beam, {{2, -INFINITY}, {3, -INFINITY}, {4, -INFINITY}, {5, -INFINITY}});
    CHECK(beam.done());
    const Hypothesis h = beam.result()[0];
    CHECK(!h.finished);
    CHECK(h.ids.empty());
    CHECK(std::isinf(h.score) && h.score < 0);
}

// Samples and alternatives do not compete: each continues until it ends or reaches the limit.
XF_TEST(samples_end_separately) {
    BeamOptions options{1, 3, 0.0};
    options.kind = xf::SearchKind::kSamples;
    BeamSearch beam;
    beam.begin(options, 4, 1);
    CHECK_EQ(beam.continuations(), int64_t{1});  // the prefix
    advance(&beam, {{5, -1.0f}});
    CHECK_EQ(beam.continuations(), int64_t{3});
    advance(&beam, {{7, -2.0f}, {6, -0.5f}, {7, -2.0f}});  // one of them is chosen twice
    CHECK_EQ(beam.live().size(), size_t{3});
    CHECK_EQ(beam.continuations(), int64_t{1});
    const std::vector<float> values{-4.0f, -0.25f, -1.0f};
    const std::vector<int32_t> ids{8, kEnd, 9};
    beam.advance(values.data(), ids.data(), 1, 1);
    CHECK_EQ(beam.live().size(), size_t{2});
    CHECK_EQ(beam.live()[1].number, 2);
    CHECK(!beam.done());
    const auto compare = [&](const std::vector<Hypothesis> &found, bool complete) {
        CHECK_EQ(found.size(), size_t{3});
        for (size_t i = 1; i < found.size(); ++i) CHECK(found[i].score <= found[i - 1].score);
        for (const Hypothesis &h : found) CHECK_EQ(h.complete, complete);
        CHECK(found[0].finished && found[0].ids == (std::vector<int32_t>{5, 6}));
        CHECK(!found[1].finished && !found[2].finished);
    };
    compare(beam.result(), false);
    CHECK(beam.common_prefix().ids == std::vector<int32_t>{5});
    advance(&beam, {{9, -1.0f}}, 2);
    CHECK(beam.done());  // the limit
    compare(beam.result(), true);
}

}  // namespace
