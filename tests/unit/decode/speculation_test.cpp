// A draft changes no bit of any result, whatever it proposes; and its cost is limited if its proposals are wrong.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/speculation.h"

#include "decode/decoding.hpp"

namespace {

using namespace xf_test;

constexpr int64_t kV = 19;
// Everything costs nothing, so the draft always proposes.
const xf::DraftPolicy kEager(0, 0, 0);

const Settings kGreedy = "decode.beam=1 decode.max_extra_tokens=20"_set;

xf::Options greedy(const Settings &more = {}) { return options_of(with(kGreedy, more)); }

struct Counts {
    int64_t proposed, accepted;
};

// Decodes with and without the draft and compares all bits. Returns how many tokens the draft proposed.
Counts compare(const std::shared_ptr<const xf::Model> &model, const std::shared_ptr<const xf::Model> &draft,
               const std::vector<Ids> &sources, const xf::Options &options, const xf::DecodeRequest &request = {}) {
    xf::Decoder plain(model, options), drafted(xf::DecodeModels{model, {}, draft, &kEager}, options);
    CHECK(same(decode(&plain, sources, request), decode(&drafted, sources, request)));
    return {drafted.speculation()->proposed(), drafted.speculation()->accepted()};
}

XF_TEST(a_draft_changes_no_bit) {
    const std::vector<Ids> sources = random_pairs(61, 9, 12, kV).src;
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        if (name.cuda()) return;  // slow if emulated
        for (const Variant &variant : kVariants) {
            const Settings settings = variant.settings();
            const auto model = make_model(context, settings);
            const auto small = make_model(
                context,
                with(settings, "model.decoder_layers=1 model.encoder_layers=1 model.d_model=8 model.d_ff=9"_set));
            for (const char *const tokens : {"1", "2", "5", "64"}) {
                const xf::Options options = greedy({{"decode.draft_tokens", tokens}});
                const Counts itself = compare(model, model, sources, options);
                CHECK(itself.proposed > 0);
                CHECK_EQ(itself.proposed, itself.accepted);
                CHECK(compare(model, small, sources, options).proposed > 0);
            }
        }
    });
}

// Sentences end by themselves, begin later, and have prefixes and minimum lengths.
XF_TEST(a_draft_changes_no_bit_of_a_trained_model) {
    const std::vector<Ids> sources = reversal_pairs(62, 20, 1, 12, kReverserIds).src;
    std::vector<int32_t> prefix_ids;
    std::vector<int64_t> prefix_offsets = {0};
    Draw draw(63);
    for (size_t i = 0; i < sources.size(); ++i) {
        for (int64_t n = draw.between(0, 6) - 2; n > 0; --n)
            prefix_ids.push_back(static_cast<int32_t>(draw.between(2, kReverserIds - 1)));
        prefix_offsets.push_back(std::ssize(prefix_ids));
    }
    xf::DecodeRequest prefixes;
    prefixes.prefix_ids = prefix_ids.data();
    prefixes.prefix_offsets = prefix_offsets.data();
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        if (name.cuda() && name.bf16()) return;  // slow if emulated
        const auto model = make_reverser(context);
        const auto other = make_model(context, with(kReverser, "model.decoder_layers=1 model.d_model=8"_set));
        for (const auto &draft : {model, std::shared_ptr<const xf::Model>(other)})
            for (const Settings &more :
                 {""_set, "decode.min_tokens=9"_set, "decode.max_extra_tokens=2"_set, "decode.batch_sentences=3"_set,
                  "decode.draft_tokens=3 decode.min_tokens=4"_set}) {
                if (!name.cuda()) CHECK(compare(model, draft, sources, greedy(more)).accepted > 0);  // slow if emulated
                CHECK(compare(model, draft, sources, greedy(more), prefixes).accepted > 0);
            }
    });
}

XF_TEST(weights_and_sums_of_any_type_can_be_drafted) {
    const std::vector<Ids> sources = reversal_pairs(64, 10, 1, 12, kReverserIds).src;
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        if (name.cuda() || name.bf16()) return;  // all matrices have the type of the stream
        const auto model = make_reverser(context);
        for (const char *const weights : {"int8", "bf16", "fp16"}) {
            const std::shared_ptr<const xf::Model> copy = model->copy_to(context, weights, {});
            CHECK(compare(copy, model, sources, greedy()).accepted > 0);
            CHECK(compare(model, copy, sources, greedy()).accepted > 0);
        }
    });
}

// A constraint may depend on what it was called with before, so it sees each hypothesis once.
XF_TEST(only_greedy_search_without_a_constraint_uses_the_draft) {
    const std::vector<Ids> sources = reversal_pairs(65, 10, 1, 12, kReverserIds).src;
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        const auto model = make_reverser(context);
        xf::DecodeRequest constrained;
        constrained.constraint = kNoRepeat;
        CHECK_EQ(compare(model, model, sources, greedy(), constrained).proposed, int64_t{0});
        CHECK_EQ(compare(model, model, sources, greedy({{"decode.beam", "2"}})).proposed, int64_t{0});
        CHECK_EQ(compare(model, model, sources, greedy({{"decode.draft_tokens", "0"}})).proposed, int64_t{0});
    });
}

// A draft with shorter tables of positions: sources that exceed them are not drafted, and outputs only up to there.
XF_TEST(a_draft_may_have_a_shorter_maximum_length) {
    const std::vector<Ids> sources = random_pairs(66, 8, 30, kReverserIds).src;
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        const auto model = make_model(context, kReverser);
        forbid_end(model);
        const auto draft = make_model(context, with(kReverser, "model.max_length=12"_set));
        CHECK(compare(model, draft, sources, greedy({{"decode.max_extra_tokens", "60"}})).proposed > 0);
    });
}

XF_TEST(a_deadline_ends_a_search_with_the_beginning_of_its_result) {
    const std::vector<Ids> sources = {Ids(60, 5)};
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        const auto model = make_model(context, kReverser);
        forbid_end(model);
        xf::Decoder plain(model, greedy()), decoder(xf::DecodeModels{model, {}, model, &kEager}, greedy());
        std::vector<Ids> ended = sources;
        ended[0].back() = kEndToken;
        const std::vector<int32_t> whole = decode(&plain, ended)[0][0].ids;
        const xf::DecodeConfig config = decoder.config(nullptr);
        xf::SentenceOutcome outcome;
        const xf::DecodeTask task{0, &config, ended[0], {}, nullptr, &outcome};
        const xf::Call call;
        decoder.begin({&task, 1}, call);
        decoder.step(call);
        decoder.step(call);
        decoder.stop(nullptr);
        const xf::Hypothesis &h = outcome.hypotheses.at(0);
        CHECK(!h.complete);
        CHECK_EQ(h.ids.size(), size_t{18});  // two steps of 8 proposals and a token of the model
        CHECK(std::equal(h.ids.begin(), h.ids.end(), whole.begin()));
        CHECK_EQ(decode(&decoder, ended)[0][0].ids.size(), whole.size());  // nothing of it remains
    });
}

XF_TEST(a_draft_must_have_the_tokens_of_the_model) {
    on_each_device(1, [&](const auto &context, const DeviceName &) {
        const auto model = make_model(context, kReverser);
        const auto create = [&](const auto &draft) { xf::Decoder(xf::DecodeModels{model, {}, draft}, greedy()); };
        for (const Settings &other : {"model.vocab_size=14"_set, "model.source_vocab_size=14 model.tie=decoder"_set,
                                      "model.end_token=2"_set, "model.start_token=2"_set})
            CHECK_FAILS(create(make_model(context, with(kReverser, other))), XF_ERROR_INVALID_ARGUMENT);
        CHECK_FAILS(create(make_model(any_device(), kReverser)), XF_ERROR_INVALID_ARGUMENT);
        create(model);
    });
}

// Simulates a text of `steps` tokens whose tokens a draft knows with a given probability. Returns the speedup by the
// costs of the policy.
double speedup(xf::DraftPolicy *policy, int64_t n, double known, double draft_step) {
    Draw draw(67);
    double cost = 0, plain = 0;
    for (int64_t tokens = 0; tokens < 20000;) {
        const int64_t k = policy->tokens(n, 8);
        for (int64_t j = 0; j < k; ++j) {
            policy->add_draft_step(n);
            cost += draft_step * policy->cost(n);
        }
        int64_t accepted = 0;
        for (int64_t s = 0; s < n; ++s)
            for (int64_t j = 0; j < k; ++j) {
                const bool right = static_cast<double>(draw.between(0, 999)) < known * 1000;
                policy->add_trial(right);
                if (!right) break;
                ++accepted;
            }
        policy->add_step(n, n * k, accepted);
        cost += policy->cost(n + n * k);
        plain += policy->cost(n) * (1 + static_cast<double>(accepted) / static_cast<double>(n));
        tokens += n + accepted;
    }
    return plain / cost;
}

XF_TEST(a_useless_draft_costs_little_and_a_good_one_is_used) {
    for (const double draft_step : {0.05, 0.2, 0.5, 1.0})
        for (const int64_t n : {1, 2, 4, 32}) {
            for (const double known : {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0}) {
                xf::DraftPolicy policy(draft_step, 0);
                CHECK(speedup(&policy, n, known, draft_step) > 0.93);
            }
        }
    xf::DraftPolicy cheap(0.2, 0), used(0.2, 0);
    CHECK(speedup(&cheap, 1, 0.9, 0.2) > 1.7);
    // After a text that it does not know, the draft is tried again.
    CHECK(speedup(&used, 1, 0.0, 0.2) < 1.0);
    CHECK(speedup(&used, 1, 0.9, 0.2) > 1.6);
}

}  // namespace
