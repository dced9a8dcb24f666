// Decoding and scoring of many sentences: groups them by length, runs the network, searches.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "decode/beam.h"
#include "decode/device_search.h"
#include "decode/step.h"
#include "nn/transformer.h"
#include "xformer/data.h"

namespace xf {

struct DecodeConfig {
    BeamOptions beam;
    int64_t max_extra_tokens, batch_sentences, max_source_tokens;
    float label_smoothing;  // of evaluate()
    bool smooth_uniform;

    static DecodeConfig from(const Options &options, const ModelConfig &model);
};

struct EvalStats {
    int64_t sentences = 0, tgt_tokens = 0;
    double loss_sum = 0, nll_sum = 0;
};

class Decoder {
public:
    Decoder(std::shared_ptr<const Model> model, const Options &options);

    const Model &model() const { return *model_; }

    const DecodeConfig &config() const { return config_; }

    // Answers in the order of the batch's sources; targets are not looked at.
    std::vector<std::vector<Hypothesis>> decode(const xf_batch &batch);

    // Log-probability of each target given its source.
    void score(const xf_batch &batch, double *log_probabilities);

    // Adds a batch to the stats.
    void evaluate(const xf_batch &batch, EvalStats *stats);

private:
    void check_sources(const xf_batch &batch) const;
    void decode_group(const xf_batch &batch, const std::vector<int64_t> &group,
                      std::vector<std::vector<Hypothesis>> *answers);
    // Calls use(b, losses, nlls, count) for each sentence; loss and nll of its target tokens.
    template <class Use>
    void forced(const xf_batch &batch, float smoothing, Use use);

    std::shared_ptr<const Model> model_;
    DecodeConfig config_;
    Stream stream_;
    Transformer network_;
    DecoderStep step_;
    DeviceSearch search_;  // where the device has one
    PackedBatch packed_;
};

}  // namespace xf
