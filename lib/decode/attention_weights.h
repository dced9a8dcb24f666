// The weights that attention gives: softmax of scaled products of queries and keys (paper s. 3.2.1, eq. 1), for people
// to look at. The passes never write them to memory, so they are made again from the queries and keys a pass left.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace xf {

enum class AttentionKind : int32_t { kEncoder = 0, kDecoder = 1, kCross = 2 };

struct AttentionShape {
    int64_t heads, dk;
    int64_t queries, keys;
    bool causal;
    int64_t window;  // 0: none
    float scale;

    int64_t count() const { return heads * queries * keys; }
};

// q: [queries, heads * dk], rows ld_q apart; k: [keys, heads * dk], rows ld_k apart. weights: [heads, queries, keys];
// what a query may not see has weight 0. They go with the square of the length, so they are the caller's memory.
void attention_weights(const AttentionShape &shape, const float *q, int64_t ld_q, const float *k, int64_t ld_k,
                       float *weights);

}  // namespace xf
