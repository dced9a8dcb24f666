// See parameters.h.
//
// Initialisation is tensor2tensor's for the paper's model: Glorot uniform for every matrix with q, k and v each on its
// own, embeddings N(0, d_model^-1/2), norms 1 and 0, biases 0. Numbers come from Philox keyed by the seed with the
// tensor's place in the list as counter, so adding a tensor at the end changes no other.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/parameters.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/philox.h"

namespace xf {
namespace {

constexpr int64_t kAlign = 16;  // numbers: 64 bytes
constexpr int64_t kMaxTotal = int64_t{1} << 36;
constexpr int64_t kFreePositions = 1 << 22;   // numbers, whatever the parameters take
constexpr uint32_t kInitStream = 0x494E4954;  // keeps these numbers apart from those of dropout
constexpr double kTwoPi = 6.283185307179586476925286766559;

constexpr int64_t aligned(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

double uniform(uint32_t bits) { return (bits + 0.5) * (1.0 / 4294967296.0); }

void fill_uniform(uint64_t seed, uint32_t tensor, double bound, int64_t count, float *dst) {
    for (int64_t i = 0; i < count; i += 4) {
        const auto block = static_cast<uint64_t>(i / 4);
        const Philox r =
            philox(seed, static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), tensor, kInitStream);
        for (int64_t j = 0; j < 4 && i + j < count; ++j)
            dst[i + j] = static_cast<float>((2 * uniform(r.word[j]) - 1) * bound);
    }
}

void fill_normal(uint64_t seed, uint32_t tensor, double deviation, int64_t count, float *dst) {
    for (int64_t i = 0; i < count; i += 4) {
        const auto block = static_cast<uint64_t>(i / 4);
        const Philox r =
            philox(seed, static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), tensor, kInitStream);
        for (int64_t j = 0; j < 4 && i + j < count; ++j) {  // Box and Muller 1958
            const double radius = std::sqrt(-2 * std::log(uniform(r.word[j & 2])));
            const double angle = kTwoPi * uniform(r.word[(j & 2) + 1]);
            dst[i + j] = static_cast<float>(deviation * radius * ((j & 1) ? std::sin(angle) : std::cos(angle)));
        }
    }
}

}  // namespace

void fill_sinusoids(int64_t first, int64_t rows, int64_t D, float *table) {
    for (int64_t i = 0; i < D; i += 2) {
        const double rate = std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(D));
        for (int64_t row = 0; row < rows; ++row) {
            const double angle = static_cast<double>(first + row) * rate;
            table[row * D + i] = static_cast<float>(std::sin(angle));
            table[row * D + i + 1] = static_cast<float>(std::cos(angle));
        }
    }
}

int64_t ParameterTable::add(std::string name, int64_t rows, int64_t columns, bool vector, Init init, bool adjacent) {
    if (!adjacent) total = aligned(total);
    const int64_t offset = total;
    XF_CHECK(rows <= kMaxTotal / columns && total <= kMaxTotal - rows * columns - kAlign, XF_ERROR_LIMIT,
             "the model would have more than %lld parameters", static_cast<long long>(kMaxTotal));
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
    AttentionOffsets a{0, 0, 0, 0, kAbsent, kAbsent, kAbsent, kAbsent, {}};
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
    FeedForwardOffsets f{0, 0, kAbsent, kAbsent, 0, 0, {}};
    f.in_weights = add_matrix(path + ".in", c.F, c.D);
    if (c.gated) f.gate_weights = add_matrix(path + ".gate", c.F, c.D, true);
    f.in_bias = add_bias(path + ".in", c.F);
    if (c.gated) f.gate_bias = add_bias(path + ".gate", c.F, true);
    f.out_weights = add_matrix(path + ".out", c.D, c.F);
    f.out_bias = add_bias(path + ".out", c.D);
    f.norm = add_norm(c, path + ".norm");
    return f;
}

void ParameterTable::add_entry(const ModelConfig &c, const std::string &stack, int64_t *positions, NormOffsets *norm) {
    if (c.positions != Positions::kSinusoid) {
        const Init init = c.positions == Positions::kLearned ? Init::kEmbedding : Init::kSinusoid;
        *positions = add(stack + ".position.weight", c.max_length, c.D, false, init);
    }
    if (c.embedding_norm) *norm = add_norm(c, stack + ".embedding_norm");
}

ParameterTable::ParameterTable(const ModelConfig &c) {
    const auto embedding = [&](const char *name, int64_t rows) {
        return add(name, rows, c.D, false, Init::kEmbedding);
    };
    if (c.tie == Tie::kAll)
        source_embedding = target_embedding = embedding("embedding.weight", c.V);
    else
        source_embedding = embedding("encoder.embedding.weight", c.source_V);
    add_entry(c, "encoder", &encoder_positions, &encoder_entry);
    for (int64_t i = 0; i < c.encoder_layers; ++i) {
        const std::string path = "encoder." + std::to_string(i);
        const AttentionOffsets self = add_attention(c, path + ".self_attention");
        encoder.push_back({self, add_feed_forward(c, path + ".feed_forward")});
    }
    if (c.pre_norm) encoder_norm = add_norm(c, "encoder.norm");
    if (c.tie != Tie::kAll) target_embedding = embedding("decoder.embedding.weight", c.V);
    add_entry(c, "decoder", &decoder_positions, &decoder_entry);
    for (int64_t i = 0; i < c.decoder_layers; ++i) {
        const std::string path = "decoder." + std::to_string(i);
        const AttentionOffsets self = add_attention(c, path + ".self_attention");
        const AttentionOffsets cross = add_attention(c, path + ".cross_attention");
        decoder.push_back({self, cross, add_feed_forward(c, path + ".feed_forward")});
    }
    if (c.pre_norm) decoder_norm = add_norm(c, "decoder.norm");
    output = c.tie == Tie::kNone ? embedding("output.weight", c.V) : target_embedding;
    if (c.output_bias) output_bias = add_bias("output", c.V);
    total = aligned(total);
    // It is in no file: without a bound a small one could ask for any amount of memory.
    XF_CHECK(c.positions != Positions::kSinusoid || c.max_length * c.D <= std::max(total, kFreePositions),
             XF_ERROR_LIMIT,
             "model.max_length is %lld, which takes %lld numbers for positions, expected at most %lld: as many as "
             "parameters, or 4194304",
             static_cast<long long>(c.max_length), static_cast<long long>(c.max_length * c.D),
             static_cast<long long>(std::max(total, kFreePositions)));
}

void ParameterTable::initialise(uint64_t seed, float *block) const {
    for (int64_t i = 0; i < total; ++i) block[i] = 0;  // the gaps too
    for (size_t i = 0; i < list.size(); ++i) {
        const Parameter &p = list[i];
        float *dst = block + p.offset;
        const auto tensor = static_cast<uint32_t>(i);
        switch (p.init) {
            case Init::kZero:
                break;
            case Init::kOne:
                for (int64_t j = 0; j < p.size(); ++j) dst[j] = 1;
                break;
            case Init::kGlorot:
                fill_uniform(seed, tensor, std::sqrt(6.0 / static_cast<double>(p.rows + p.columns)), p.size(), dst);
                break;
            case Init::kSinusoid:
                fill_sinusoids(0, p.rows, p.columns, dst);
                break;
            case Init::kEmbedding:
                fill_normal(seed, tensor, 1 / std::sqrt(static_cast<double>(p.columns)), p.size(), dst);
                break;
        }
    }
}

}  // namespace xf
