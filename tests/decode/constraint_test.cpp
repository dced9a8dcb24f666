// Constraints: what is forbidden never appears, what is allowed is searched as ever, and the batch is not felt.
//
// The oracle is exhaustive: on short answers of a small vocabulary every allowed answer is scored by forced decoding,
// and a beam as wide as the tree must find the best.
//
// SPDX-License-Identifier: Apache-2.0
#include "decoding.hpp"

namespace {

using namespace xf_test;

xf::Options with(const Settings &more) {
    Settings settings = kReverser;
    for (const auto &[key, value] : more) settings[key] = value;
    return options_of(settings);
}

Answers decode(xf::Decoder *decoder, const std::vector<Ids> &sources, const xf::Constraint &constraint) {
    xf::DecodeRequest request;
    request.constraint = constraint;
    return xf_test::decode(decoder, sources, request);
}

void allow_only(const Ids &ids, uint32_t *allowed) {
    uint32_t bits = 0;
    for (const int32_t id : ids) bits |= 1u << id;
    *allowed &= bits;
}

// Rising answers of at most three of these ids, which end.
const Ids kFew = {4, 6, 9};
void rising(const xf::Prefix &prefix, uint32_t *allowed) {
    Ids next;
    for (const int32_t id : kFew)
        if (prefix.ids.empty() || id > prefix.ids.back()) next.push_back(id);
    if (prefix.remaining > 1 && prefix.ids.empty()) {
        allow_only(next, allowed);
        return;
    }
    next.push_back(kEndToken);
    allow_only(next, allowed);
}

XF_TEST(the_best_allowed_answer_is_found) {
    const std::vector<Ids> sources = {{5, 9, 3, 1}, {4, 6, 9, 1}, {12, 2, 1}};
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        xf::Decoder decoder(make_reverser(context), with({{"decode.beam", "8"}, {"decode.n_best", "8"}}));
        const Answers answers = decode(&decoder, sources, rising);
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

XF_TEST(a_constraint_is_told_which_sentence_and_how_much_is_left) {
    const std::vector<Ids> sources = {{5, 9, 3, 7, 2, 1}, {4, 1}, {12, 2, 7, 1}};
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        xf::Decoder decoder(make_reverser(context), with({{"decode.beam", "3"}, {"decode.max_extra_tokens", "2"}}));
        // Sentence s may use the id s + 3 alone, and has to use up its length.
        const auto own_id = [&](const xf::Prefix &prefix, uint32_t *allowed) {
            const auto s = static_cast<size_t>(prefix.sentence);
            const auto limit = static_cast<int64_t>(sources[s].size()) + 2;
            CHECK_EQ(prefix.remaining, limit - static_cast<int64_t>(prefix.ids.size()));
            allow_only(prefix.remaining > 1 ? Ids{static_cast<int32_t>(s) + 3} : Ids{kEndToken}, allowed);
        };
        const Answers together = decode(&decoder, sources, own_id);
        for (size_t s = 0; s < sources.size(); ++s) {
            CHECK_EQ(together[s][0].finished, true);
            CHECK(together[s][0].ids == Ids(sources[s].size() + 1, static_cast<int32_t>(s) + 3));
        }
    });
}

XF_TEST(neighbours_are_not_felt_and_no_constraint_is_none) {
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        xf::Decoder decoder(make_reverser(context), with({{"decode.beam", "4"}, {"decode.batch_sentences", "3"}}));
        std::vector<Ids> sources;
        for (int i = 0; i < 10; ++i) {
            Ids source;
            for (int j = 0; j <= i % 5; ++j) source.push_back(2 + (i * 3 + j * 5) % 11);
            source.push_back(kEndToken);
            sources.push_back(source);
        }
        const Answers all = decode(&decoder, sources, rising);
        for (size_t i = 0; i < sources.size(); ++i) CHECK(same(decode(&decoder, {sources[i]}, rising)[0], all[i]));
        const Answers free = decode(&decoder, sources, nullptr);
        const Answers everything = decode(&decoder, sources, [](const xf::Prefix &, uint32_t *) {});
        for (size_t i = 0; i < sources.size(); ++i) CHECK(same(free[i], everything[i]));
    });
}

XF_TEST(nothing_allowed_is_an_unfinished_answer) {
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        for (const char *beam : {"1", "4"}) {
            xf::Decoder decoder(make_reverser(context), with({{"decode.beam", beam}}));
            const auto none = [](const xf::Prefix &prefix, uint32_t *allowed) {
                allow_only(prefix.ids.size() < 2 ? Ids{7} : Ids{}, allowed);
            };
            const Answers answers = decode(&decoder, {{5, 9, 3, 1}}, none);
            CHECK_EQ(answers[0].size(), size_t{1});
            CHECK_EQ(answers[0][0].finished, false);
            CHECK((answers[0][0].ids == Ids{7, 7}));
            CHECK(std::isinf(answers[0][0].log_probability));
            // What a constraint throws comes out, and the decoder goes on.
            const auto thrower = [](const xf::Prefix &, uint32_t *) { xf::fail(XF_ERROR_CALLBACK, "enough"); };
            CHECK_FAILS(decode(&decoder, {{5, 9, 3, 1}}, thrower), XF_ERROR_CALLBACK);
            CHECK_EQ(decode(&decoder, {{5, 9, 3, 1}}, nullptr)[0].size(), size_t{1});
        }
    });
}

// No answer may end: the limit cuts all of them off, and the best is as probable as the model has it.
XF_TEST(an_end_that_is_forbidden_is_never_chosen) {
    const std::vector<Ids> sources = {{5, 9, 3, 1}, {4, 1}};
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        for (const char *beam : {"1", "4"}) {
            const auto never = [](const xf::Prefix &, uint32_t *allowed) { *allowed &= ~(1u << kEndToken); };
            const Settings more = {{"decode.beam", beam}, {"decode.n_best", beam}, {"decode.max_extra_tokens", "3"}};
            xf::Decoder decoder(make_reverser(context), with(more));
            const Answers answers = decode(&decoder, sources, never);
            for (size_t s = 0; s < sources.size(); ++s) {
                CHECK_EQ(answers[s].size(), size_t{1});  // what is cut off is an answer only when nothing ended
                const xf::Hypothesis &h = answers[s][0];
                CHECK_EQ(h.finished, false);
                CHECK_EQ(h.ids.size(), sources[s].size() + 3);
                for (const int32_t id : h.ids) CHECK(id > kEndToken && id < kReverserIds);
                CHECK(std::isfinite(h.log_probability));
                // The same without the end symbol, forced: the target's last token takes the end symbol's place.
                CHECK_NEAR(score(&decoder, {{sources[s]}, {h.ids}})[0], h.log_probability, name.bf16() ? 0.3 : 1e-3);
            }
        }
    });
}

}  // namespace
