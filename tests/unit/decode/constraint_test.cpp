// Constraints: forbidden tokens never appear, allowed tokens compete as usual, and the batch does not matter.
//
// The oracle is exhaustive: every allowed output over a small vocabulary is scored, and a beam of the size of the
// search tree must find the best.
//
// SPDX-License-Identifier: Apache-2.0
#include "decoding.hpp"

namespace {

using namespace xf_test;

xf::DecodeRequest under(const xf::Constraint &constraint) {
    xf::DecodeRequest request;
    request.constraint = constraint;
    return request;
}

// A constraint that treats each hypothesis alone.
template <class Use>
xf::Constraint each(Use use) {
    return [use](std::span<const xf::Partial> partials) {
        for (const xf::Partial &partial : partials) use(partial);
    };
}

void allow_only(const Ids &ids, const xf::Partial &partial) {
    uint32_t bits = 0;
    for (const int32_t id : ids) bits |= 1u << id;
    partial.allowed[0] &= bits;
}

// Ascending sequences of at most three of these ids, with the end symbol.
const Ids kFew = {4, 6, 9};
const xf::Constraint kRising = each([](const xf::Partial &partial) {
    Ids next;
    for (const int32_t id : kFew)
        if (partial.ids.empty() || id > partial.ids.back()) next.push_back(id);
    if (partial.remaining <= 1 || !partial.ids.empty()) next.push_back(kEndToken);
    allow_only(next, partial);
});

XF_TEST(the_best_allowed_hypothesis_is_found) {
    const std::vector<Ids> sources = {{5, 9, 3, 1}, {4, 6, 9, 1}, {12, 2, 1}};
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        xf::Decoder decoder(make_reverser(context), with({{"decode.beam", "8"}, {"decode.n_best", "8"}}));
        const Answers answers = decode(&decoder, sources, under(kRising));
        const std::vector<Ids> possible = {{4}, {6}, {9}, {4, 6}, {4, 9}, {6, 9}, {4, 6, 9}};
        for (size_t s = 0; s < sources.size(); ++s) {
            Pairs pairs;
            for (Ids target : possible) {
                target.push_back(kEndToken);
                pairs.src.push_back(sources[s]);
                pairs.tgt.push_back(target);
            }
            const std::vector<double> scores = score(&decoder, pairs);
            std::vector<std::pair<double, Ids>> expected;
            for (size_t i = 0; i < possible.size(); ++i)
                expected.push_back(
                    {-scores[i] / xf::length_penalty(static_cast<int64_t>(possible[i].size()) + 1, 0.6), possible[i]});
            std::sort(expected.begin(), expected.end());
            CHECK_EQ(answers[s].size(), possible.size());
            for (size_t i = 0; i < possible.size(); ++i) {
                CHECK_EQ(answers[s][i].finished, true);
                CHECK_NEAR(answers[s][i].score, -expected[i].first, name.bf16() ? 3e-2 : 1e-4);
                if (!name.bf16()) CHECK(answers[s][i].ids == expected[i].second);
            }
        }
    });
}

XF_TEST(a_constraint_receives_the_sentence_and_the_remaining_length) {
    const std::vector<Ids> sources = {{5, 9, 3, 7, 2, 1}, {4, 1}, {12, 2, 7, 1}};
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        xf::Decoder decoder(make_reverser(context), with({{"decode.beam", "3"}, {"decode.max_extra_tokens", "2"}}));
        // Sentence s may use only the id s + 3, and must reach its maximum length.
        const auto own_id = each([&](const xf::Partial &partial) {
            const auto s = static_cast<size_t>(partial.sentence);
            const auto limit = static_cast<int64_t>(sources[s].size()) + 2;
            CHECK_EQ(partial.remaining, limit - static_cast<int64_t>(partial.ids.size()));
            allow_only(partial.remaining > 1 ? Ids{static_cast<int32_t>(s) + 3} : Ids{kEndToken}, partial);
        });
        const Answers together = decode(&decoder, sources, under(own_id));
        for (size_t s = 0; s < sources.size(); ++s) {
            CHECK_EQ(together[s][0].finished, true);
            CHECK(together[s][0].ids == Ids(sources[s].size() + 1, static_cast<int32_t>(s) + 3));
        }
    });
}

// Each call has the hypotheses of all sentences of the group that have not ended, which are all equally long.
XF_TEST(a_constraint_is_called_once_per_step_for_all_hypotheses) {
    const std::vector<Ids> sources = {{5, 9, 3, 7, 2, 1}, {4, 1}, {12, 2, 7, 1}};
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        for (const int64_t beam : {1, 3}) {
            // Without the end symbol, each sentence has all its steps: the length of the source, and 2.
            xf::Decoder decoder(make_reverser(context), with({{"decode.beam", std::to_string(beam)},
                                                              {"decode.min_tokens", "96"},
                                                              {"decode.max_extra_tokens", "2"}}));
            size_t steps = 0;
            decode(&decoder, sources, under([&](std::span<const xf::Partial> partials) {
                std::map<int64_t, std::set<Ids>> found;
                for (const xf::Partial &partial : partials) {
                    CHECK_EQ(partial.ids.size(), steps);
                    CHECK_EQ(partial.allowed.size(), size_t{1});
                    CHECK_EQ(partial.allowed[0], ~0u);
                    CHECK(found[partial.sentence].insert({partial.ids.begin(), partial.ids.end()}).second);
                }
                for (size_t s = 0; s < sources.size(); ++s) {
                    const bool ended = steps >= sources[s].size() + 2;
                    const auto live = static_cast<size_t>(steps == 0 ? 1 : beam);
                    CHECK_EQ(found[static_cast<int64_t>(s)].size(), ended ? 0 : live);
                }
                ++steps;
            }));
            CHECK_EQ(steps, sources[0].size() + 2);
        }
    });
}

XF_TEST(constraints_do_not_affect_other_sentences) {
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        xf::Decoder decoder(make_reverser(context), with({{"decode.beam", "4"}, {"decode.batch_sentences", "3"}}));
        std::vector<Ids> sources;
        for (int i = 0; i < 10; ++i) {
            Ids source;
            for (int j = 0; j <= i % 5; ++j) source.push_back(2 + (i * 3 + j * 5) % 11);
            source.push_back(kEndToken);
            sources.push_back(source);
        }
        const Answers all = decode(&decoder, sources, under(kRising));
        CHECK(same(decode_alone(&decoder, sources, under(kRising)), all));
        CHECK(same(decode(&decoder, sources), decode(&decoder, sources, under([](std::span<const xf::Partial>) {}))));
    });
}

XF_TEST(without_allowed_tokens_the_hypothesis_is_unfinished) {
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        for (const char *beam : {"1", "4"}) {
            xf::Decoder decoder(make_reverser(context), with({{"decode.beam", beam}}));
            const auto none =
                each([](const xf::Partial &partial) { allow_only(partial.ids.size() < 2 ? Ids{7} : Ids{}, partial); });
            const Answers answers = decode(&decoder, {{5, 9, 3, 1}}, under(none));
            CHECK_EQ(answers[0].size(), size_t{1});
            CHECK_EQ(answers[0][0].finished, false);
            CHECK((answers[0][0].ids == Ids{7, 7}));
            CHECK(std::isinf(answers[0][0].log_probability));
            // An exception of a constraint is rethrown, and the decoder remains usable.
            const auto thrower = [](std::span<const xf::Partial>) { xf::fail(XF_ERROR_CALLBACK, "enough"); };
            CHECK_FAILS(decode(&decoder, {{5, 9, 3, 1}}, under(thrower)), XF_ERROR_CALLBACK);
            CHECK_EQ(decode(&decoder, {{5, 9, 3, 1}})[0].size(), size_t{1});
        }
    });
}

// The end symbol is forbidden: the limit ends every hypothesis, and probabilities remain those of the model.
XF_TEST(a_forbidden_end_symbol_is_never_selected) {
    const std::vector<Ids> sources = {{5, 9, 3, 1}, {4, 1}};
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        for (const char *beam : {"1", "4"}) {
            const auto never = each([](const xf::Partial &partial) { partial.allowed[0] &= ~(1u << kEndToken); });
            const Settings more = {{"decode.beam", beam}, {"decode.n_best", beam}, {"decode.max_extra_tokens", "3"}};
            xf::Decoder decoder(make_reverser(context), with(more));
            const Answers answers = decode(&decoder, sources, under(never));
            for (size_t s = 0; s < sources.size(); ++s) {
                CHECK_EQ(answers[s].size(), size_t{1});  // unfinished, so only the best one is returned
                const xf::Hypothesis &h = answers[s][0];
                CHECK_EQ(h.finished, false);
                CHECK_EQ(h.ids.size(), sources[s].size() + 3);
                for (const int32_t id : h.ids) CHECK(id > kEndToken && id < kReverserIds);
                CHECK(std::isfinite(h.log_probability));
                // Scoring without the end symbol: the last token of the target takes its position.
                CHECK_NEAR(score(&decoder, {{sources[s]}, {h.ids}})[0], h.log_probability, name.bf16() ? 0.3 : 1e-3);
            }
        }
    });
}

}  // namespace
