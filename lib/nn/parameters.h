// Which parameter tensors a model has, where they lie, and what they are before training.
//
// All parameters lie in one block in file order, so that gradients and Adam's moments are blocks of the same shape and
// an update is one pass. Matrices that are applied to the same input (q, k, v) stand next to each other: a row per
// output column makes them one matrix for the backend without a copy.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "nn/model_config.h"

namespace xf {

enum class Init { kGlorot, kEmbedding, kZero, kOne };

struct Parameter {
    std::string name;       // module path, the name in files and messages
    int64_t rows, columns;  // [out, in]; [V, D]; vectors are [1, n]
    bool vector;
    Init init;
    int64_t offset;  // into the block, in numbers
    int64_t size() const { return rows * columns; }
};

// Offsets of a sub-layer's tensors into the block.
struct NormOffsets {
    int64_t weights, bias;
};
struct AttentionOffsets {
    int64_t q, k, v, o;  // q, k, v adjacent
    NormOffsets norm;
};
struct FeedForwardOffsets {
    int64_t in_weights, in_bias, out_weights, out_bias;
    NormOffsets norm;
};
struct EncoderLayerOffsets {
    AttentionOffsets self;
    FeedForwardOffsets ff;
};
struct DecoderLayerOffsets {
    AttentionOffsets self, cross;
    FeedForwardOffsets ff;
};

struct ParameterTable {
    explicit ParameterTable(const ModelConfig &config);

    std::vector<Parameter> list;
    int64_t total = 0;  // numbers in the block, each tensor begun at a multiple of 16
    int64_t embedding = 0;
    int64_t encoder_positions = -1, decoder_positions = -1;  // -1: sinusoids, no parameter
    std::vector<EncoderLayerOffsets> encoder;
    std::vector<DecoderLayerOffsets> decoder;
    NormOffsets encoder_norm{-1, -1}, decoder_norm{-1, -1};  // pre-LN only

    // What operations multiply with: neither a vector nor a table of positions.
    bool is_matrix(const Parameter &p) const {
        return !p.vector && p.offset != encoder_positions && p.offset != decoder_positions;
    }

    // Fills a block of total numbers (paper's authors' initialisation; see xf_model_create).
    void initialise(uint64_t seed, float *block) const;

private:
    int64_t add(std::string name, int64_t rows, int64_t columns, bool vector, Init init);
};

}  // namespace xf
