// The options of the group "model." as a typed struct, with the derived sizes.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/options.h"

namespace xf {

struct ModelConfig {
    int64_t encoder_layers, decoder_layers;  // N (paper s. 3.1)
    int64_t D, F, H, K, W, V;                // d_model, d_ff, heads, d_k, d_v, vocabulary
    bool pre_norm;
    bool learned_positions;
    float norm_epsilon;
    int64_t max_length;
    int64_t window;
    uint64_t seed;

    int64_t q_columns() const { return H * K; }
    int64_t v_columns() const { return H * W; }
    int64_t qkv_columns() const { return H * (2 * K + W); }
    int64_t kv_columns() const { return H * (K + W); }

    // Throws XF_ERROR_INVALID_ARGUMENT when the options contradict each other or V is not known.
    static ModelConfig from(const Options &options);
};

}  // namespace xf
