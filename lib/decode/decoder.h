// Decoding and scoring of many sentences: groups them by length, runs the network, searches.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "decode/attention_weights.h"
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

// Says which tokens may follow a hypothesis: clears the bits of others in allowed, a bit for each id, all set before.
struct Prefix {
    int64_t sentence;  // of the batch
    const std::vector<int32_t> &ids;
    int64_t remaining;  // tokens that may follow, the end symbol counted
};
using Constraint = std::function<void(const Prefix &prefix, uint32_t *allowed)>;

struct EvalStats {
    int64_t sentences = 0, tgt_tokens = 0;
    double loss_sum = 0, nll_sum = 0;
};

class Decoder {
public:
    Decoder(std::shared_ptr<const Model> model, const Options &options);

    const Model &model() const { return *model_; }

    const DecodeConfig &config() const { return config_; }

    // Answers in the order of the batch's sources; targets are not looked at. constraint: none when empty.
    std::vector<std::vector<Hypothesis>> decode(const xf_batch &batch, const Constraint &constraint,
                                                const Call &call = {});

    // Log-probability of each target given its source.
    void score(const xf_batch &batch, double *log_probabilities, const Call &call = {});

    // Adds a batch to the stats.
    void evaluate(const xf_batch &batch, EvalStats *stats, const Call &call = {});

    // Attention over the one pair of a batch (paper eq. 1): its shape, and the weights, as many as it counts. After an
    // error they are as they were.
    AttentionShape attention_shape(const xf_batch &pair, AttentionKind kind) const;
    void attention(const xf_batch &pair, AttentionKind kind, int64_t layer, float *weights, const Call &call = {});

private:
    void check_sources(const xf_batch &batch) const;
    void decode_group(const xf_batch &batch, const std::vector<int64_t> &group, const Constraint &constraint,
                      const Call &call, std::vector<std::vector<Hypothesis>> *answers);
    void constrain(const Constraint &constraint, const std::vector<int64_t> &group,
                   const std::vector<BeamSearch> &searches, const std::vector<int32_t> &active,
                   std::vector<uint32_t> *allowed) const;
    // Calls use(b, losses, nlls, count) for each sentence; loss and nll of its target tokens.
    template <class Use>
    void forced(const xf_batch &batch, float smoothing, const Call &call, Use use);

    std::shared_ptr<const Model> model_;
    DecodeConfig config_;
    Stream stream_;
    Transformer network_;
    DecoderStep step_;
    DeviceSearch search_;  // where the device has one
    PackedBatch packed_;
};

}  // namespace xf
