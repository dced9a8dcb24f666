// The backward pass: the forward pass's modules in reverse. See transformer.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/transformer.h"

namespace xf {

// Post-LN: flow->input holds the gradient of the normalised value; it becomes that of the residual, to which the
// sub-layer below then adds the gradient of its input (the same value). Pre-LN: residual and input part here.
void Transformer::boundary_bwd(const Pass &pass, const NormOffsets &norm, int64_t rows, const NormActivations &acts,
                               uint32_t site, DiffFlow *flow, Num diff_out, float *diff_out_bias) {
    pass.call.check();
    const bool pre = model_.config().pre_norm;
    xf_add_norm_bwd args{};
    args.M = rows;
    args.D = model_.config().D;
    args.diff_dst = flow->input;
    args.diff_sum = pre && !flow->residual_is_zero ? flow->residual : nullptr;
    args.sum = acts.sum;
    args.stats = acts.stats;
    args.weights = pass.param(norm.weights);
    args.diff_residual = pre ? flow->residual : flow->input;
    args.diff_src = diff_out;
    args.diff_weights = pass.grad(norm.weights);
    args.diff_bias = pass.grad(norm.bias);
    args.diff_src_bias = diff_out_bias;
    args.rms = model_.config().rms_norm;
    args.dropout = pass.drop(site);
    stream_.run(args);
    flow->residual_is_zero = false;
}

// The gradient of src from that of its normalised value, in place.
void Transformer::normalise_bwd(const Pass &pass, const NormOffsets &norm, int64_t rows, Num src, const float *stats,
                                Num diff) {
    xf_add_norm_bwd args{};
    args.M = rows;
    args.D = model_.config().D;
    args.diff_dst = diff;
    args.sum = src;
    args.stats = stats;
    args.weights = pass.param(norm.weights);
    args.diff_residual = diff;
    args.diff_weights = pass.grad(norm.weights);
    args.diff_bias = pass.grad(norm.bias);
    args.rms = model_.config().rms_norm;
    stream_.run(args);
}

void Transformer::leave_bwd(const Pass &pass, Stack stack, const PackedSide &side, const NormOffsets &first,
                            DiffFlow *flow) {
    const ModelConfig &c = model_.config();
    const ParameterTable &table = model_.table();
    const auto which = static_cast<size_t>(stack);
    const bool encoder = stack == Stack::kEncoder;
    Num diff = flow->input;
    if (c.pre_norm) {
        NormActivations acts = entry_norm_[which];
        acts.sum = entered(stack);  // the entry adds nothing: its sum is what entered
        Pass still = pass;
        still.dropout.rate = 0;
        boundary_bwd(still, first, side.rows, acts, 0, flow, nullptr);
        diff = flow->residual;
    }
    if (c.embedding_norm)
        normalise_bwd(pass, encoder ? table.encoder_entry : table.decoder_entry, side.rows, embedded_[which],
                      embedding_norm_[which].stats, diff);
    const auto scatter = [&](const PackedSide::Groups &groups, int64_t table_offset, float scale) {
        xf_embed_bwd args{};
        args.groups = groups.count;
        args.D = c.D;
        args.group_ids = groups.ids;
        args.starts = groups.starts;
        args.order = groups.order;
        args.diff_dst = diff;
        args.scale = scale;
        args.diff_weights = pass.grad(table_offset);
        args.dropout = pass.drop(embed_site(stack));
        stream_.run(args);
    };
    scatter(side.by_id, encoder ? table.source_embedding : table.target_embedding, c.embedding_scale);
    if (c.positions == Positions::kLearned)
        scatter(side.by_position, encoder ? table.encoder_positions : table.decoder_positions, 1);
}

void Transformer::decoder_bwd(const Pass &pass, const PackedBatch &batch) {
    const ParameterTable &table = model_.table();
    const bool add = !model_.config().pre_norm;
    const PackedSide &side = batch.tgt;
    DiffFlow flow{diff_output_, diff_residual_, true};
    Num diff_out = scratch_.diff_out;
    for (size_t i = decoder_.size(); i-- > 0;) {
        const DecoderLayerOffsets &at = table.decoder[i];
        const DecoderLayer &acts = decoder_[i];
        const bool top = i + 1 == decoder_.size();
        const NormOffsets &next = top ? table.decoder_norm : table.decoder[i + 1].self.norm;
        const auto site = [&](uint32_t sub, bool attention) {
            return sublayer_site(Stack::kDecoder, static_cast<int64_t>(i), sub, attention);
        };
        const Num input = i > 0 ? decoder_[i - 1].ff.norm.dst : first_input(Stack::kDecoder);
        boundary_bwd(pass, after(pass, at.ff.norm, next), side.rows, acts.ff.norm, site(2, false), &flow, diff_out,
                     pass.grad(at.ff.out_bias));
        feed_forward_bwd(pass, at.ff, side.rows, site(2, true), acts.cross.norm.dst, acts.ff, scratch_, flow.input,
                         add);
        boundary_bwd(pass, after(pass, at.cross.norm, at.ff.norm), side.rows, acts.cross.norm, site(1, false), &flow,
                     diff_out, pass.grad(at.cross.o_bias));
        cross_attention_bwd(pass, at.cross, batch, site(1, true), acts.self.norm.dst, memory_, acts.cross, scratch_,
                            flow.input, add, diff_memory_, !top);
        boundary_bwd(pass, after(pass, at.self.norm, at.cross.norm), side.rows, acts.self.norm, site(0, false), &flow,
                     diff_out, pass.grad(at.self.o_bias));
        self_attention_bwd(pass, at.self, side, batch.B, true, site(0, true), input, acts.self, scratch_, flow.input,
                           add);
        // Pre-LN, the norm before a layer is still to come.
        if (pass.done != nullptr) (*pass.done)(add ? at.self.q : at.cross.q);
    }
    leave_bwd(pass, Stack::kDecoder, side, table.decoder[0].self.norm, &flow);
    if (pass.done != nullptr && model_.config().tie != Tie::kAll) (*pass.done)(table.target_embedding);
}

void Transformer::encoder_bwd(const Pass &pass, const PackedBatch &batch) {
    const ParameterTable &table = model_.table();
    const bool add = !model_.config().pre_norm;
    const PackedSide &side = batch.src;
    DiffFlow flow{diff_memory_, diff_residual_, true};
    Num diff_out = scratch_.diff_out;
    for (size_t i = encoder_.size(); i-- > 0;) {
        const EncoderLayerOffsets &at = table.encoder[i];
        const EncoderLayer &acts = encoder_[i];
        const NormOffsets &next = i + 1 < encoder_.size() ? table.encoder[i + 1].self.norm : table.encoder_norm;
        const auto site = [&](uint32_t sub, bool attention) {
            return sublayer_site(Stack::kEncoder, static_cast<int64_t>(i), sub, attention);
        };
        const Num input = i > 0 ? encoder_[i - 1].ff.norm.dst : first_input(Stack::kEncoder);
        boundary_bwd(pass, after(pass, at.ff.norm, next), side.rows, acts.ff.norm, site(2, false), &flow, diff_out,
                     pass.grad(at.ff.out_bias));
        feed_forward_bwd(pass, at.ff, side.rows, site(2, true), acts.self.norm.dst, acts.ff, scratch_, flow.input, add);
        boundary_bwd(pass, after(pass, at.self.norm, at.ff.norm), side.rows, acts.self.norm, site(0, false), &flow,
                     diff_out, pass.grad(at.self.o_bias));
        self_attention_bwd(pass, at.self, side, batch.B, false, site(0, true), input, acts.self, scratch_, flow.input,
                           add);
        if (pass.done != nullptr) (*pass.done)(add ? at.self.q : at.ff.in_weights);
    }
    leave_bwd(pass, Stack::kEncoder, side, table.encoder[0].self.norm, &flow);
}

void Transformer::backward(const Pass &pass, const PackedBatch &batch) {
    decoder_bwd(pass, batch);
    encoder_bwd(pass, batch);
}

}  // namespace xf
