// SPDX-License-Identifier: Apache-2.0
#include "nn/sublayers.h"

namespace xf {
namespace {

// The gradients of dst = src weights^T + bias: of the weights, of the bias, and of src, which is added if accumulate is
// set. bias kAbsent: the map has no bias, or the operation that writes diff_dst computes its gradient. relu_dst: the
// output of a ReLU that is src; diff_relu_bias: the gradient of the bias before it.
void linear_bwd(const Pass &pass, int64_t M, int64_t N, int64_t K, Num diff_dst, Num src, int64_t weights, int64_t bias,
                Num diff_src, bool accumulate, Num relu_dst = nullptr, float *diff_relu_bias = nullptr) {
    xf_linear_bwd_weights args{};
    args.M = M;
    args.N = N;
    args.K = K;
    args.diff_dst = diff_dst;
    args.ld_diff_dst = N;
    args.src = src;
    args.ld_src = K;
    args.diff_weights = pass.grad(weights);
    args.diff_bias = pass.grad(bias);
    pass.stream.run(args);
    xf_linear_bwd_data data{};
    data.M = M;
    data.N = N;
    data.K = K;
    data.diff_dst = diff_dst;
    data.ld_diff_dst = N;
    data.weights = pass.weights(weights);
    data.relu_dst = relu_dst;
    data.diff_relu_bias = diff_relu_bias;
    data.diff_src = diff_src;
    data.ld_diff_src = K;
    data.accumulate = accumulate;
    pass.stream.run(data);
}

// The arguments that self-attention and cross-attention share.
xf_attention attention_arguments(const Pass &pass, int64_t B, const PackedSide &queries, const PackedSide &keys,
                                 uint32_t dropout_site, const AttentionActivations &acts) {
    const ModelConfig &c = pass.config();
    xf_attention args{};
    args.B = B;
    args.H = c.H;
    args.dk = c.d_k;
    args.dv = c.d_v;
    args.max_q_len = queries.max_length;
    args.max_k_len = keys.max_length;
    args.q_begin = queries.begin;
    args.q_len = queries.length;
    args.k_begin = keys.begin;
    args.k_len = keys.length;
    args.q = acts.qkv;
    args.scale = c.attention_scale();
    args.dst = acts.context;
    args.ld_dst = c.v_columns();
    args.lse = acts.lse;
    args.drop_stride = drop_stride(keys.max_length);
    args.dropout = pass.drop_attention(dropout_site);
    return args;
}

}  // namespace

Flow boundary_fwd(const Pass &pass, const NormOffsets &norm, int64_t rows, const Flow &flow, Num src,
                  const NormActivations &acts, uint32_t dropout_site) {
    pass.call.check();
    const bool pre_norm = pass.config().pre_norm, adds = src != nullptr;
    // Only the residual of a pre-norm stack and a backward pass read the sum.
    const bool keeps_sum = adds && (pre_norm || acts.stats != nullptr);
    xf_add_norm_fwd args{};
    args.M = rows;
    args.D = pass.config().D;
    args.residual = flow.residual;
    args.src = src;
    args.weights = pass.param(norm.weights);
    args.bias = pass.param(norm.bias);
    args.rms = pass.config().rms_norm;
    args.eps = pass.config().norm_epsilon;
    args.sum = keeps_sum ? acts.sum : nullptr;
    args.dst = acts.dst;
    args.stats = acts.stats;
    if (adds) args.dropout = pass.drop(dropout_site);
    pass.stream.run(args);
    return {!pre_norm ? acts.dst : adds ? acts.sum : flow.residual, acts.dst};
}

// Post-norm: flow->input is the gradient of the normalized value and becomes that of the residual, to which the lower
// sub-layer then adds the gradient of its input, the same value. Pre-norm: residual and input have separate gradients.
void boundary_bwd(const Pass &pass, const NormOffsets &norm, int64_t rows, const NormActivations &acts,
                  uint32_t dropout_site, DiffFlow *flow, Num diff_out, float *diff_out_bias) {
    pass.call.check();
    const bool pre_norm = pass.config().pre_norm;
    xf_add_norm_bwd args{};
    args.M = rows;
    args.D = pass.config().D;
    args.diff_dst = flow->input;
    args.diff_sum = pre_norm && !flow->residual_is_zero ? flow->residual : nullptr;
    args.sum = acts.sum;
    args.stats = acts.stats;
    args.weights = pass.param(norm.weights);
    args.diff_residual = pre_norm ? flow->residual : flow->input;
    args.diff_src = diff_out;
    args.diff_weights = pass.grad(norm.weights);
    args.diff_bias = pass.grad(norm.bias);
    args.diff_src_bias = diff_out_bias;
    args.rms = pass.config().rms_norm;
    if (diff_out != nullptr) args.dropout = pass.drop(dropout_site);
    pass.stream.run(args);
    flow->residual_is_zero = false;
}

void linear_fwd(const Pass &pass, int64_t M, int64_t N, int64_t K, Num src, int64_t weights, int64_t bias, Num dst,
                uint32_t flags) {
    xf_linear_fwd args{};
    args.M = M;
    args.N = N;
    args.K = K;
    args.src = src;
    args.ld_src = K;
    pass.matrix(weights).give_to(&args);
    args.bias = pass.weights(bias);
    args.dst = dst;
    args.ld_dst = N;
    args.flags = flags | pass.linear_flags();
    pass.stream.run(args);
}

void cross_kv_fwd(const Pass &pass, const AttentionOffsets &at, int64_t rows, Num memory, Num dst) {
    linear_fwd(pass, rows, pass.config().kv_columns(), pass.config().D, memory, at.k, at.k_bias, dst);
}

xf_attention PackedAttention::self_arguments(const Pass &pass, uint32_t site, const AttentionActivations &acts) const {
    const ModelConfig &c = pass.config();
    xf_attention args = attention_arguments(pass, batch_.B, side(), side(), site, acts);
    args.k = acts.qkv + c.q_columns();
    args.v = acts.qkv + 2 * c.q_columns();
    args.ld_q = args.ld_k = args.ld_v = c.qkv_columns();
    args.causal = stack_ == Stack::kDecoder;
    args.window = c.window;
    return args;
}

xf_attention cross_arguments(const Pass &pass, int64_t B, const PackedSide &queries, const PackedSide &keys, Num kv,
                             uint32_t dropout_site, const AttentionActivations &acts) {
    const ModelConfig &c = pass.config();
    xf_attention args = attention_arguments(pass, B, queries, keys, dropout_site, acts);
    args.ld_q = c.q_columns();
    args.k = kv;
    args.v = kv + c.q_columns();
    args.ld_k = args.ld_v = c.kv_columns();
    return args;
}

void PackedAttention::self(const Pass &pass, int64_t, uint32_t dropout_site, const AttentionActivations &acts) {
    pass.stream.run(self_arguments(pass, dropout_site, acts));
}

void PackedAttention::cross(const Pass &pass, int64_t layer, uint32_t dropout_site, const AttentionActivations &acts) {
    cross_kv_fwd(pass, pass.model.table().decoder.layers[layer].cross, batch_.src.rows, memory_, acts.kv);
    pass.stream.run(cross_arguments(pass, batch_.B, batch_.tgt, batch_.src, acts.kv, dropout_site, acts));
}

void PackedAttention::self_bwd(const Pass &pass, const AttentionOffsets &at, uint32_t dropout_site, Num src,
                               const AttentionActivations &acts, const BackwardScratch &scratch, Num diff_src,
                               bool accumulate) const {
    const ModelConfig &c = pass.config();
    const int64_t rows = side().rows;
    linear_bwd(pass, rows, c.D, c.v_columns(), scratch.diff_out, acts.context, at.o, kAbsent, scratch.diff_context,
               false);
    xf_attention_bwd args{};
    args.fwd = self_arguments(pass, dropout_site, acts);
    args.diff_dst = scratch.diff_context;
    args.ld_diff_dst = c.v_columns();
    args.diff_q = scratch.wide;
    args.diff_k = scratch.wide + c.q_columns();
    args.diff_v = scratch.wide + 2 * c.q_columns();
    args.ld_diff_q = args.ld_diff_k = args.ld_diff_v = c.qkv_columns();
    pass.stream.run(args);
    linear_bwd(pass, rows, c.qkv_columns(), c.D, scratch.wide, src, at.q, at.q_bias, diff_src, accumulate);
}

void PackedAttention::cross_bwd(const Pass &pass, const AttentionOffsets &at, uint32_t dropout_site, Num src,
                                const AttentionActivations &acts, const BackwardScratch &scratch, Num diff_src,
                                bool accumulate, Num diff_memory, bool accumulate_memory) const {
    const ModelConfig &c = pass.config();
    const int64_t T = batch_.tgt.rows, S = batch_.src.rows;
    linear_bwd(pass, T, c.D, c.v_columns(), scratch.diff_out, acts.context, at.o, kAbsent, scratch.diff_context, false);
    xf_attention_bwd args{};
    args.fwd = cross_arguments(pass, batch_.B, batch_.tgt, batch_.src, acts.kv, dropout_site, acts);
    args.diff_dst = scratch.diff_context;
    args.ld_diff_dst = c.v_columns();
    args.diff_q = scratch.wide;
    args.ld_diff_q = c.q_columns();
    args.diff_k = scratch.diff_kv;
    args.diff_v = scratch.diff_kv + c.q_columns();
    args.ld_diff_k = args.ld_diff_v = c.kv_columns();
    pass.stream.run(args);
    linear_bwd(pass, T, c.q_columns(), c.D, scratch.wide, src, at.q, at.q_bias, diff_src, accumulate);
    linear_bwd(pass, S, c.kv_columns(), c.D, scratch.diff_kv, memory_, at.k, at.k_bias, diff_memory, accumulate_memory);
}

void feed_forward_fwd(const Pass &pass, const FeedForwardOffsets &at, int64_t rows, uint32_t dropout_site, Num src,
                      const FeedForwardActivations &acts) {
    const ModelConfig &c = pass.config();
    const bool fused = acts.inner == nullptr;
    linear_fwd(pass, rows, c.inner_columns(), c.D, src, at.in_weights, at.in_bias, fused ? acts.hidden : acts.inner,
               fused ? XF_LINEAR_RELU : 0);
    if (!fused) {
        xf_activation_fwd args{};
        args.M = rows;
        args.F = c.F;
        args.src = acts.inner;
        args.kind = c.activation;
        args.gated = c.gated;
        args.dst = acts.hidden;
        args.dropout = pass.drop_activation(dropout_site);
        pass.stream.run(args);
    }
    linear_fwd(pass, rows, c.D, c.F, acts.hidden, at.out_weights, at.out_bias, acts.norm.sum);
}

void feed_forward_bwd(const Pass &pass, const FeedForwardOffsets &at, int64_t rows, uint32_t dropout_site, Num src,
                      const FeedForwardActivations &acts, const BackwardScratch &scratch, Num diff_src,
                      bool accumulate) {
    const ModelConfig &c = pass.config();
    const bool fused = acts.inner == nullptr;
    linear_bwd(pass, rows, c.D, c.F, scratch.diff_out, acts.hidden, at.out_weights, kAbsent, scratch.wide, false,
               fused ? acts.hidden : Num(), fused ? pass.grad(at.in_bias) : nullptr);
    if (!fused) {
        xf_activation_bwd args{};
        args.M = rows;
        args.F = c.F;
        args.src = acts.inner;
        args.kind = c.activation;
        args.gated = c.gated;
        args.diff_dst = scratch.wide;
        args.diff_src = scratch.diff_inner;
        args.diff_bias = pass.grad(at.in_bias);
        args.dropout = pass.drop_activation(dropout_site);
        pass.stream.run(args);
    }
    const Num diff = fused ? scratch.wide : scratch.diff_inner;
    linear_bwd(pass, rows, c.inner_columns(), c.D, diff, src, at.in_weights, kAbsent, diff_src, accumulate);
}

}  // namespace xf
