// SPDX-License-Identifier: Apache-2.0
#include "nn/transformer.h"

namespace xf {

void TransformerActivations::plan(const ModelConfig &c, PassKind kind, int64_t S, int64_t T, Arena *arena) {
    plan_stack(c, Stack::kEncoder, kind, S, 0, arena, &encoder);
    if (T == 0) return;
    plan_stack(c, Stack::kDecoder, kind, T, S, arena, &decoder);
    token_loss = arena->floats(T);
    token_nll = arena->floats(T);
    if (kind == PassKind::kInference) return;
    diff_output = arena->numbers(T, c.D);
    diff_memory = arena->numbers(S, c.D);
    scratch = plan_backward(c, kind, S, T, arena);
}

void Transformer::prepare(const PackedBatch &batch, PassKind kind, bool decoder) {
    const int64_t S = batch.src.rows, T = decoder ? batch.tgt.rows : 0;
    Arena dry(model_.dtype());
    acts_.plan(model_.config(), kind, S, T, &dry);
    workspace_.reserve(stream_.device(), dry.bytes());
    Arena arena(model_.dtype(), workspace_.data());
    acts_.plan(model_.config(), kind, S, T, &arena);
}

Num Transformer::encode(const Pass &pass, const PackedBatch &batch) {
    PackedAttention attention(batch, Stack::kEncoder);
    return memory_ = stack_fwd(pass, Stack::kEncoder, {batch.src.rows, batch.src.ids, batch.src.positions}, &attention,
                               acts_.encoder);
}

Num Transformer::decode(const Pass &pass, const PackedBatch &batch) {
    PackedAttention attention(batch, Stack::kDecoder, memory_);
    return output_ = stack_fwd(pass, Stack::kDecoder, {batch.tgt.rows, batch.tgt.ids, batch.tgt.positions}, &attention,
                               acts_.decoder);
}

void Transformer::loss(const Pass &pass, const PackedBatch &batch, float smoothing, bool uniform) {
    const ModelConfig &c = model_.config();
    const ParameterTable &table = model_.table();
    xf_loss args{};
    args.M = batch.tgt.rows;
    args.V = c.V;
    args.D = c.D;
    args.src = output_;
    pass.matrix(table.output).give_to(&args);
    args.bias = pass.param(table.output_bias);
    args.targets = batch.targets;
    args.smoothing = smoothing;
    args.uniform = uniform;
    args.loss = acts_.token_loss;
    args.nll = acts_.token_nll;
    if (pass.grads != nullptr) {
        args.diff_src = acts_.diff_output;
        args.diff_weights = pass.grad(table.output);
        args.diff_bias = pass.grad(table.output_bias);
    }
    stream_.run(args);
}

void Transformer::backward(const Pass &pass, const PackedBatch &batch) {
    const PackedAttention encoder(batch, Stack::kEncoder), decoder(batch, Stack::kDecoder, memory_);
    stack_bwd(pass, Stack::kDecoder, decoder, acts_.decoder, acts_.scratch, acts_.diff_output, acts_.diff_memory);
    stack_bwd(pass, Stack::kEncoder, encoder, acts_.encoder, acts_.scratch, acts_.diff_memory, Num());
}

}  // namespace xf
