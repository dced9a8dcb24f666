// Activations of a forward pass and scratch memory of a backward pass, laid out in an arena (arena.h).
//
// The shapes of every pass are defined here: training, scoring, and decoding steps use plan_stack(), and summary.cpp
// uses it to estimate memory. Without a backward pass all layers share the same memory.
//
// Rows of the encoder are S, rows of the decoder T. D, H, dk, dv, and F are as in docs/ops/overview.md.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "nn/arena.h"
#include "nn/model_config.h"

namespace xf {

struct NormActivations {
    Num sum;       // [rows, D] before normalization; the sub-layer writes its output here
    Num dst;       // [rows, D]
    float *stats;  // [rows, 2]; null without a backward pass
};

struct AttentionActivations {
    Num qkv;      // self-attention: [rows, H(2dk + dv)]; cross-attention: the queries [T, H dk]
    Num kv;       // cross-attention: [S, H(dk + dv)]
    Num context;  // [rows, H dv], heads side by side, before W_O
    float *lse;   // [rows, H]; null without a backward pass
    NormActivations norm;
};

struct FeedForwardActivations {
    Num inner;   // [rows, inner_columns] before the activation; null if the first linear map includes a ReLU
    Num hidden;  // [rows, F] after the activation; the same memory as inner if inner is not needed afterwards
    NormActivations norm;
};

struct LayerActivations {
    AttentionActivations self, cross;  // cross: decoder only
    FeedForwardActivations ff;
};

struct StackActivations {
    Num embedded;                    // [rows, D]
    NormActivations embedding_norm;  // with model.embedding_norm; sum is embedded
    NormActivations first_norm;      // pre-norm: the norm before the first sub-layer; sum is its input
    std::vector<LayerActivations> layers;
};

// Scratch memory of a backward pass, shared by all layers.
struct BackwardScratch {
    Num diff_out;       // [rows, D] gradient of the output of a sub-layer
    Num diff_residual;  // [rows, D]; pre-norm only
    Num diff_context;   // [rows, H dv]
    Num wide;           // the largest of [rows, H(2dk + dv)], [rows, F], [rows, H dk]
    Num diff_inner;     // [rows, inner_columns]; null if FeedForwardActivations::inner is null
    Num diff_kv;        // [S, H(dk + dv)]
};

enum class PassKind {
    kInference,     // no backward pass; layers share memory
    kTraining,      // a backward pass may follow
    kInnerDropout,  // the same, with dropout after the activation of the feed-forward sub-layers
};

// rows: of the stack. memory_rows: rows of the encoder's output, if cross-attention computes its keys and values in
// this pass; otherwise 0.
void plan_stack(const ModelConfig &config, Stack stack, PassKind kind, int64_t rows, int64_t memory_rows, Arena *arena,
                StackActivations *acts);
BackwardScratch plan_backward(const ModelConfig &config, PassKind kind, int64_t S, int64_t T, Arena *arena);

}  // namespace xf
