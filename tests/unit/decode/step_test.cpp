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
    Ids tokens, cells;             // cells: one more, for the next token
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
        network_.prepare(packed_, xf::PassKind::kInference, false);
        const xf::Call call;
        xf::Pass pass{*net->model, net->stream, call};
        pass.invariant = true;
        const xf::Num memory = network_.encode(pass, packed_);
        const int64_t row = step_.add_sources(packed_.src, memory, call_);
        for (size_t s = 0; s < live_.size(); ++s) {
            live_[s] = {Hypothesis{{}, {cell(0, s, 0)}, {}}};
            sources_.push_back(xf::DecoderStep::Source::of(packed_.src, static_cast<int64_t>(s), row));
        }
    }

    std::vector<std::vector<Hypothesis>> run() {
        Draw draw(41);
        for (int64_t t = 0;; ++t) {
            const xf::DecoderStep::Rows rows = collect(t);
            if (rows.tokens.empty()) return live_;
            const auto k = static_cast<size_t>(kV - 1);
            std::vector<float> values(rows.tokens.size() * k);
            std::vector<int32_t> ids(values.size());
            step_.reserve_cells((t + 1) * std::ssize(live_) * kBeam, true);
            step_.run(rows, kV - 1, values.data(), ids.data(), call_);
            for (size_t i = 0; i < walking_.size(); ++i) {
                const size_t s = walking_[i];
                std::vector<Hypothesis> next;
                for (int64_t j = 0; j < kBeam; ++j) {
                    const auto parent = static_cast<size_t>(draw.bits() % live_[s].size());
                    Hypothesis child = live_[s][parent];
                    child.cells.push_back(cell(t + 1, s, j));
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
    int32_t cell(int64_t t, size_t s, int64_t j) const {
        return static_cast<int32_t>((t * std::ssize(live_) + static_cast<int64_t>(s)) * kBeam + j);
    }
    xf::DecoderStep::Rows collect(int64_t t) {
        xf::DecoderStep::Rows rows;
        rows.ld_cells = t + 1;
        walking_.clear();
        for (size_t s = 0; s < live_.size(); ++s) {
            if (t >= steps_[s]) continue;
            walking_.push_back(s);
            rows.sources.push_back(sources_[s]);
            rows.sentence_begin.push_back(static_cast<int32_t>(rows.tokens.size()));
            rows.sentence_length.push_back(static_cast<int32_t>(live_[s].size()));
            for (const Hypothesis &h : live_[s]) {
                rows.tokens.push_back(h.tokens.empty() ? kStartToken : h.tokens.back());
                rows.steps.push_back(static_cast<int32_t>(t));
                rows.cells.insert(rows.cells.end(), h.cells.begin(), h.cells.end());
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
    std::vector<xf::DecoderStep::Source> sources_;
    std::vector<size_t> walking_;  // the sentences of the current step
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
            CHECK(same(decode(&used, sources), decode(&fresh, sources)));
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
