// The arguments of one call: prefixes, minimum length, deadline, and options; errors of single sentences; and the
// log-probability of each token.
//
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "decoding.hpp"

namespace {

using namespace xf_test;

std::vector<Ids> sentences(size_t count) { return random_pairs(15, count, 14, kReverserIds).src; }

size_t count_for(const DeviceName &device) { return device.cuda() ? 10 : 40; }

// One prefix per sentence, in the form of a request.
struct Prefixes {
    Ids ids;
    std::vector<int64_t> offsets{0};
    explicit Prefixes(const std::vector<Ids> &all) {
        for (const Ids &one : all) {
            ids.insert(ids.end(), one.begin(), one.end());
            offsets.push_back(std::ssize(ids));
        }
        ids.reserve(1);  // data() must not be null
    }
    xf::DecodeRequest request() const {
        xf::DecodeRequest request;
        request.prefix_ids = ids.data();
        request.prefix_offsets = offsets.data();
        return request;
    }
};

// A constraint that forces the same prefixes.
xf::Constraint forcing(const std::vector<Ids> &prefixes) {
    return [&prefixes](std::span<const xf::Partial> partials) {
        for (const xf::Partial &partial : partials) {
            const Ids &wanted = prefixes[static_cast<size_t>(partial.sentence)];
            if (partial.ids.size() < wanted.size()) partial.allowed[0] = 1u << wanted[partial.ids.size()];
        }
    };
}

// A call with a deadline, as of xf_decode().
struct Deadline {
    explicit Deadline(int64_t ms) : params{sizeof params, nullptr, ms, nullptr, nullptr} {}

    xf_call params;
    xf::CancelSource source;
    const xf::Call call{source, params, xf::Call::Deadline::kPartial};
};

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
                // Scoring the first half gives the log-probabilities of the first half.
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

XF_TEST(hypotheses_begin_with_their_prefixes) {
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
            CHECK(same(found[1], free[1]));  // prefixes of other sentences do not matter
        }
    });
}

// Greedy search with the beginning of its own result as prefix.
XF_TEST(a_prefix_of_the_result_changes_no_bit) {
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        xf::Decoder decoder(make_reverser(context), with({{"decode.beam", "1"}}));
        const std::vector<Ids> sources = sentences(count_for(name));
        const Answers whole = decode(&decoder, sources);
        std::vector<Ids> prefixes;
        for (const auto &answer : whole)
            prefixes.emplace_back(answer[0].ids.begin(),
                                  answer[0].ids.begin() + static_cast<std::ptrdiff_t>(answer[0].ids.size() / 2));
        const Prefixes given(prefixes);
        CHECK(same(decode(&decoder, sources, given.request()), whole));
    });
}

XF_TEST(a_hypothesis_has_its_minimum_length) {
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        const auto model = make_reverser(context);
        const std::vector<Ids> sources = sentences(count_for(name));
        xf::Decoder decoder(model, with({{"decode.n_best", "2"}})),
            patient(model, with({{"decode.n_best", "2"}, {"decode.min_tokens", "9"}})),
            all(model, with({{"decode.min_tokens", "1000"}, {"decode.max_extra_tokens", "2"}}));
        xf::DecodeRequest forced;
        forced.constraint = [](std::span<const xf::Partial> partials) {
            for (const xf::Partial &partial : partials)
                if (partial.ids.size() < 9) partial.allowed[0] &= ~(1u << kEndToken);
        };
        const Answers found = decode(&patient, sources), expected = decode(&decoder, sources, forced);
        const Answers longest = decode(&all, sources);
        for (size_t s = 0; s < sources.size(); ++s) {
            CHECK(same(found[s], expected[s]));
            for (const xf::Hypothesis &h : found[s]) CHECK(h.ids.size() >= 9);
            CHECK_EQ(longest[s][0].ids.size(), sources[s].size() + 2);  // the limit takes precedence
            CHECK(!longest[s][0].finished && longest[s][0].complete);
        }
    });
}

XF_TEST(options_of_a_call_replace_those_of_the_decoder) {
    if (has_run_on_cpu()) return;
    const auto model = make_reverser(any_device());
    const std::vector<Ids> sources = sentences(20);
    xf::Decoder wide(model, with({{"decode.n_best", "3"}, {"decode.alpha", "1"}})),
        small(model, with({{"decode.n_best", "1"}, {"decode.alpha", "1"}, {"decode.beam", "2"}}));
    const Answers before = decode(&wide, sources), expected = decode(&small, sources);
    // Options that the call does not set remain: the length penalty.
    const xf::Options options = options_of({{"decode.beam", "2"}, {"decode.n_best", "1"}});
    xf::DecodeRequest request;
    request.options = &options;
    CHECK(same(decode(&wide, sources, request), expected));
    CHECK(same(decode(&wide, sources), before));
    for (const auto &hypotheses : before) CHECK_EQ(hypotheses.size(), size_t{3});
    const xf::Options wrong = options_of({{"decode.beam", "2"}});  // the decoder's n_best is 3
    request.options = &wrong;
    CHECK_FAILS(decode(&wide, sources, request), XF_ERROR_INVALID_ARGUMENT);
}

XF_TEST(an_invalid_sentence_does_not_fail_the_call) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        xf::Decoder decoder(make_reverser(context), with({}));
        Ids too_long(96, 2);
        too_long.push_back(1);
        const std::vector<Ids> sources = {{2, 3, 1}, {2, 13, 1}, too_long, {}, {9, 8, 7, 1}, {-1, 1}};
        const Batch batch(sources);
        const std::vector<xf::SentenceOutcome> found = decoder.decode(batch.view());
        const xf_status expected[] = {XF_OK, XF_ERROR_OUT_OF_RANGE, XF_ERROR_OUT_OF_RANGE, XF_ERROR_INVALID_ARGUMENT,
                                      XF_OK, XF_ERROR_OUT_OF_RANGE};
        for (size_t s = 0; s < sources.size(); ++s) {
            CHECK_EQ(found[s].status, expected[s]);
            CHECK_EQ(found[s].message.empty(), expected[s] == XF_OK);
            CHECK_EQ(found[s].hypotheses.empty(), expected[s] != XF_OK);
            if (expected[s] == XF_OK) CHECK(same(found[s].hypotheses, decode(&decoder, {sources[s]})[0]));
        }
        CHECK_EQ(found[2].message, std::string("the source has 97 tokens; the maximum is 96 (model.max_length)"));
    });
}

XF_TEST(an_invalid_prefix_fails_its_sentence) {
    xf::Decoder decoder(make_reverser(any_device()), with({{"decode.max_extra_tokens", "1"}}));
    const std::vector<Ids> sources(5, Ids{2, 3, 1});
    const Prefixes given({{5}, {kStartToken}, {5, kEndToken}, {5, 13}, {5, 6, 7, 8, 9}});
    const Batch batch(sources);
    const std::vector<xf::SentenceOutcome> found = decoder.decode(batch.view(), given.request());
    CHECK_EQ(found[0].status, XF_OK);
    for (size_t s = 1; s < 5; ++s) CHECK_EQ(found[s].status, XF_ERROR_OUT_OF_RANGE);
    // A prefix of the maximum length is valid: the hypothesis is the prefix, unfinished.
    const Prefixes whole(std::vector<Ids>(5, Ids{5, 6, 7, 8}));
    const Answers cut = decode(&decoder, sources, whole.request());
    CHECK((cut[0][0].ids == Ids{5, 6, 7, 8}));
    CHECK(!cut[0][0].finished && cut[0][0].complete);
}

// The third step ends after the deadline, so the first sentence is cut off and the others are not started.
XF_TEST(a_deadline_ends_the_search_with_the_best_so_far) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        const auto model = make_reverser(context);
        const Settings settings = {{"decode.beam", "1"}, {"decode.batch_sentences", "1"}, {"decode.min_tokens", "60"}};
        xf::Decoder decoder(model, with(settings));
        const std::vector<Ids> sources(3, Ids{2, 3, 4, 5, 6, 7, 8, 9, 10, 1});
        const Answers whole = decode(&decoder, sources);
        xf::DecodeRequest slow;
        int steps = 0;
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2100);
        slow.constraint = [&](std::span<const xf::Partial>) {
            if (++steps == 3) std::this_thread::sleep_until(end);
        };
        const Batch batch(sources);
        const std::vector<xf::SentenceOutcome> found = decoder.decode(batch.view(), slow, Deadline(2000).call);
        CHECK(steps < 60);
        CHECK_EQ(found[0].status, XF_OK);
        const xf::Hypothesis &h = found[0].hypotheses.at(0), &all = whole[0][0];
        CHECK(!h.complete && !h.finished && all.complete);
        CHECK(!h.ids.empty() && h.ids.size() < all.ids.size());
        CHECK(std::equal(h.ids.begin(), h.ids.end(), all.ids.begin()));
        CHECK(std::equal(h.token_log_probabilities.begin(), h.token_log_probabilities.end(),
                         all.token_log_probabilities.begin()));
        for (size_t s = 1; s < 3; ++s) {
            CHECK_EQ(found[s].status, XF_ERROR_DEADLINE);
            CHECK(found[s].hypotheses.empty() && !found[s].message.empty());
        }
        // A deadline that is not reached changes nothing.
        const std::vector<xf::SentenceOutcome> in_time = decoder.decode(batch.view(), {}, Deadline(1000000).call);
        for (size_t s = 0; s < 3; ++s) CHECK(same(in_time[s].hypotheses, whole[s]));
    });
}

// Covers the device search too, which may be cut off after any read.
XF_TEST(a_passed_deadline_leaves_valid_hypotheses) {
    on_each_device(2, [](const auto &context, const DeviceName &name) {
        const auto model = make_reverser(context);
        xf::Decoder decoder(model, with({{"decode.max_extra_tokens", "60"}, {"decode.batch_sentences", "3"}}));
        const std::vector<Ids> sources = sentences(name.cuda() ? 12 : 200);
        const Batch batch(sources);
        size_t late = 0;
        for (const xf::SentenceOutcome &outcome : decoder.decode(batch.view(), {}, Deadline(1).call)) {
            late += outcome.status == XF_ERROR_DEADLINE ? 1 : 0;
            CHECK(outcome.status == XF_OK || outcome.status == XF_ERROR_DEADLINE);
            CHECK_EQ(outcome.hypotheses.empty(), outcome.status != XF_OK);
            for (const xf::Hypothesis &h : outcome.hypotheses)
                CHECK_EQ(h.token_log_probabilities.size(), h.ids.size() + (h.finished ? 1 : 0));
        }
        CHECK(late > 0);
    });
}

// The longest sentence is decoded alone. The two others begin after it, and need more memory for the layers of the
// encoder. They get it after the deadline.
XF_TEST(a_deadline_in_the_encoder_fails_the_sentences_that_begin) {
    const Settings settings = with(kTinyModel, {{"model.max_length", "300"}});
    const std::vector<Ids> sources = {Ids(250, kEndToken), Ids(300, kEndToken), {2, 99, 1}, Ids(240, kEndToken)};
    const Settings search =
        "decode.beam=1 decode.batch_sentences=2 decode.max_extra_tokens=0 decode.min_tokens=300"_set;
    on_each_device(2, [&](const auto &, const DeviceName &name) {
        // The memory of a GPU is not that of the host, and with bf16 other blocks are larger than the encoder needs.
        if (name.cuda() || name.bf16()) return;
        std::atomic<size_t> largest{0};
        std::atomic<int64_t> milliseconds{0};
        std::atomic<bool> slept{false};
        // Sleeps once when the library asks for a larger block than ever before.
        HostMemory memory([&](size_t size) {
            if (size <= largest) return true;
            largest = size;
            const int64_t delay = milliseconds.exchange(0);
            std::this_thread::sleep_for(std::chrono::milliseconds(delay));
            if (delay > 0) slept = true;
            return true;
        });
        const xf_host host = memory.host();
        const auto context = open_device(name, 2, &host);
        const auto model = make_model(context, settings);
        xf::Decoder decoder(model, options_of(search)), fresh(model, options_of(search));
        xf::DecodeRequest request;
        request.constraint = [&](std::span<const xf::Partial> partials) {
            if (partials[0].sentence == 1 && partials[0].remaining == 1) milliseconds = 400;
        };
        const Batch batch(sources);
        const std::vector<xf::SentenceOutcome> found = decoder.decode(batch.view(), request, Deadline(400).call);
        CHECK_EQ(found[1].status, XF_OK);
        if (found[1].hypotheses.at(0).complete) CHECK(slept);  // a slow machine does not complete it
        CHECK_EQ(found[2].status, XF_ERROR_OUT_OF_RANGE);
        for (const size_t s : {0, 3}) {
            CHECK_EQ(found[s].status, XF_ERROR_DEADLINE);
            CHECK(found[s].hypotheses.empty() && !found[s].message.empty());
        }
        // The decoder remains usable.
        const std::vector<Ids> group = {sources[0], sources[3]};
        CHECK(same(decode(&decoder, group), decode(&fresh, group)));
    });
}

XF_TEST(a_hypothesis_does_not_repeat_ngrams) {
    on_each_device(1, [&](const auto &context, const DeviceName &) {
        const auto model = make_reverser(context);
        const Ids source{4, 4, 4, 4, 4, 4, kEndToken};
        const auto search = [&](const char *n, const xf::Constraint &constraint) {
            xf::Decoder decoder(model, with({{"decode.no_repeat_ngram", n}, {"decode.min_tokens", "6"}}));
            xf::DecodeRequest request;
            request.constraint = constraint;
            return decode(&decoder, {source}, request)[0].at(0).ids;
        };
        const auto repeats = [](const Ids &ids) {
            return ids.size() > std::set<int32_t>(ids.begin(), ids.end()).size();
        };
        CHECK(repeats(search("0", {})));
        CHECK(!repeats(search("1", {})));
        CHECK(!repeats(search("1", kAll)));
        CHECK(repeats(search("2", {})));
    });
}

}  // namespace
