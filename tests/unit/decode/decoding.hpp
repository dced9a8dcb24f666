// A small model that has partly learned to reverse a sentence, so that hypotheses end at various lengths, and helpers
// that compare hypotheses bit by bit.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode/decoder.h"
#include "nn/fixture.hpp"
#include "train/trainer.h"

namespace xf_test {

inline const Settings kReverser = {
    {"model.encoder_layers", "2"}, {"model.decoder_layers", "2"}, {"model.d_model", "24"},
    {"model.d_ff", "40"},          {"model.heads", "2"},          {"model.d_k", "9"},
    {"model.d_v", "11"},           {"model.vocab_size", "13"},    {"model.max_length", "96"},
    {"train.dropout", "0"},        {"train.warmup_steps", "100"}, {"train.learning_rate", "0.4"},
};
constexpr int64_t kReverserIds = 13;

inline xf::Options with(const Settings &more) { return options_of(with(kReverser, more)); }

// The parameters after `steps` steps with `pairs` pairs each.
inline std::vector<float> train_reverser(const std::shared_ptr<xf::Context> &context, int steps, int64_t pairs) {
    xf::Trainer trainer(make_model(context, kReverser), options_of(kReverser));
    for (int i = 0; i < steps; ++i) {
        const Batch batch(
            reversal_pairs(static_cast<uint64_t>(100 + i), static_cast<size_t>(pairs), 1, 9, kReverserIds));
        const xf_batch view = batch.view();
        trainer.step(&view, 1);
    }
    std::vector<float> block(static_cast<size_t>(trainer.model()->table().total));
    xf::Stream stream(context->device());
    stream.download(block.data(), trainer.model()->params(), block.size() * sizeof(float));
    return block;
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
               x.token_log_probabilities == y.token_log_probabilities;
    });
}

}  // namespace xf_test
