// The initialization is that of tensor2tensor for the paper's model: Glorot uniform for each matrix (q, k, and v
// separately), N(0, d_model^-1/2) for embeddings, 1 and 0 for norms, 0 for biases. Random numbers come from Philox. The
// key is the seed, and the counter includes the index of the tensor in the list, so that a tensor added at the end does
// not change the others.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/parameters.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/philox.h"

namespace xf {
namespace {

constexpr int64_t kAlign = 16;  // elements: 64 bytes
constexpr int64_t kMaxTotal = int64_t{1} << 36;
constexpr int64_t kMinPositionLimit = 1 << 22;  // elements of a table of sinusoids that are always allowed
constexpr uint32_t kInitStream = 0x494E4954;    // a random stream that differs from that of dropout
constexpr double kTwoPi = 6.283185307179586476925286766559;

constexpr int64_t aligned(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

double uniform(uint32_t bits) { return (bits + 0.5) * (1.0 / 4294967296.0); }

// Calls number(random words, j) for element 4i + j of dst with the words of block i.
template <class Number>
void fill_random(uint64_t seed, uint32_t tensor, int64_t count, float *dst, const Number &number) {
    for (int64_t i = 0; i < count; i += 4) {
        const uint32_t low = i / 4, high = i / 4 >> 32;
        const Philox r = philox(seed, low, high, tensor, kInitStream);
        for (int64_t j = 0; j < 4 && i + j < count; ++j) dst[i + j] = number(r.word, j);
    }
}

void fill_uniform(uint64_t seed, uint32_t tensor, double bound, int64_t count, float *dst) {
    fill_random(seed, tensor, count, dst,
                [&](const auto &word, int64_t j) { return (2 * uniform(word[j]) - 1) * bound; });
}

void fill_normal(uint64_t seed, uint32_t tensor, double deviation, int64_t count, float *dst) {
    fill_random(seed, tensor, count, dst, [&](const auto &word, int64_t j) {  // Box and Muller 1958
        const double radius = std::sqrt(-2 * std::log(uniform(word[j & 2])));
        const double angle = kTwoPi * uniform(word[(j & 2) + 1]);
        return deviation * radius * ((j & 1) ? std::sin(angle) : std::cos(angle));
    });
}

}  // namespace

void fill_sinusoids(int64_t first, int64_t rows, int64_t D, float *table) {
    for (int64_t i = 0; i < D; i += 2) {
        const double rate = std::pow(10000.0, -1.0 * i / D);
        for (int64_t row = 0; row < rows; ++row) {
            const double angle = (first + row) * rate;
            table[row * D + i] = std::sin(angle);
            table[row * D + i + 1] = std::cos(angle);
        }
    }
}

int64_t ParameterTable::add(std::string name, int64_t rows, int64_t columns, bool vector, Init init, bool adjacent) {
    if (!adjacent) total = aligned(total);
    const int64_t offset = total;
    XF_CHECK(rows <= kMaxTotal / columns && total <= kMaxTotal - rows * columns - kAlign, XF_ERROR_LIMIT,
             "the model would have more than %" PRId64 " parameters", kMaxTotal);
    list.push_back({std::move(name), rows, columns, vector, init, offset});
    total += rows * columns;
    return offset;
}

int64_t ParameterTable::add_matrix(const std::string &path, int64_t rows, int64_t columns, bool adjacent) {
    return add(path + ".weight", rows, columns, false, Init::kGlorot, adjacent);
}

int64_t ParameterTable::add_bias(const std::string &path, int64_t columns, bool adjacent) {
    return add(path + ".bias", 1, columns, true, Init::kZero, adjacent);
}

NormOffsets ParameterTable::add_norm(const ModelConfig &c, const std::string &path) {
    NormOffsets n;
    n.weights = add(path + ".weight", 1, c.D, true, Init::kOne);
    if (!c.rms_norm) n.bias = add_bias(path, c.D);
    return n;
}

AttentionOffsets ParameterTable::add_attention(const ModelConfig &c, const std::string &path) {
    AttentionOffsets a;
    a.q = add_matrix(path + ".q", c.q_columns(), c.D);
    a.k = add_matrix(path + ".k", c.q_columns(), c.D, true);
    a.v = add_matrix(path + ".v", c.v_columns(), c.D, true);
    if (c.attention_bias) {
        a.q_bias = add_bias(path + ".q", c.q_columns());
        a.k_bias = add_bias(path + ".k", c.q_columns(), true);
        a.v_bias = add_bias(path + ".v", c.v_columns(), true);
    }
    a.o = add_matrix(path + ".o", c.D, c.v_columns());
    if (c.attention_bias) a.o_bias = add_bias(path + ".o", c.D);
    a.norm = add_norm(c, path + ".norm");
    return a;
}

FeedForwardOffsets ParameterTable::add_feed_forward(const ModelConfig &c, const std::string &path) {
    FeedForwardOffsets f;
    f.in_weights = add_matrix(path + ".in", c.F, c.D);
    if (c.gated) f.gate_weights = add_matrix(path + ".gate", c.F, c.D, true);
    f.in_bias = add_bias(path + ".in", c.F);
    if (c.gated) f.gate_bias = add_bias(path + ".gate", c.F, true);
    f.out_weights = add_matrix(path + ".out", c.D, c.F);
    f.out_bias = add_bias(path + ".out", c.D);
    f.norm = add_norm(c, path + ".norm");
    return f;
}

int64_t ParameterTable::add_embedding(const ModelConfig &c, const std::string &path, int64_t rows) {
    return add(path + ".weight", rows, c.D, false, Init::kEmbedding);
}

void ParameterTable::add_stack(const ModelConfig &c, Stack which) {
    const bool is_encoder = which == Stack::kEncoder;
    StackOffsets &s = is_encoder ? encoder : decoder;
    const std::string name = is_encoder ? "encoder" : "decoder";
    if (c.positions != Positions::kSinusoid) {
        const Init init = c.positions == Positions::kLearned ? Init::kEmbedding : Init::kSinusoid;
        s.positions = add(name + ".position.weight", c.max_length, c.D, false, init);
    }
    if (c.embedding_norm) s.embedding_norm = add_norm(c, name + ".embedding_norm");
    for (int64_t i = 0; i < c.layers(which); ++i) {
        const std::string path = name + "." + std::to_string(i);
        LayerOffsets &layer = s.layers.emplace_back();
        layer.self = add_attention(c, path + ".self_attention");
        if (!is_encoder) layer.cross = add_attention(c, path + ".cross_attention");
        layer.ff = add_feed_forward(c, path + ".feed_forward");
    }
    if (c.pre_norm) s.final_norm = add_norm(c, name + ".norm");
}

ParameterTable::ParameterTable(const ModelConfig &c) {
    const bool shared = c.tie == Tie::kAll;
    encoder.embedding = add_embedding(c, shared ? "embedding" : "encoder.embedding", c.source_V);
    add_stack(c, Stack::kEncoder);
    decoder.embedding = shared ? encoder.embedding : add_embedding(c, "decoder.embedding", c.V);
    add_stack(c, Stack::kDecoder);
    output = c.tie == Tie::kNone ? add_embedding(c, "output", c.V) : decoder.embedding;
    if (c.output_bias) output_bias = add_bias("output", c.V);
    total = aligned(total);
    // Sinusoids are not stored in files: without a limit, a small file could request any amount of memory.
    XF_CHECK(c.positions != Positions::kSinusoid || c.max_length * c.D <= std::max(total, kMinPositionLimit),
             XF_ERROR_LIMIT,
             "model.max_length %" PRId64 " requires %" PRId64 " position values, expected at most %" PRId64
             ": the number of parameters, or "
             "4194304",
             c.max_length, c.max_length * c.D, std::max(total, kMinPositionLimit));
}

void ParameterTable::initialize(uint64_t seed, float *block) const {
    std::fill_n(block, total, 0.0f);  // including the padding
    for (uint32_t tensor = 0; tensor < list.size(); ++tensor) {
        const Parameter &p = list[tensor];
        float *dst = block + p.offset;
        switch (p.init) {
            case Init::kZero:
                break;
            case Init::kOne:
                std::fill_n(dst, p.size(), 1.0f);
                break;
            case Init::kGlorot:
                fill_uniform(seed, tensor, std::sqrt(6.0 / (p.rows + p.columns)), p.size(), dst);
                break;
            case Init::kSinusoid:
                fill_sinusoids(0, p.rows, p.columns, dst);
                break;
            case Init::kEmbedding:
                fill_normal(seed, tensor, 1 / std::sqrt(p.columns), p.size(), dst);
                break;
        }
    }
}

}  // namespace xf
