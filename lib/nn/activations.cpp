// SPDX-License-Identifier: Apache-2.0
#include "nn/activations.h"

#include <algorithm>

namespace xf {
namespace {

// Returns whether the activation is a separate operation instead of a part of the first linear map.
bool has_inner(const ModelConfig &c, PassKind kind) { return !c.plain_relu() || kind == PassKind::kInnerDropout; }

NormActivations plan_norm(const ModelConfig &c, bool training, int64_t rows, Num sum, Arena *arena) {
    return {sum, arena->numbers(rows, c.D), training ? arena->floats(rows, 2) : nullptr};
}

// The sub-layers of all layers take turns with two norms: each one reads what the previous one wrote.
void plan_shared(const ModelConfig &c, bool decoder, int64_t rows, int64_t memory_rows, Arena *arena,
                 std::vector<LayerActivations> *layers) {
    NormActivations norms[2];
    for (NormActivations &norm : norms) norm = plan_norm(c, false, rows, arena->numbers(rows, c.D), arena);
    const Num wide = arena->numbers(rows, std::max(c.qkv_columns(), c.inner_columns()));
    const Num hidden = c.gated ? arena->numbers(rows, c.F) : wide;
    const Num context = arena->numbers(rows, c.v_columns());
    const Num kv = decoder && memory_rows > 0 ? arena->numbers(memory_rows, c.kv_columns()) : Num();
    int turn = 0;
    const auto next_norm = [&]() -> const NormActivations & { return norms[turn++ % 2]; };
    for (LayerActivations &layer : *layers) {
        layer.self = {wide, Num(), context, nullptr, next_norm()};
        if (decoder) layer.cross = {wide, kv, context, nullptr, next_norm()};
        layer.ff = {c.plain_relu() ? Num() : wide, hidden, next_norm()};
    }
}

}  // namespace

void plan_stack(const ModelConfig &c, Stack stack, PassKind kind, int64_t rows, int64_t memory_rows, Arena *arena,
                StackActivations *acts) {
    const bool training = kind != PassKind::kInference, decoder = stack == Stack::kDecoder;
    acts->embedded = arena->numbers(rows, c.D);
    Num input = acts->embedded;
    if (c.embedding_norm) input = (acts->embedding_norm = plan_norm(c, training, rows, input, arena)).dst;
    if (c.pre_norm) acts->first_norm = plan_norm(c, training, rows, input, arena);
    acts->layers.resize(c.layers(stack));
    if (!training) return plan_shared(c, decoder, rows, memory_rows, arena, &acts->layers);
    const auto norm = [&] { return plan_norm(c, true, rows, arena->numbers(rows, c.D), arena); };
    for (LayerActivations &layer : acts->layers) {
        layer = {};
        layer.self.qkv = arena->numbers(rows, c.qkv_columns());
        if (decoder) {
            layer.cross.qkv = arena->numbers(rows, c.q_columns());
            layer.cross.kv = arena->numbers(memory_rows, c.kv_columns());
        }
        for (AttentionActivations *attention : {&layer.self, &layer.cross}) {
            if (attention == &layer.cross && !decoder) continue;
            attention->context = arena->numbers(rows, c.v_columns());
            attention->lse = arena->floats(rows, c.H);
            attention->norm = norm();
        }
        if (has_inner(c, kind)) layer.ff.inner = arena->numbers(rows, c.inner_columns());
        layer.ff.hidden = arena->numbers(rows, c.F);
        layer.ff.norm = norm();
    }
}

BackwardScratch plan_backward(const ModelConfig &c, PassKind kind, int64_t S, int64_t T, Arena *arena) {
    const int64_t rows = std::max(S, T);
    BackwardScratch scratch{};
    scratch.diff_out = arena->numbers(rows, c.D);
    if (c.pre_norm) scratch.diff_residual = arena->numbers(rows, c.D);
    scratch.diff_context = arena->numbers(rows, c.v_columns());
    scratch.wide = arena->numbers(rows, std::max(c.qkv_columns(), c.F));
    if (has_inner(c, kind)) scratch.diff_inner = arena->numbers(rows, c.inner_columns());
    scratch.diff_kv = arena->numbers(S, c.kv_columns());
    return scratch;
}

}  // namespace xf
