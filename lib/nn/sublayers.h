// The sub-layers of the paper's section 3, forward and backward.
//
// A sub-layer maps its input [rows, D] to an output [rows, D], which boundary_fwd() adds to the residual. In the
// backward pass, a sub-layer receives diff_dst, the gradient of its output (BackwardScratch::diff_out), adds to the
// gradients of its parameters, and writes the gradient of its input to diff_src, or adds it if accumulate is set.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/activations.h"
#include "nn/model.h"
#include "nn/packed_batch.h"

namespace xf {

// The site of a dropout operation is part of its key, so that no two operations use the same mask.
constexpr uint32_t embed_site(Stack stack) { return stack == Stack::kEncoder ? 0 : 1; }
// sub: 0 self-attention, 1 cross-attention, 2 feed-forward. inside: dropout of the attention weights, or after the
// activation of the feed-forward sub-layer.
constexpr uint32_t sublayer_site(Stack stack, int64_t layer, uint32_t sub, bool inside) {
    return 16 + ((embed_site(stack) * 1024 + layer) * 4 + sub) * 2 + (inside ? 1 : 0);
}

struct DropoutKey {
    float rate = 0, attention_rate = 0, activation_rate = 0;  // 0: off
    uint64_t seed = 0;
    const uint32_t *when = nullptr;  // PackedBatch::when
};

struct Pass {
    const Model &model;
    Stream &stream;
    const Call &call;        // checked for cancellation between sub-layers
    float *grads = nullptr;  // a block of the parameter table; null in inference
    bool invariant = false;  // decoding and scoring: the result of a row must not depend on the other rows
    DropoutKey dropout{};

    const ModelConfig &config() const { return model.config(); }
    const float *param(int64_t offset) const { return model.param(offset); }
    Num weights(int64_t offset) const { return model.weights(offset); }
    Matrix matrix(int64_t offset) const { return model.matrix(offset); }
    float *grad(int64_t offset) const { return offset == kAbsent ? nullptr : grads + offset; }
    uint32_t linear_flags() const { return invariant ? XF_LINEAR_ROW_INVARIANT : 0; }
    xf_dropout drop(uint32_t site) const { return make(dropout.rate, site); }
    xf_dropout drop_attention(uint32_t site) const { return make(dropout.attention_rate, site); }
    xf_dropout drop_activation(uint32_t site) const { return make(dropout.activation_rate, site); }

private:
    xf_dropout make(float rate, uint32_t site) const { return {rate, site, dropout.seed, dropout.when}; }
};

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

// The arguments of cross-attention with these keys and values. Of the sides, only max_length, begin, and length are
// used.
xf_attention cross_arguments(const Pass &pass, int64_t B, const PackedSide &queries, const PackedSide &keys, Num kv,
                             uint32_t dropout_site, const AttentionActivations &acts);

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
