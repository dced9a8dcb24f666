// The parameter tensors of a model: names, shapes, offsets, and initial values.
//
// All parameters share one block, in file order. Gradients and Adam's moments are blocks of the same shape, so an
// update is one pass over memory. Matrices that multiply the same input (q, k, v) are adjacent: with one row per output
// column, the backend sees them as one matrix without a copy. Their biases are adjacent, too.
//
// A table of positions that is not trained (model.positions fixed) is an ordinary parameter whose gradient is always 0,
// so Adam does not change it.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "nn/model_config.h"

namespace xf {

enum class Init { kGlorot, kEmbedding, kZero, kOne, kSinusoid };

struct Parameter {
    std::string name;       // module path, used in files and messages
    int64_t rows, columns;  // [out, in]; [V, D]; vectors are [1, n]
    bool vector;
    Init init;
    int64_t offset;  // in the block, in elements
    int64_t size() const { return rows * columns; }
};

// Offsets of tensors in the block. kAbsent: the model does not have the tensor.
constexpr int64_t kAbsent = -1;
struct NormOffsets {
    int64_t weights = kAbsent, bias = kAbsent;
};
struct AttentionOffsets {
    int64_t q = kAbsent, k = kAbsent, v = kAbsent, o = kAbsent;                      // q, k, v are adjacent
    int64_t q_bias = kAbsent, k_bias = kAbsent, v_bias = kAbsent, o_bias = kAbsent;  // likewise
    NormOffsets norm{};
};
struct FeedForwardOffsets {
    int64_t in_weights = kAbsent, in_bias = kAbsent;
    int64_t gate_weights = kAbsent, gate_bias = kAbsent;  // directly after in_*: one linear map computes both
    int64_t out_weights = kAbsent, out_bias = kAbsent;
    NormOffsets norm{};
};
struct LayerOffsets {
    AttentionOffsets self, cross;  // cross: decoder only
    FeedForwardOffsets ff;
};
struct StackOffsets {
    int64_t embedding = 0;
    int64_t positions = kAbsent;  // kAbsent: sinusoids, which are not a parameter
    NormOffsets embedding_norm;   // with model.embedding_norm
    std::vector<LayerOffsets> layers;
    NormOffsets final_norm;  // pre-norm only
};

struct ParameterTable {
    explicit ParameterTable(const ModelConfig &config);

    std::vector<Parameter> list;
    int64_t total = 0;              // elements of the block; each tensor begins at a multiple of 16
    StackOffsets encoder, decoder;  // model.tie determines which embeddings are the same tensor
    int64_t output = 0, output_bias = kAbsent;

    const StackOffsets &stack(Stack which) const { return which == Stack::kEncoder ? encoder : decoder; }

    // Returns whether operations multiply with the parameter: it is neither a vector nor a table of positions.
    bool is_matrix(const Parameter &p) const {
        return !p.vector && p.offset != encoder.positions && p.offset != decoder.positions;
    }
    // Fills a block of `total` elements with initial values (the initialization of the paper's authors; see
    // xf_model_create).
    void initialize(uint64_t seed, float *block) const;

private:
    // adjacent: directly after the previous tensor, without alignment.
    int64_t add(std::string name, int64_t rows, int64_t columns, bool vector, Init init, bool adjacent = false);
    int64_t add_matrix(const std::string &path, int64_t rows, int64_t columns, bool adjacent = false);
    int64_t add_bias(const std::string &path, int64_t columns, bool adjacent = false);
    NormOffsets add_norm(const ModelConfig &config, const std::string &path);
    AttentionOffsets add_attention(const ModelConfig &config, const std::string &path);
    FeedForwardOffsets add_feed_forward(const ModelConfig &config, const std::string &path);
    int64_t add_embedding(const ModelConfig &config, const std::string &path, int64_t rows);
    // Everything of a stack except its embedding.
    void add_stack(const ModelConfig &config, Stack stack);
};

// Writes rows [first, first + rows) of the paper's table of positions (s. 3.5), dense:
// PE(pos, 2i) = sin(pos / 10000^(2i / D)), PE(pos, 2i + 1) = cos(pos / 10000^(2i / D)).
void fill_sinusoids(int64_t first, int64_t rows, int64_t D, float *table);

}  // namespace xf
