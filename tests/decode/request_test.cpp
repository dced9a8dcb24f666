// What one call of the decoder may ask for: prefixes, a least length, a deadline, options of its own; what becomes of
// sentences that can't be decoded; the log-probability of each token.
//
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <thread>

#include "decoding.hpp"

namespace {

using namespace xf_test;

xf::Options with(const Settings &more) {
    Settings settings = kReverser;
    for (const auto &[key, value] : more) settings[key] = value;
    return options_of(settings);
}

std::vector<Ids> sentences(size_t count) { return random_pairs(15, count, 14, kReverserIds).src; }

size_t count_for(const DeviceName &device) { return device.cuda() ? 10 : 40; }

// A prefix for each sentence, as a request has them.
struct Prefixes {
    Ids ids, offsets{0};
    explicit Prefixes(const std::vector<Ids> &all) {
        for (const Ids &one : all) {
            ids.insert(ids.end(), one.begin(), one.end());
            offsets.push_back(static_cast<int32_t>(ids.size()));
        }
        ids.reserve(1);  // data() is to be no null pointer
    }
    xf::DecodeRequest request() const {
        xf::DecodeRequest request;
        request.prefix_ids = ids.data();
        request.prefix_offsets = offsets.data();
        return request;
    }
};

// A constraint that forces the same, the hard way.
xf::Constraint forcing(const std::vector<Ids> &prefixes) {
    return [&prefixes](const xf::Prefix &prefix, uint32_t *allowed) {
        const Ids &wanted = prefixes[static_cast<size_t>(prefix.sentence)];
        if (prefix.ids.size() < wanted.size()) *allowed = 1u << wanted[prefix.ids.size()];
    };
}

XF_TEST(each_token_has_its_log_probability) {
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        const auto model = make_reverser(context);
        xf::Decoder decoder(model, with({{"decode.n_best", "3"}, {"decode.max_extra_tokens", "4"}}));
        const std::vector<Ids> sources = sentences(count_for(name));
        const Answers answers = decode(&decoder, sources);
        size_t cut = 0;
        for (size_t s = 0; s < sources.size(); ++s) {
            for (const xf::Hypothesis &h : answers[s]) {
                CHECK(h.complete);
                CHECK_EQ(h.token_log_probabilities.size(), h.ids.size() + (h.finished ? 1 : 0));
                double sum = 0;
                for (const float one : h.token_log_probabilities) sum += one;
                CHECK_EQ(sum, h.log_probability);
                cut += h.finished ? 0 : 1;
                // The score of the first half is what the first half was given.
                const size_t half = h.ids.size() / 2;
                if (half == 0) continue;
                double first = 0;
                for (size_t i = 0; i < half; ++i) first += h.token_log_probabilities[i];
                const Ids begin(h.ids.begin(), h.ids.begin() + static_cast<std::ptrdiff_t>(half));
                CHECK_NEAR(score(&decoder, {{sources[s]}, {begin}})[0], first, name.bf16() ? 0.2 : 1e-4);
            }
        }
        CHECK(cut < sources.size());
    });
}

XF_TEST(answers_begin_with_their_prefixes) {
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        const auto model = make_reverser(context);
        const std::vector<Ids> sources = sentences(count_for(name));
        Draw draw(77);
        std::vector<Ids> prefixes;
        for (size_t s = 0; s < sources.size(); ++s) {
            prefixes.push_back(sentence(&draw, 0, static_cast<int64_t>(sources[s].size()), kReverserIds));
            prefixes.back().pop_back();  // the end symbol
        }
        prefixes[1].clear();
        const Prefixes given(prefixes);
        for (const char *beam : {"1", "4"}) {
            xf::Decoder decoder(model, with({{"decode.beam", beam}, {"decode.batch_sentences", "7"}}));
            const Answers found = decode(&decoder, sources, given.request());
            xf::DecodeRequest forced;
            forced.constraint = forcing(prefixes);
            const Answers expected = decode(&decoder, sources, forced);
            const Answers free = decode(&decoder, sources);
            for (size_t s = 0; s < sources.size(); ++s) {
                CHECK(found[s][0].ids.size() >= prefixes[s].size());
                CHECK(std::equal(prefixes[s].begin(), prefixes[s].end(), found[s][0].ids.begin()));
                CHECK(same(found[s], expected[s]));
                const Prefixes own({prefixes[s]});
                CHECK(same(found[s], decode(&decoder, {sources[s]}, own.request())[0]));
            }
            CHECK(same(found[1], free[1]));  // neighbours' prefixes are not felt
        }
    });
}

// Greedy search goes the way that its own beginning says.
XF_TEST(a_prefix_of_the_answer_itself_changes_no_bit) {
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        xf::Decoder decoder(make_reverser(context), with({{"decode.beam", "1"}}));
        const std::vector<Ids> sources = sentences(count_for(name));
        const Answers whole = decode(&decoder, sources);
        std::vector<Ids> prefixes;
        for (const auto &answer : whole)
            prefixes.emplace_back(answer[0].ids.begin(),
                                  answer[0].ids.begin() + static_cast<std::ptrdiff_t>(answer[0].ids.size() / 2));
        const Prefixes given(prefixes);
        const Answers found = decode(&decoder, sources, given.request());
        for (size_t s = 0; s < sources.size(); ++s) CHECK(same(found[s], whole[s]));
    });
}

XF_TEST(an_answer_has_its_least_length) {
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        const auto model = make_reverser(context);
        const std::vector<Ids> sources = sentences(count_for(name));
        xf::Decoder decoder(model, with({{"decode.n_best", "2"}})),
            patient(model, with({{"decode.n_best", "2"}, {"decode.min_tokens", "9"}})),
            all(model, with({{"decode.min_tokens", "1000"}, {"decode.max_extra_tokens", "2"}}));
        xf::DecodeRequest forced;
        forced.constraint = [](const xf::Prefix &prefix, uint32_t *allowed) {
            if (prefix.ids.size() < 9) *allowed &= ~(1u << kEndToken);
        };
        const Answers found = decode(&patient, sources), expected = decode(&decoder, sources, forced);
        const Answers longest = decode(&all, sources);
        for (size_t s = 0; s < sources.size(); ++s) {
            CHECK(same(found[s], expected[s]));
            for (const xf::Hypothesis &h : found[s]) CHECK(h.ids.size() >= 9);
            CHECK_EQ(longest[s][0].ids.size(), sources[s].size() + 2);  // the limit comes first
            CHECK(!longest[s][0].finished && longest[s][0].complete);
        }
    });
}

XF_TEST(a_call_may_have_options_of_its_own) {
    if (has_run_on_cpu()) return;
    const auto model = make_reverser(any_device());
    const std::vector<Ids> sources = sentences(20);
    xf::Decoder wide(model, with({{"decode.n_best", "3"}, {"decode.alpha", "1"}})),
        narrow(model, with({{"decode.n_best", "1"}, {"decode.alpha", "1"}, {"decode.beam", "2"}}));
    const Answers before = decode(&wide, sources), expected = decode(&narrow, sources);
    // What was not set there stays: the length penalty.
    const xf::Options options = options_of({{"decode.beam", "2"}, {"decode.n_best", "1"}});
    xf::DecodeRequest request;
    request.options = &options;
    const Answers found = decode(&wide, sources, request), after = decode(&wide, sources);
    for (size_t s = 0; s < sources.size(); ++s) {
        CHECK(same(found[s], expected[s]));
        CHECK(same(before[s], after[s]));
        CHECK_EQ(before[s].size(), size_t{3});
    }
    const xf::Options wrong = options_of({{"decode.beam", "2"}});  // the decoder's n_best is 3
    request.options = &wrong;
    CHECK_FAILS(decode(&wide, sources, request), XF_ERROR_INVALID_ARGUMENT);
}

// A bad sentence is that sentence's error, and nobody else feels it.
XF_TEST(a_bad_sentence_does_not_fail_its_neighbours) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        xf::Decoder decoder(make_reverser(context), with({{"decode.max_source_tokens", "6"}}));
        const std::vector<Ids> sources = {{2, 3, 1}, {2, 13, 1}, {2, 3, 4, 5, 6, 7, 1}, {}, {9, 8, 7, 1}, {-1, 1}};
        const Batch batch(sources);
        const std::vector<xf::SentenceOutcome> found = decoder.decode(batch.view());
        const xf_status expected[] = {XF_OK, XF_ERROR_OUT_OF_RANGE, XF_ERROR_OUT_OF_RANGE, XF_ERROR_INVALID_ARGUMENT,
                                      XF_OK, XF_ERROR_OUT_OF_RANGE};
        for (size_t s = 0; s < sources.size(); ++s) {
            CHECK_EQ(found[s].status, expected[s]);
            CHECK_EQ(found[s].message.empty(), expected[s] == XF_OK);
            CHECK_EQ(found[s].answers.empty(), expected[s] != XF_OK);
            if (expected[s] == XF_OK) CHECK(same(found[s].answers, decode(&decoder, {sources[s]})[0]));
        }
        CHECK(found[2].message.find("7 tokens, expected at most 6") != std::string::npos);
    });
}

XF_TEST(a_bad_prefix_is_its_sentences_error) {
    xf::Decoder decoder(make_reverser(any_device()), with({{"decode.max_extra_tokens", "1"}}));
    const std::vector<Ids> sources(5, Ids{2, 3, 1});
    const Prefixes given({{5}, {kStartToken}, {5, kEndToken}, {5, 13}, {5, 6, 7, 8, 9}});
    const Batch batch(sources);
    const std::vector<xf::SentenceOutcome> found = decoder.decode(batch.view(), given.request());
    CHECK_EQ(found[0].status, XF_OK);
    for (size_t s = 1; s < 5; ++s) CHECK_EQ(found[s].status, XF_ERROR_OUT_OF_RANGE);
    // As long as an answer may be is not too long: the answer is the prefix, cut off.
    const Prefixes whole(std::vector<Ids>(5, Ids{5, 6, 7, 8}));
    const Answers cut = decode(&decoder, sources, whole.request());
    CHECK((cut[0][0].ids == Ids{5, 6, 7, 8}));
    CHECK(!cut[0][0].finished && cut[0][0].complete);
    // What is wrong as a whole fails the call.
    Prefixes fallen({{5}, {5}, {5}, {5}, {5}});
    fallen.offsets[2] = 0;
    CHECK_FAILS(decoder.decode(batch.view(), fallen.request()), XF_ERROR_INVALID_ARGUMENT);
    fallen.offsets[0] = 1;
    CHECK_FAILS(decoder.decode(batch.view(), fallen.request()), XF_ERROR_INVALID_ARGUMENT);
    xf::DecodeRequest half;
    half.prefix_ids = given.ids.data();
    CHECK_FAILS(decoder.decode(batch.view(), half), XF_ERROR_INVALID_ARGUMENT);
}

// Each step takes a while, so the first sentence is cut off and the others are not begun.
XF_TEST(a_deadline_ends_the_search_with_the_best_so_far) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        const auto model = make_reverser(context);
        const Settings settings = {{"decode.beam", "1"}, {"decode.batch_sentences", "1"}, {"decode.min_tokens", "60"}};
        xf::Decoder decoder(model, with(settings));
        const std::vector<Ids> sources(3, Ids{2, 3, 4, 5, 6, 7, 8, 9, 10, 1});
        const Answers whole = decode(&decoder, sources);
        xf::DecodeRequest slow;
        slow.constraint = [](const xf::Prefix &, uint32_t *) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        };
        const xf::Options soon = options_of({{"decode.deadline_ms", "100"}});
        slow.options = &soon;
        const Batch batch(sources);
        const auto began = std::chrono::steady_clock::now();
        const std::vector<xf::SentenceOutcome> found = decoder.decode(batch.view(), slow);
        CHECK(std::chrono::steady_clock::now() - began < std::chrono::milliseconds(60 * 20));
        CHECK_EQ(found[0].status, XF_OK);
        const xf::Hypothesis &h = found[0].answers.at(0), &all = whole[0][0];
        CHECK(!h.complete && !h.finished && all.complete);
        CHECK(!h.ids.empty() && h.ids.size() < all.ids.size());
        CHECK(std::equal(h.ids.begin(), h.ids.end(), all.ids.begin()));
        CHECK(std::equal(h.token_log_probabilities.begin(), h.token_log_probabilities.end(),
                         all.token_log_probabilities.begin()));
        for (size_t s = 1; s < 3; ++s) {
            CHECK_EQ(found[s].status, XF_ERROR_DEADLINE);
            CHECK(found[s].answers.empty() && !found[s].message.empty());
        }
        // One that does not pass changes nothing.
        const xf::Options later = options_of({{"decode.deadline_ms", "1000000"}});
        xf::DecodeRequest request;
        request.options = &later;
        const Answers same_as_ever = decode(&decoder, sources, request);
        for (size_t s = 0; s < 3; ++s) CHECK(same(same_as_ever[s], whole[s]));
    });
}

// The search on the device is asked too, where there is one: its answers may be cut off after any look.
XF_TEST(a_deadline_that_has_passed_leaves_sound_answers) {
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        const auto model = make_reverser(context);
        xf::Decoder decoder(model, with({{"decode.max_extra_tokens", "60"}, {"decode.batch_sentences", "3"}}));
        const std::vector<Ids> sources = sentences(name.cuda() ? 12 : 200);
        const xf::Options now = options_of({{"decode.deadline_ms", "1"}});
        xf::DecodeRequest request;
        request.options = &now;
        const Batch batch(sources);
        size_t late = 0;
        for (const xf::SentenceOutcome &outcome : decoder.decode(batch.view(), request)) {
            late += outcome.status == XF_ERROR_DEADLINE ? 1 : 0;
            CHECK(outcome.status == XF_OK || outcome.status == XF_ERROR_DEADLINE);
            CHECK_EQ(outcome.answers.empty(), outcome.status != XF_OK);
            for (const xf::Hypothesis &h : outcome.answers)
                CHECK_EQ(h.token_log_probabilities.size(), h.ids.size() + (h.finished ? 1 : 0));
        }
        CHECK(late > 0);
    });
}

XF_TEST(a_decoder_goes_on_after_a_cancel) {
    if (has_run_on_cpu()) return;
    xf::Decoder decoder(make_reverser(any_device()), with({}));
    const std::vector<Ids> sources = sentences(20);
    const Answers expected = decode(&decoder, sources);
    xf::CancelSource context, own;
    const xf::Call call(context, &own, nullptr, nullptr);
    own.cancel();
    const Batch batch(sources);
    CHECK_FAILS(decoder.decode(batch.view(), {}, call), XF_ERROR_CANCELLED);
    const Answers after = decode(&decoder, sources);
    for (size_t s = 0; s < sources.size(); ++s) CHECK(same(after[s], expected[s]));
}

}  // namespace
