// The sub-layers of the paper's section 3, forward and backward.
//
// A sub-layer maps its input [rows, D] to an output [rows, D], which boundary_fwd() adds to the residual. In the
// backward pass, a sub-layer receives diff_dst, the gradient of its output (BackwardScratch::diff_out), adds to the
// gradients of its parameters, and writes the gradient of its input to diff_src, or adds it if accumulate is set.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/activations.h"
#include "nn/packed_batch.h"
#include "nn/pass.h"

namespace xf {

// The values that flow along a stack: the residual and the input of the next sub-layer.
struct Flow {
    Num residual, input;
};

// The gradients of a Flow.
struct DiffFlow {
    Num input;              // post-norm: also the gradient of the residual
    Num residual;           // pre-norm only
    bool residual_is_zero;  // residual has not been written yet
};

// A boundary lies between two sub-layers. It adds the output of the lower one to the residual and normalizes the sum.
// Post-norm: the norm belongs to the lower sub-layer, and the normalized value is both the residual and the input of
// the upper one. Pre-norm: the norm belongs to the upper sub-layer, and the residual is the sum.
inline const NormOffsets &boundary_norm(const Pass &pass, const NormOffsets &lower, const NormOffsets &upper) {
    return pass.config().pre_norm ? upper : lower;
}
// src: the output of the lower sub-layer, which may be acts.sum; null for a norm that adds nothing.
Flow boundary_fwd(const Pass &pass, const NormOffsets &norm, int64_t rows, const Flow &flow, Num src,
                  const NormActivations &acts, uint32_t dropout_site);
// diff_out: the gradient of src. diff_out_bias: the gradient of the bias that was added to src; may be null.
void boundary_bwd(const Pass &pass, const NormOffsets &norm, int64_t rows, const NormActivations &acts,
                  uint32_t dropout_site, DiffFlow *flow, Num diff_out, float *diff_out_bias);

// dst [M, N] = src [M, K] weights^T + bias, dense rows. weights and bias are offsets; flags may be XF_LINEAR_RELU.
void linear_fwd(const Pass &pass, int64_t M, int64_t N, int64_t K, Num src, int64_t weights, int64_t bias, Num dst,
                uint32_t flags = 0);

// The keys and values of cross-attention, [rows, H(dk + dv)], from the encoder's output `memory`.
void cross_kv_fwd(const Pass &pass, const AttentionOffsets &at, int64_t rows, Num memory, Num dst);

// The attention operations of a stack (s. 3.2.1), without their linear maps: from acts.qkv to acts.context. Passes over
// a packed batch and decoding steps differ only in where keys and values are stored.
class Attention {
public:
    virtual ~Attention() = default;
    virtual void self(const Pass &pass, int64_t layer, uint32_t dropout_site, const AttentionActivations &acts) = 0;
    virtual void cross(const Pass &pass, int64_t layer, uint32_t dropout_site, const AttentionActivations &acts) = 0;
};

// Attention within the sentences of a batch: forward for stack_fwd(), and the whole backward pass of a sub-layer.
class PackedAttention final : public Attention {
public:
    // memory: the encoder's output [S, D]; used by the decoder only.
    PackedAttention(const PackedBatch &batch, Stack stack, Num memory = {})
        : batch_(batch), stack_(stack), memory_(memory) {}

    void self(const Pass &pass, int64_t layer, uint32_t dropout_site, const AttentionActivations &acts) override;
    void cross(const Pass &pass, int64_t layer, uint32_t dropout_site, const AttentionActivations &acts) override;

    // src: the input of the sub-layer.
    void self_bwd(const Pass &pass, const AttentionOffsets &at, uint32_t dropout_site, Num src,
                  const AttentionActivations &acts, const BackwardScratch &scratch, Num diff_src,
                  bool accumulate) const;
    void cross_bwd(const Pass &pass, const AttentionOffsets &at, uint32_t dropout_site, Num src,
                   const AttentionActivations &acts, const BackwardScratch &scratch, Num diff_src, bool accumulate,
                   Num diff_memory, bool accumulate_memory) const;

    const PackedSide &side() const { return stack_ == Stack::kEncoder ? batch_.src : batch_.tgt; }

private:
    xf_attention self_arguments(const Pass &pass, uint32_t site, const AttentionActivations &acts) const;
    xf_attention cross_arguments(const Pass &pass, uint32_t site, const AttentionActivations &acts) const;

    const PackedBatch &batch_;
    const Stack stack_;
    const Num memory_;
};

// The position-wise feed-forward sub-layer, eq. (2), with any activation and with gates. boundary_bwd() computes the
// gradients of out_bias and of attention's o_bias, which are column sums of diff_dst.
void feed_forward_fwd(const Pass &pass, const FeedForwardOffsets &at, int64_t rows, uint32_t dropout_site, Num src,
                      const FeedForwardActivations &acts);
void feed_forward_bwd(const Pass &pass, const FeedForwardOffsets &at, int64_t rows, uint32_t dropout_site, Num src,
                      const FeedForwardActivations &acts, const BackwardScratch &scratch, Num diff_src,
                      bool accumulate);

}  // namespace xf
