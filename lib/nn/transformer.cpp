// Workspace and forward pass; the backward pass is in transformer_bwd.cpp. See transformer.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/transformer.h"

#include <algorithm>

namespace xf {

void Transformer::prepare(const PackedBatch &batch, Mode mode, bool decoder) {
    Arena dry(model_.dtype());
    plan(batch, mode, decoder, &dry);
    workspace_.reserve(stream_.device(), dry.bytes());
    Arena arena(model_.dtype(), workspace_.data());
    plan(batch, mode, decoder, &arena);
}

void Transformer::plan(const PackedBatch &batch, Mode mode, bool with_decoder, Arena *arena) {
    const ModelConfig &c = model_.config();
    const bool train = mode == Mode::kTrain;
    // Whether the activation is an operation of its own.
    const bool apart = !c.plain_relu() || (train && activation_dropout_);
    const int64_t S = batch.src.rows, T = with_decoder ? batch.tgt.rows : 0;
    const auto norm = [&](int64_t rows) {
        NormActivations acts{};
        acts.sum = arena->numbers(rows, c.D);
        acts.dst = arena->numbers(rows, c.D);
        acts.stats = train ? arena->floats(rows, 2) : nullptr;
        return acts;
    };
    const auto attention = [&](int64_t rows, int64_t kv_rows) {
        AttentionActivations acts{};
        acts.qkv = arena->numbers(rows, kv_rows > 0 ? c.q_columns() : c.qkv_columns());
        if (kv_rows > 0) acts.kv = arena->numbers(kv_rows, c.kv_columns());
        acts.context = arena->numbers(rows, c.v_columns());
        acts.lse = train ? arena->floats(rows, c.H) : nullptr;
        acts.norm = norm(rows);
        return acts;
    };
    const auto feed_forward = [&](int64_t rows) {
        FeedForwardActivations acts{};
        if (apart) acts.inner = arena->numbers(rows, c.inner_columns());
        acts.hidden = apart && !train && !c.gated ? acts.inner : arena->numbers(rows, c.F);
        acts.norm = norm(rows);
        return acts;
    };
    // In inference two layers' worth of memory is enough: a layer reads the one before it only.
    encoder_.resize(static_cast<size_t>(c.encoder_layers));
    embedded_[0] = arena->numbers(S, c.D);
    if (c.embedding_norm) embedding_norm_[0] = norm(S);
    if (c.pre_norm) entry_norm_[0] = norm(S);
    for (size_t i = 0; i < encoder_.size(); ++i) {
        if (!train && i >= 2)
            encoder_[i] = encoder_[i - 2];
        else
            encoder_[i] = {attention(S, 0), feed_forward(S)};
    }
    if (!with_decoder) return;
    decoder_.resize(static_cast<size_t>(c.decoder_layers));
    embedded_[1] = arena->numbers(T, c.D);
    if (c.embedding_norm) embedding_norm_[1] = norm(T);
    if (c.pre_norm) entry_norm_[1] = norm(T);
    for (size_t i = 0; i < decoder_.size(); ++i) {
        if (!train && i >= 2)
            decoder_[i] = decoder_[i - 2];
        else
            decoder_[i] = {attention(T, 0), attention(T, S), feed_forward(T)};
    }
    token_loss_ = arena->floats(T);
    token_nll_ = arena->floats(T);
    if (!train) return;
    const int64_t rows = std::max(S, T);
    diff_output_ = arena->numbers(T, c.D);
    diff_memory_ = arena->numbers(S, c.D);
    diff_residual_ = c.pre_norm ? arena->numbers(rows, c.D) : nullptr;
    scratch_.diff_out = arena->numbers(rows, c.D);
    scratch_.diff_context = arena->numbers(rows, c.v_columns());
    scratch_.wide = arena->numbers(rows, std::max({c.qkv_columns(), c.F, c.q_columns()}));
    scratch_.diff_inner = apart ? arena->numbers(rows, c.inner_columns()) : Num();
    scratch_.diff_kv = arena->numbers(S, c.kv_columns());
}

Flow Transformer::enter(const Pass &pass, Stack stack, const PackedSide &side, const NormOffsets &first) {
    const ModelConfig &c = model_.config();
    const ParameterTable &table = model_.table();
    const auto which = static_cast<size_t>(stack);
    const bool encoder = stack == Stack::kEncoder;
    xf_embed_fwd args{};
    args.rows = side.rows;
    args.D = c.D;
    args.ids = side.ids;
    args.pos = side.positions;
    args.V = encoder ? c.source_V : c.V;
    pass.matrix(encoder ? table.source_embedding : table.target_embedding).give_to(&args);
    args.positions = encoder ? model_.encoder_positions() : model_.decoder_positions();
    args.scale = c.embedding_scale;
    args.dst = embedded_[which];
    args.dropout = pass.drop(embed_site(stack));
    stream_.run(args);
    Flow flow{embedded_[which], embedded_[which]};
    if (c.embedding_norm) {
        const NormOffsets &norm = encoder ? table.encoder_entry : table.decoder_entry;
        const Num normalised = boundary_fwd(pass, norm, side.rows, flow, nullptr, embedding_norm_[which], 0).input;
        flow = {normalised, normalised};
    }
    return c.pre_norm ? boundary_fwd(pass, first, side.rows, flow, nullptr, entry_norm_[which], 0) : flow;
}

Num Transformer::entered(Stack stack) const {
    const auto which = static_cast<size_t>(stack);
    return model_.config().embedding_norm ? embedding_norm_[which].dst : embedded_[which];
}

Num Transformer::first_input(Stack stack) const {
    return model_.config().pre_norm ? entry_norm_[static_cast<size_t>(stack)].dst : entered(stack);
}

Num Transformer::encode(const Pass &pass, const PackedBatch &batch) {
    const ParameterTable &table = model_.table();
    const PackedSide &side = batch.src;
    Flow flow = enter(pass, Stack::kEncoder, side, table.encoder[0].self.norm);
    for (size_t i = 0; i < encoder_.size(); ++i) {
        const EncoderLayerOffsets &at = table.encoder[i];
        const EncoderLayer &acts = encoder_[i];
        const NormOffsets &next = i + 1 < encoder_.size() ? table.encoder[i + 1].self.norm : table.encoder_norm;
        const auto site = [&](uint32_t sub, bool attention) {
            return sublayer_site(Stack::kEncoder, static_cast<int64_t>(i), sub, attention);
        };
        self_attention_fwd(pass, at.self, side, batch.B, false, site(0, true), flow.input, acts.self);
        flow = boundary_fwd(pass, after(pass, at.self.norm, at.ff.norm), side.rows, flow, acts.self.norm.sum,
                            acts.self.norm, site(0, false));
        feed_forward_fwd(pass, at.ff, side.rows, site(2, true), flow.input, acts.ff);
        flow = boundary_fwd(pass, after(pass, at.ff.norm, next), side.rows, flow, acts.ff.norm.sum, acts.ff.norm,
                            site(2, false));
    }
    return memory_ = flow.input;
}

Num Transformer::decode(const Pass &pass, const PackedBatch &batch) {
    const ParameterTable &table = model_.table();
    const PackedSide &side = batch.tgt;
    Flow flow = enter(pass, Stack::kDecoder, side, table.decoder[0].self.norm);
    for (size_t i = 0; i < decoder_.size(); ++i) {
        const DecoderLayerOffsets &at = table.decoder[i];
        const DecoderLayer &acts = decoder_[i];
        const NormOffsets &next = i + 1 < decoder_.size() ? table.decoder[i + 1].self.norm : table.decoder_norm;
        const auto site = [&](uint32_t sub, bool attention) {
            return sublayer_site(Stack::kDecoder, static_cast<int64_t>(i), sub, attention);
        };
        self_attention_fwd(pass, at.self, side, batch.B, true, site(0, true), flow.input, acts.self);
        flow = boundary_fwd(pass, after(pass, at.self.norm, at.cross.norm), side.rows, flow, acts.self.norm.sum,
                            acts.self.norm, site(0, false));
        cross_attention_fwd(pass, at.cross, batch, site(1, true), flow.input, memory_, acts.cross);
        flow = boundary_fwd(pass, after(pass, at.cross.norm, at.ff.norm), side.rows, flow, acts.cross.norm.sum,
                            acts.cross.norm, site(1, false));
        feed_forward_fwd(pass, at.ff, side.rows, site(2, true), flow.input, acts.ff);
        flow = boundary_fwd(pass, after(pass, at.ff.norm, next), side.rows, flow, acts.ff.norm.sum, acts.ff.norm,
                            site(2, false));
    }
    return output_ = flow.input;
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
    args.loss = token_loss_;
    args.nll = token_nll_;
    if (pass.grads != nullptr) {
        args.diff_src = diff_output_;
        args.diff_weights = pass.grad(table.output);
        args.diff_bias = pass.grad(table.output_bias);
    }
    stream_.run(args);
}

}  // namespace xf
