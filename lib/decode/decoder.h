// Decoding and scoring of many sentences: groups them by length, runs the network, searches.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "data/batcher.h"
#include "decode/attention_weights.h"
#include "decode/device_search.h"
#include "decode/host_search.h"
#include "decode/search.h"
#include "decode/step.h"
#include "nn/frame.h"
#include "nn/transformer.h"
#include "xformer/data.h"

namespace xf {

struct DecodeConfig {
    BeamOptions beam;
    int64_t min_tokens, max_extra_tokens, batch_sentences, max_source_tokens, deadline_ms;
    float label_smoothing;  // of evaluate()
    bool smooth_uniform;
    int32_t first_token;  // of every answer; -1: any
    LanguageTokens languages;

    static DecodeConfig from(const Options &options, const ModelConfig &model);
};

// What holds for one call of decode().
struct DecodeRequest {
    const Options *options = nullptr;     // what was set in it of the group "decode." counts in place of the decoder's
    const int32_t *prefix_ids = nullptr;  // what the answers begin with; null: nothing
    const int32_t *prefix_offsets = nullptr;  // [sentences + 1]
    Constraint constraint{};                  // none when empty
};

struct EvalStats {
    int64_t sentences = 0, tgt_tokens = 0;
    double loss_sum = 0, nll_sum = 0;

    double loss() const { return loss_sum / tokens(); }
    double nll() const { return nll_sum / tokens(); }

private:
    double tokens() const { return tgt_tokens > 0 ? static_cast<double>(tgt_tokens) : 1.0; }
};

// Batches given here come from outside. What is wrong with a batch as a whole is thrown; decode() says for each
// sentence what is wrong with that.
class Decoder {
public:
    Decoder(std::shared_ptr<const Model> model, const Options &options);

    const Model &model() const { return *model_; }
    // What holds for a call with these options; null: none of its own.
    DecodeConfig config(const Options *options) const;

    // What became of each of the batch's sources, in its order; targets are not looked at. outcomes: what is settled
    // before, of as many sentences, and stays as it is; empty for nothing.
    std::vector<SentenceOutcome> decode(const xf_batch &batch, const DecodeRequest &request = {}, const Call &call = {},
                                        std::vector<SentenceOutcome> outcomes = {});

    // Log-probability of each target given its source.
    void score(const xf_batch &batch, double *log_probabilities, const Call &call = {});

    // Adds a batch to the stats.
    void evaluate(const xf_batch &batch, EvalStats *stats, const Call &call = {});
    // All pairs of a batcher, once: its epoch from the beginning. Afterwards, also after an error, it stands where it
    // stood.
    EvalStats evaluate(Batcher *batcher, const Call &call = {});

    // Attention over the one pair of a batch (paper eq. 1): its shape, after all checks, and the weights, as many as it
    // counts. After an error they are as they were. kind: an AttentionKind.
    AttentionShape attention_shape(const xf_batch &pair, int32_t kind, int64_t layer) const;
    void attention(const xf_batch &pair, int32_t kind, int64_t layer, float *weights, const Call &call = {});

private:
    struct Work;
    std::string refusal(const xf_batch &batch, const Work &work, int64_t b, xf_status *status) const;
    DecodeRequest with_first_token(const DecodeRequest &request, int32_t first, int64_t sentences);
    void decode_group(const xf_batch &batch, const Work &work, std::span<const int64_t> group, int64_t done_before,
                      std::vector<SentenceOutcome> *outcomes);
    void sort_longest_first(const int32_t *offsets);
    void check_pairs(const xf_batch &batch) const;
    Pass inference(const Call &call);
    // Calls use(b, losses, nlls, count) for each sentence; loss and nll of its target tokens.
    template <class Use>
    void forced(const xf_batch &batch, float smoothing, const Call &call, Use use);

    std::shared_ptr<const Model> model_;
    Options options_;
    DecodeConfig config_;
    Stream stream_;
    Transformer network_;
    DecoderStep step_;
    DeviceSearch device_search_;  // where the device has one
    HostSearch host_search_;
    PackedBatch packed_;
    // Of the call at hand; kept for their memory.
    std::vector<int64_t> order_, limits_;
    std::vector<float> losses_, nlls_;
    std::vector<int32_t> prefix_ids_, prefix_offsets_;
    Batch batch_;
};

}  // namespace xf
