// The options of the group "model." as a typed struct, with the derived sizes.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "backend/plugin_abi.h"
#include "nn/languages.h"

namespace xf {

enum class Positions { kSinusoid, kLearned, kFixed };  // kFixed: tables of the file that no training changes
enum class Tie { kAll, kDecoder, kNone };              // source embedding, target embedding, output projection

// Tokens with a meaning of their own.
struct SpecialTokens {
    int32_t start, end;           // may be the same
    int32_t first;                // of every answer; -1: any
    std::vector<int32_t> banned;  // rising; start is not among them

    // Throws XF_ERROR_INVALID_ARGUMENT when the options contradict each other. V, source_V: where ids end.
    static SpecialTokens from(const Options &options, int64_t V, int64_t source_V);
};

struct ModelConfig {
    int64_t encoder_layers, decoder_layers;  // N (paper s. 3.1)
    int64_t D, F, H, K, W, V;                // d_model, d_ff, heads, d_k, d_v, vocabulary
    int64_t source_V;                        // of sources; V where they share it
    Tie tie;
    uint32_t activation;  // XF_ACTIVATION_...
    bool gated;
    bool attention_bias, output_bias;
    bool pre_norm;
    bool rms_norm;
    bool embedding_norm;
    float embedding_scale;
    Positions positions;
    float norm_epsilon;
    int64_t max_length;
    int64_t window;
    SpecialTokens tokens;
    Languages languages;
    uint64_t seed;

    int64_t q_columns() const { return H * K; }
    int64_t v_columns() const { return H * W; }
    int64_t qkv_columns() const { return H * (2 * K + W); }
    int64_t kv_columns() const { return H * (K + W); }
    // What the feed-forward's first map gives: with gates twice as much as its second one takes.
    int64_t inner_columns() const { return gated ? 2 * F : F; }
    // Whether a sentence of n >= 1 tokens ends as it must: with the end symbol, behind which a language's token may be.
    bool ends(const int32_t *ids, int64_t n) const {
        return ids[n - 1] == tokens.end || (n > 1 && ids[n - 2] == tokens.end);
    }
    // The paper's feed-forward: maps with their ReLU in one operation.
    bool plain_relu() const { return activation == XF_ACTIVATION_RELU && !gated; }

    // Throws XF_ERROR_INVALID_ARGUMENT when the options contradict each other or V is not known.
    static ModelConfig from(const Options &options);
};

}  // namespace xf
