// The sub-layers of the paper's section 3, forward and backward side by side.
//
// A sub-layer maps its input [rows, D] to an output [rows, D] that add_norm then adds to the residual. In the backward
// pass a sub-layer gets diff_dst (the gradient of its output), adds to its parameters' gradients, and writes (=) or
// adds (+= when accumulate) the gradient of its input to diff_src.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/packed_batch.h"
#include "nn/pass.h"

namespace xf {

struct NormActivations {
    Num sum;       // [rows, D] before normalisation; also where the sub-layer's output is written
    Num dst;       // [rows, D]
    float *stats;  // [rows, 2], null in inference
};

struct AttentionActivations {
    Num qkv;      // self: [T, H(2K+W)]; cross: the queries [T, HK]
    Num kv;       // cross: [S, H(K+W)]
    Num context;  // [T, HW] heads side by side, before W_O
    float *lse;   // [T, H], null in inference
    NormActivations norm;
};

struct FeedForwardActivations {
    Num inner;   // [rows, inner_columns] before the activation; null where the first map has a ReLU of its own
    Num hidden;  // [rows, F] after it; the same memory as inner where that isn't needed again
    NormActivations norm;
};

// Scratch of the backward pass, shared by all layers.
struct BackwardScratch {
    Num diff_out;      // [rows, D] gradient of a sub-layer's output
    Num diff_context;  // [rows, HW]
    Num wide;          // the largest of [rows, H(2K+W)], [rows, F], [T, HK]
    Num diff_inner;    // [rows, inner_columns], where there is an inner
    Num diff_kv;       // [S, H(K+W)]
};

// What flows along a stack: the residual and the input of the next sub-layer.
struct Flow {
    Num residual, input;
};

// Between two sub-layers stands a boundary, which adds the output of the one below to the residual and normalises the
// sum. Post-LN: the norm belongs to the sub-layer below, and the normalised value is residual and input of the one
// above. Pre-LN: it belongs to the sub-layer above, and the sum goes on as residual.
inline const NormOffsets &after(const Pass &pass, const NormOffsets &below, const NormOffsets &above) {
    return pass.config().pre_norm ? above : below;
}
// src: the output of the sub-layer below, acts.sum or memory apart from it; null at the entry of a pre-LN stack.
// Without acts.stats no backward pass follows, and the sum is kept only where it goes on.
Flow boundary_fwd(const Pass &pass, const NormOffsets &norm, int64_t rows, const Flow &flow, Num src,
                  const NormActivations &acts, uint32_t dropout_site);

// dst [M, N] = src [M, K] weights^T + bias, dense rows; weights and bias are offsets, flags XF_LINEAR_RELU.
void linear_fwd(const Pass &pass, int64_t M, int64_t N, int64_t K, Num src, int64_t weights, int64_t bias, Num dst,
                uint32_t flags = 0);

// Multi-head self-attention (s. 3.2.2, 3.2.3); causal in the decoder.
void self_attention_fwd(const Pass &pass, const AttentionOffsets &at, const PackedSide &side, int64_t B, bool causal,
                        uint32_t dropout_site, Num src, const AttentionActivations &acts);
void self_attention_bwd(const Pass &pass, const AttentionOffsets &at, const PackedSide &side, int64_t B, bool causal,
                        uint32_t dropout_site, Num src, const AttentionActivations &acts,
                        const BackwardScratch &scratch, Num diff_src, bool accumulate);

// Attention of the decoder over the encoder's output, "memory" [S, D].
void cross_attention_fwd(const Pass &pass, const AttentionOffsets &at, const PackedBatch &batch, uint32_t dropout_site,
                         Num src, Num memory, const AttentionActivations &acts);
void cross_attention_bwd(const Pass &pass, const AttentionOffsets &at, const PackedBatch &batch, uint32_t dropout_site,
                         Num src, Num memory, const AttentionActivations &acts, const BackwardScratch &scratch,
                         Num diff_src, bool accumulate, Num diff_memory, bool accumulate_memory);

// Position-wise feed-forward, eq. (2), with any activation and with gates. The gradients of out_bias and of attention's
// o_bias, column sums of diff_dst, come from the boundary above.
void feed_forward_fwd(const Pass &pass, const FeedForwardOffsets &at, int64_t rows, uint32_t dropout_site, Num src,
                      const FeedForwardActivations &acts);
void feed_forward_bwd(const Pass &pass, const FeedForwardOffsets &at, int64_t rows, uint32_t dropout_site, Num src,
                      const FeedForwardActivations &acts, const BackwardScratch &scratch, Num diff_src,
                      bool accumulate);

}  // namespace xf
