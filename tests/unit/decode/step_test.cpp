// Decoding steps over the cache compute the same as one pass over the whole target, for every kind of layer: with
// hypotheses that change parents at each step, sentences that end early, and more steps than the initial cache (32).
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/decoder_step.h"

#include "decode/decoding.hpp"

namespace {

using namespace xf_test;

constexpr int64_t kBeam = 3, kV = 19;

struct Hypothesis {
    Ids tokens, slots;             // slots: of its ancestors, one per step
    std::vector<float> log_probs;  // of its tokens
};

// Random walks through the decoder: sentence s runs for steps[s] steps.
class Walk {
public:
    Walk(Net *net, const std::vector<Ids> &sources, std::vector<int64_t> steps)
        : network_(*net->model, net->stream),
          step_(*net->model, net->stream),
          steps_(std::move(steps)),
          live_(sources.size()) {
        const Batch batch(sources);
        packed_.load(net->stream, net->model->config(), batch.view(), xf::PackedBatch::Sides::kSource, false);
        network_.prepare(packed_, xf::Transformer::Mode::kInfer, false);
        const xf::Call call;
        xf::Pass pass{*net->model, net->stream, call};
        pass.invariant = true;
        const xf::Num memory = network_.encode(pass, packed_);
        const auto sentences = static_cast<int64_t>(sources.size());
        step_.begin(packed_.src, sentences, memory, sentences * kBeam, *std::max_element(steps_.begin(), steps_.end()),
                    call_);
        for (auto &live : live_) live.resize(1);
    }

    std::vector<std::vector<Hypothesis>> run() {
        Draw draw(41);
        for (int64_t t = 0;; ++t) {
            const xf::DecoderStep::Rows rows = collect(t);
            if (rows.tokens.empty()) return live_;
            const auto k = static_cast<size_t>(kV - 1);
            std::vector<float> values(rows.tokens.size() * k);
            std::vector<int32_t> ids(values.size());
            step_.run(rows, kV - 1, values.data(), ids.data());
            for (size_t i = 0; i < rows.source.size(); ++i) {
                const auto s = static_cast<size_t>(rows.source[i]);
                std::vector<Hypothesis> next;
                for (int64_t j = 0; j < kBeam; ++j) {
                    const auto parent = static_cast<size_t>(draw.bits() % live_[s].size());
                    Hypothesis child = live_[s][parent];
                    child.slots.push_back(static_cast<int32_t>(s * kBeam + parent));
                    const size_t at = (static_cast<size_t>(rows.sentence_begin[i]) + parent) * k + draw.bits() % k;
                    child.tokens.push_back(ids[at]);
                    child.log_probs.push_back(values[at]);
                    next.push_back(std::move(child));
                }
                live_[s] = std::move(next);
            }
        }
    }

private:
    xf::DecoderStep::Rows collect(int64_t t) {
        xf::DecoderStep::Rows rows;
        rows.t = rows.ld_ancestors = t;
        lines_.assign(static_cast<size_t>(step_.slots() * t), -1);
        rows.ancestors = lines_.data();
        for (size_t s = 0; s < live_.size(); ++s) {
            if (t >= steps_[s]) continue;
            rows.source.push_back(static_cast<int32_t>(s));
            rows.sentence_begin.push_back(static_cast<int32_t>(rows.tokens.size()));
            rows.sentence_length.push_back(static_cast<int32_t>(live_[s].size()));
            for (size_t j = 0; j < live_[s].size(); ++j) {
                const Hypothesis &h = live_[s][j];
                rows.tokens.push_back(h.tokens.empty() ? kStartToken : h.tokens.back());
                rows.slot_of_row.push_back(static_cast<int32_t>(s * kBeam + j));
                std::copy(h.slots.begin(), h.slots.end(), lines_.begin() + rows.slot_of_row.back() * t);
            }
        }
        return rows;
    }

    xf::Call call_;
    xf::Transformer network_;
    xf::DecoderStep step_;
    xf::PackedBatch packed_;
    std::vector<int64_t> steps_;
    std::vector<std::vector<Hypothesis>> live_;
    std::vector<int32_t> lines_;
};

XF_TEST(steps_equal_one_pass_over_the_target) {
    const std::vector<Ids> sources = random_pairs(42, 5, 12, kV).src;
    const std::vector<int64_t> steps = {80, 33, 1, 64, 5};
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        for (const Variant &variant : kVariants) {
            Net net(context, variant.settings());
            const auto found = Walk(&net, sources, steps).run();
            Pairs pairs;
            std::vector<const Hypothesis *> paths;
            for (size_t s = 0; s < sources.size(); ++s) {
                for (const Hypothesis &h : found[s]) {
                    CHECK_EQ(static_cast<int64_t>(h.tokens.size()), steps[s]);
                    pairs.src.push_back(sources[s]);
                    pairs.tgt.push_back(h.tokens);
                    paths.push_back(&h);
                }
            }
            const auto whole = net.nlls(pairs);
            double worst = 0;
            for (size_t i = 0; i < paths.size(); ++i)
                for (size_t t = 0; t < whole[i].size(); ++t)
                    worst = std::max(worst, std::fabs(double{whole[i][t]} + paths[i]->log_probs[t]));
            if (!(worst <= 2e-5))
                record(__FILE__, __LINE__,
                       xf::format("%s %s: off by %s", name.text().c_str(), variant.name, xf::number(worst).c_str()));
        }
    });
}

// A second group in the same cache, smaller or larger, does not depend on the first.
XF_TEST(a_decoder_keeps_no_state_between_calls) {
    if (has_run_on_cpu()) return;
    const auto context = any_device();
    for (const Variant &variant : kVariants) {
        const auto model = make_model(context, variant.settings());
        const xf::Options options = options_of({{"decode.max_extra_tokens", "60"}, {"decode.n_best", "4"}});
        xf::Decoder used(model, options);
        for (const size_t count : {3, 9, 1, 20, 2}) {
            const std::vector<Ids> sources = random_pairs(count, count, 14, kV).src;
            xf::Decoder fresh(model, options);
            const Answers expected = decode(&fresh, sources), found = decode(&used, sources);
            for (size_t i = 0; i < count; ++i) CHECK(same(expected[i], found[i]));
        }
    }
}

// The end symbol is impossible, so every hypothesis reaches its limit: the length of the source plus an option, and at
// most model.max_length.
XF_TEST(hypotheses_end_at_the_limit_of_their_sentence) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        const auto model = make_model(context, kVariants[0].settings());
        forbid_end(model);
        xf::Decoder decoder(model, options_of({{"decode.beam", "2"}, {"decode.max_extra_tokens", "70"}}));
        Pairs pairs;
        for (const size_t length : {1, 4, 26, 40, 96})
            pairs.src.push_back(Ids(length, 5)), pairs.src.back().back() = kEndToken;
        const Answers answers = decode(&decoder, pairs.src);
        for (size_t i = 0; i < answers.size(); ++i) {
            CHECK_EQ(answers[i].size(), size_t{1});
            CHECK(!answers[i][0].finished);
            CHECK_EQ(answers[i][0].ids.size(), std::min<size_t>(pairs.src[i].size() + 70, 96));
            pairs.tgt.push_back(answers[i][0].ids);
        }
        const std::vector<double> scores = score(&decoder, pairs);
        for (size_t i = 0; i < scores.size(); ++i)
            CHECK_NEAR(scores[i], answers[i][0].log_probability, 1e-6 * std::fabs(scores[i]));
    });
}

}  // namespace
