// Attention weights for visualization: the softmax of the scaled products of queries and keys (paper s. 3.2.1, eq. 1).
// A forward pass does not store them, so they are computed again from its queries and keys.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace xf {

enum class AttentionKind : int32_t { kEncoder = 1, kDecoder = 2, kCross = 3 };

struct AttentionShape {
    int64_t heads, dk;
    int64_t queries, keys;
    bool causal;
    int64_t window;  // 0: none
    float scale;

    int64_t count() const { return heads * queries * keys; }
};

// q: [queries, heads * dk] with row stride ld_q; k: [keys, heads * dk] with row stride ld_k. weights: [heads, queries,
// keys]; masked keys have weight 0. The size is quadratic in the length, so the caller provides the memory.
void attention_weights(const AttentionShape &shape, const float *q, int64_t ld_q, const float *k, int64_t ld_k,
                       float *weights);

}  // namespace xf
