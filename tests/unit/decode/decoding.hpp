// A small model that has partly learned to reverse a sentence, so that hypotheses end at various lengths, and helpers
// that compare hypotheses bit by bit.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode/decoder.h"
#include "text/words/tokenizer.h"
#include "train/training.hpp"

namespace xf_test {

inline const Settings kReverser =
    "model.encoder_layers=2 model.decoder_layers=2 model.d_model=24 model.d_ff=40 model.heads=2 "
    "model.d_k=9 model.d_v=11 model.vocab_size=13 model.max_length=96 train.dropout=0 "
    "train.warmup_steps=100 train.learning_rate=0.4"_set;
constexpr int64_t kReverserIds = 13;

inline xf::Options with(const Settings &more) { return options_of(with(kReverser, more)); }

// The parameters after `steps` steps with `pairs` pairs each.
inline std::vector<float> train_reverser(const std::shared_ptr<xf::Context> &context, int steps, size_t pairs) {
    const auto trainer = make_trainer(context, kReverser);
    for (int i = 0; i < steps; ++i)
        step(trainer.get(), {Batch(reversal_pairs(static_cast<uint64_t>(100 + i), pairs, 1, 9, kReverserIds))});
    return params_of(*trainer);
}

// Trained once, on the best device; all devices use the same parameters.
inline const std::vector<float> &reverser_params() {
    static const std::vector<float> params = train_reverser(any_device(), 250, XF_TEST_SANITIZED ? 8 : 32);
    return params;
}

inline std::shared_ptr<const xf::Model> make_reverser(const std::shared_ptr<xf::Context> &context) {
    const auto model = make_model(context, kReverser);
    xf::Stream stream(context->device());
    stream.upload(model->params(), reverser_params().data(), reverser_params().size() * sizeof(float));
    model->parameters_written(stream);
    stream.sync();
    return model;
}

// Makes the end symbol impossible: its output row is the opposite of the bias of the last norm.
inline void forbid_end(const std::shared_ptr<xf::Model> &model) {
    const xf::ModelConfig &c = model->config();
    const std::vector<float> row(static_cast<size_t>(c.D), -4.0f), bias(static_cast<size_t>(c.D), 4.0f);
    xf::Stream stream(model->context().device());
    stream.upload(model->params() + model->table().decoder.embedding + kEndToken * c.D, row.data(),
                  row.size() * sizeof(float));
    stream.upload(model->params() + model->table().decoder.layers.back().ff.norm.bias, bias.data(),
                  bias.size() * sizeof(float));
    model->parameters_written(stream);
    stream.sync();
}

using Answers = std::vector<std::vector<xf::Hypothesis>>;

// Returns the hypotheses of all sentences. Throws the error of the first sentence that has one.
inline Answers decode(xf::Decoder *decoder, const std::vector<Ids> &sources, const xf::DecodeRequest &request = {}) {
    const Batch batch(sources);
    Answers answers;
    for (xf::SentenceOutcome &outcome : decoder->decode(batch.view(), request)) {
        if (outcome.status != XF_OK) throw xf::Error(outcome.status, outcome.message);
        answers.push_back(std::move(outcome.hypotheses));
    }
    return answers;
}

inline std::vector<double> score(xf::Decoder *decoder, const Pairs &pairs) {
    const Batch batch(pairs);
    std::vector<double> scores(pairs.size());
    decoder->score(batch.view(), scores.data());
    return scores;
}

// Whether all values are bit-identical.
inline bool same(const std::vector<xf::Hypothesis> &a, const std::vector<xf::Hypothesis> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const xf::Hypothesis &x, const xf::Hypothesis &y) {
        return x.ids == y.ids && x.score == y.score && x.log_probability == y.log_probability &&
               x.finished == y.finished && x.complete == y.complete &&
               x.token_log_probabilities == y.token_log_probabilities && x.alignment == y.alignment;
    });
}

inline const xf::Constraint kOddOnly = [](std::span<const xf::Partial> partials) {
    for (const xf::Partial &partial : partials) partial.allowed[0] &= 0xAAAAAAAAu;
};
inline const xf::Constraint kNoRepeat = [](std::span<const xf::Partial> partials) {
    for (const xf::Partial &partial : partials)
        if (!partial.ids.empty()) partial.allowed[0] &= ~(1u << partial.ids.back());
};

// Allows what the library has forbidden, which has no effect.
inline const xf::Constraint kAll = [](std::span<const xf::Partial> partials) {
    for (const xf::Partial &partial : partials) {
        CHECK_EQ(partial.allowed[0] | ~((1u << kReverserIds) - 1), ~0u);
        partial.allowed[0] = ~0u;
    }
};

// One sentence and its options, and the result of a decoder that decodes only this sentence.
struct Request {
    Ids source, prefix;
    xf::BeamOptions beam;
    int64_t min_tokens, extra;
    const xf::Constraint *constraint;
    Settings more{};

    xf::Options options() const {
        return options_of(with({{"decode.beam", std::to_string(beam.beam)},
                                {"decode.n_best", std::to_string(beam.n_best)},
                                {"decode.alpha", xf::number(beam.alpha)},
                                {"decode.min_tokens", std::to_string(min_tokens)},
                                {"decode.max_extra_tokens", std::to_string(extra)}},
                               more));
    }
    std::vector<xf::Hypothesis> alone(const std::shared_ptr<const xf::Model> &model) const {
        xf::Decoder decoder(model, options());
        xf::DecodeRequest request;
        const int64_t offsets[] = {0, std::ssize(prefix)};
        if (!prefix.empty()) request.prefix_ids = prefix.data(), request.prefix_offsets = offsets;
        if (constraint != nullptr) request.constraint = *constraint;
        return decode(&decoder, {source}, request)[0];
    }
};

// Requests with all kinds of options. on_host: also with sampling, alternatives, limits of repetitions, and alignment.
inline std::vector<Request> random_requests(uint64_t seed, int count, bool on_host = false) {
    Draw draw(seed);
    std::vector<Request> requests;
    for (int i = 0; i < count; ++i) {
        Request r;
        r.source = sentence(&draw, 1, 12, kReverserIds);
        const int64_t beam = draw.between(1, 8);
        r.beam = {beam, draw.between(1, beam), static_cast<double>(draw.between(0, 3)) / 2};
        r.min_tokens = i % 3 == 0 ? draw.between(1, 6) : 0;
        r.extra = draw.between(3, 30);
        if (i % 4 == 1)
            for (int64_t n = draw.between(1, 3); n > 0; --n)
                r.prefix.push_back(static_cast<int32_t>(draw.between(2, kReverserIds - 1)));
        r.constraint = i % 5 == 0 ? &kOddOnly : i % 5 == 3 ? &kNoRepeat : i % 5 == 4 ? &kAll : nullptr;
        if (!on_host) {
            requests.push_back(std::move(r));
            continue;
        }
        if (i % 3 == 1) r.more["decode.alignment"] = "true";
        if (i % 7 == 2 || i % 7 == 4) r.beam.beam = 1, r.beam.n_best = draw.between(1, 5);
        if (i % 7 == 2) r.more["decode.temperature"] = xf::number(static_cast<double>(draw.between(1, 20)) / 10);
        if (i % 14 == 2) r.more["decode.top_k"] = std::to_string(draw.between(1, 8));
        if (i % 21 == 2) r.more["decode.top_p"] = "0.8";
        if (i % 7 == 4) r.more["decode.alternatives"] = "true";
        if (i % 8 == 5) r.more["decode.repetition_penalty"] = "1.7";
        if (i % 9 == 7) r.more["decode.no_repeat_ngram"] = std::to_string(draw.between(1, 3));
        requests.push_back(std::move(r));
    }
    return requests;
}

// Host memory that fails allocation number `failing` of those that follow.
struct FailingMemory : HostMemory {
    FailingMemory() : HostMemory([this](size_t) { return count++ != failing; }) {}
    std::atomic<int64_t> failing{-1}, count{0};
};

inline bool same(const Answers &a, const Answers &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto &x, const auto &y) { return same(x, y); });
}

// Each sentence decoded in a separate call.
inline Answers decode_alone(xf::Decoder *decoder, const std::vector<Ids> &sources,
                            const xf::DecodeRequest &request = {}) {
    Answers answers;
    for (const Ids &source : sources) answers.push_back(decode(decoder, {source}, request)[0]);
    return answers;
}

inline std::vector<float> attention_of(xf::Decoder *decoder, const Batch &pair, xf::AttentionKind which,
                                       int64_t layer) {
    const auto kind = static_cast<int32_t>(which);
    std::vector<float> weights(static_cast<size_t>(decoder->attention_shape(pair.view(), kind, layer).count()), NAN);
    decoder->attention(pair.view(), kind, layer, weights.data());
    return weights;
}

// A tokenizer of bytes.
inline std::shared_ptr<const xf::Tokenizer> byte_tokenizer() {
    xf::TokenizerOptions options;
    options.vocab_size = 258;
    bool given = false;
    return xf::WordTokenizer::train(options, [&](std::string_view *line) {
        *line = "some text";
        return !std::exchange(given, true);
    });
}

}  // namespace xf_test
