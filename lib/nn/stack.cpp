// SPDX-License-Identifier: Apache-2.0
#include "nn/stack.h"

namespace xf {
namespace {

// The norm of the boundary above the last sub-layer of layer i.
const NormOffsets &upper_norm(const StackOffsets &at, size_t i) {
    return i + 1 < at.layers.size() ? at.layers[i + 1].self.norm : at.final_norm;
}

// The input of the first sub-layer.
Num first_input(const ModelConfig &c, const StackActivations &acts) {
    return c.pre_norm ? acts.first_norm.dst : c.embedding_norm ? acts.embedding_norm.dst : acts.embedded;
}

Flow embed_fwd(const Pass &pass, Stack stack, const Tokens &tokens, const StackActivations &acts) {
    const ModelConfig &c = pass.config();
    const StackOffsets &at = pass.model.table().stack(stack);
    xf_embed_fwd args{};
    args.rows = tokens.rows;
    args.D = c.D;
    args.ids = tokens.ids;
    args.pos = tokens.positions;
    args.V = stack == Stack::kEncoder ? c.source_V : c.V;
    pass.matrix(at.embedding).give_to(&args);
    args.positions = pass.model.positions(stack);
    args.scale = c.embedding_scale;
    args.dst = acts.embedded;
    args.dropout = pass.drop(embed_site(stack));
    pass.stream.run(args);
    Flow flow{acts.embedded, acts.embedded};
    if (c.embedding_norm) {
        const Num normalized =
            boundary_fwd(pass, at.embedding_norm, tokens.rows, flow, nullptr, acts.embedding_norm, 0).input;
        flow = {normalized, normalized};
    }
    if (c.pre_norm) flow = boundary_fwd(pass, at.layers[0].self.norm, tokens.rows, flow, nullptr, acts.first_norm, 0);
    return flow;
}

void embed_bwd(const Pass &pass, Stack stack, const PackedSide &side, const StackActivations &acts, DiffFlow *flow) {
    const ModelConfig &c = pass.config();
    const StackOffsets &at = pass.model.table().stack(stack);
    Num diff = flow->input;
    if (c.pre_norm) {
        boundary_bwd(pass, at.layers[0].self.norm, side.rows, acts.first_norm, 0, flow, nullptr, nullptr);
        diff = flow->residual;
    }
    if (c.embedding_norm) {
        DiffFlow in_place{diff, diff, true};
        boundary_bwd(pass, at.embedding_norm, side.rows, acts.embedding_norm, 0, &in_place, nullptr, nullptr);
    }
    const auto scatter = [&](const PackedSide::Groups &groups, int64_t table, float scale) {
        xf_embed_bwd args{};
        args.groups = groups.count;
        args.D = c.D;
        args.group_ids = groups.ids;
        args.starts = groups.starts;
        args.order = groups.order;
        args.diff_dst = diff;
        args.scale = scale;
        args.diff_weights = pass.grad(table);
        args.dropout = pass.drop(embed_site(stack));
        pass.stream.run(args);
    };
    scatter(side.by_id, at.embedding, c.embedding_scale);
    if (c.positions == Positions::kLearned) scatter(side.by_position, at.positions, 1);
}

}  // namespace

Num stack_fwd(const Pass &pass, Stack stack, const Tokens &tokens, Attention *attention, const StackActivations &acts) {
    const ModelConfig &c = pass.config();
    const StackOffsets &offsets = pass.model.table().stack(stack);
    const bool decoder = stack == Stack::kDecoder;
    const int64_t rows = tokens.rows;
    Flow flow = embed_fwd(pass, stack, tokens, acts);
    for (size_t i = 0; i < offsets.layers.size(); ++i) {
        if (!decoder) pass.call.check_deadline();  // the steps of a search end it with a partial result instead
        const LayerOffsets &at = offsets.layers[i];
        const LayerActivations &layer = acts.layers[i];
        const auto site = [&](uint32_t sub, bool inside) { return sublayer_site(stack, i, sub, inside); };
        const auto boundary = [&](const NormOffsets &lower, const NormOffsets &upper, const NormActivations &norm,
                                  uint32_t sub) {
            flow = boundary_fwd(pass, boundary_norm(pass, lower, upper), rows, flow, norm.sum, norm, site(sub, false));
        };
        linear_fwd(pass, rows, c.qkv_columns(), c.D, flow.input, at.self.q, at.self.q_bias, layer.self.qkv);
        attention->self(pass, i, site(0, true), layer.self);
        linear_fwd(pass, rows, c.D, c.v_columns(), layer.self.context, at.self.o, at.self.o_bias, layer.self.norm.sum);
        boundary(at.self.norm, decoder ? at.cross.norm : at.ff.norm, layer.self.norm, 0);
        if (decoder) {
            linear_fwd(pass, rows, c.q_columns(), c.D, flow.input, at.cross.q, at.cross.q_bias, layer.cross.qkv);
            attention->cross(pass, i, site(1, true), layer.cross);
            linear_fwd(pass, rows, c.D, c.v_columns(), layer.cross.context, at.cross.o, at.cross.o_bias,
                       layer.cross.norm.sum);
            boundary(at.cross.norm, at.ff.norm, layer.cross.norm, 1);
        }
        feed_forward_fwd(pass, at.ff, rows, site(2, true), flow.input, layer.ff);
        boundary(at.ff.norm, upper_norm(offsets, i), layer.ff.norm, 2);
    }
    return flow.input;
}

void stack_bwd(const Pass &pass, Stack stack, const PackedAttention &attention, const StackActivations &acts,
               const BackwardScratch &scratch, Num diff_output, Num diff_memory) {
    const StackOffsets &offsets = pass.model.table().stack(stack);
    const bool decoder = stack == Stack::kDecoder, accumulate = !pass.config().pre_norm;
    const int64_t rows = attention.side().rows;
    const Num diff_out = scratch.diff_out;
    DiffFlow flow{diff_output, scratch.diff_residual, true};
    for (size_t i = offsets.layers.size(); i-- > 0;) {
        const LayerOffsets &at = offsets.layers[i];
        const LayerActivations &layer = acts.layers[i];
        const auto site = [&](uint32_t sub, bool inside) { return sublayer_site(stack, i, sub, inside); };
        const auto boundary = [&](const NormOffsets &lower, const NormOffsets &upper, const NormActivations &norm,
                                  uint32_t sub, int64_t output_bias) {
            boundary_bwd(pass, boundary_norm(pass, lower, upper), rows, norm, site(sub, false), &flow, diff_out,
                         pass.grad(output_bias));
        };
        boundary(at.ff.norm, upper_norm(offsets, i), layer.ff.norm, 2, at.ff.out_bias);
        feed_forward_bwd(pass, at.ff, rows, site(2, true), decoder ? layer.cross.norm.dst : layer.self.norm.dst,
                         layer.ff, scratch, flow.input, accumulate);
        if (decoder) {
            boundary(at.cross.norm, at.ff.norm, layer.cross.norm, 1, at.cross.o_bias);
            attention.cross_bwd(pass, at.cross, site(1, true), layer.self.norm.dst, layer.cross, scratch, flow.input,
                                accumulate, diff_memory, i + 1 < offsets.layers.size());
        }
        boundary(at.self.norm, decoder ? at.cross.norm : at.ff.norm, layer.self.norm, 0, at.self.o_bias);
        const Num input = i > 0 ? acts.layers[i - 1].ff.norm.dst : first_input(pass.config(), acts);
        attention.self_bwd(pass, at.self, site(0, true), input, layer.self, scratch, flow.input, accumulate);
    }
    embed_bwd(pass, stack, attention.side(), acts, &flow);
}

}  // namespace xf
