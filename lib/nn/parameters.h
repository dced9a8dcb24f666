// Which parameter tensors a model has, where they lie, and what they are before training.
//
// All parameters lie in one block in file order, so that gradients and Adam's moments are blocks of the same shape and
// an update is one pass. Matrices that are applied to the same input (q, k, v) stand next to each other: a row per
// output column makes them one matrix for the backend without a copy. So do their biases.
//
// A table of positions that is not trained (model.positions fixed) is a parameter like others, but its gradient is
// always 0, with which Adam leaves it as it is.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "nn/model_config.h"

namespace xf {

enum class Init { kGlorot, kEmbedding, kZero, kOne, kSinusoid };

struct Parameter {
    std::string name;       // module path, the name in files and messages
    int64_t rows, columns;  // [out, in]; [V, D]; vectors are [1, n]
    bool vector;
    Init init;
    int64_t offset;  // into the block, in numbers
    int64_t size() const { return rows * columns; }
};

// Offsets of a sub-layer's tensors into the block; kAbsent: the model has no such tensor.
constexpr int64_t kAbsent = -1;
struct NormOffsets {
    int64_t weights = kAbsent, bias = kAbsent;
};
struct AttentionOffsets {
    int64_t q, k, v, o;                      // q, k, v adjacent
    int64_t q_bias, k_bias, v_bias, o_bias;  // likewise
    NormOffsets norm;
};
struct FeedForwardOffsets {
    int64_t in_weights, in_bias;
    int64_t gate_weights, gate_bias;  // right behind those: one map has both
    int64_t out_weights, out_bias;
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
    int64_t source_embedding = 0, target_embedding = 0, output = 0;  // which of them are one: model.tie
    int64_t output_bias = kAbsent;
    int64_t encoder_positions = kAbsent, decoder_positions = kAbsent;  // kAbsent: sinusoids, no parameter
    NormOffsets encoder_entry, decoder_entry;                          // of embeddings
    std::vector<EncoderLayerOffsets> encoder;
    std::vector<DecoderLayerOffsets> decoder;
    NormOffsets encoder_norm, decoder_norm;  // pre-LN only

    // What operations multiply with: neither a vector nor a table of positions.
    bool is_matrix(const Parameter &p) const {
        return !p.vector && p.offset != encoder_positions && p.offset != decoder_positions;
    }

    // Fills a block of total numbers (paper's authors' initialisation; see xf_model_create).
    void initialise(uint64_t seed, float *block) const;

private:
    // adjacent: right behind the one before it, without a gap.
    int64_t add(std::string name, int64_t rows, int64_t columns, bool vector, Init init, bool adjacent = false);
    int64_t add_matrix(const std::string &path, int64_t rows, int64_t columns, bool adjacent = false);
    int64_t add_bias(const std::string &path, int64_t columns, bool adjacent = false);
    NormOffsets add_norm(const ModelConfig &config, const std::string &path);
    AttentionOffsets add_attention(const ModelConfig &config, const std::string &path);
    FeedForwardOffsets add_feed_forward(const ModelConfig &config, const std::string &path);
    // What comes before a stack's layers.
    void add_entry(const ModelConfig &config, const std::string &stack, int64_t *positions, NormOffsets *norm);
};

// The paper's table of positions, s. 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / D)), PE(pos, 2i + 1) = cos of the same.
// rows of it from position first on, dense.
void fill_sinusoids(int64_t first, int64_t rows, int64_t D, float *table);

}  // namespace xf
