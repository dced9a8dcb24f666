// See parameters.h.
//
// Initialisation is tensor2tensor's for the paper's model: Glorot uniform for every matrix with q, k and v each on its
// own, embeddings N(0, d_model^-1/2), norms 1 and 0, biases 0. Numbers come from Philox keyed by the seed with the
// tensor's place in the list as counter, so adding a tensor at the end changes no other.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/parameters.h"

#include <cmath>

#include "core/error.h"
#include "core/philox.h"

namespace xf {
namespace {

constexpr int64_t kAlign = 16;  // numbers: 64 bytes
constexpr int64_t kMaxTotal = int64_t{1} << 36;
constexpr uint32_t kInitStream = 0x494E4954;  // keeps these numbers apart from those of dropout
constexpr double kTwoPi = 6.283185307179586476925286766559;

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

int64_t ParameterTable::add(std::string name, int64_t rows, int64_t columns, bool vector, Init init) {
    const int64_t offset = total;
    XF_CHECK(rows <= kMaxTotal / columns && total <= kMaxTotal - rows * columns - kAlign, XF_ERROR_LIMIT,
             "the model would have more than %lld parameters", static_cast<long long>(kMaxTotal));
    list.push_back({std::move(name), rows, columns, vector, init, offset});
    total += (rows * columns + kAlign - 1) / kAlign * kAlign;
    return offset;
}

ParameterTable::ParameterTable(const ModelConfig &c) {
    const auto norm = [&](const std::string &path) {
        NormOffsets n;
        n.weights = add(path + ".weight", 1, c.D, true, Init::kOne);
        n.bias = add(path + ".bias", 1, c.D, true, Init::kZero);
        return n;
    };
    const auto attention = [&](const std::string &path) {
        AttentionOffsets a;
        // Stacked to one matrix by the backend: no gap may stand between them.
        const int64_t begin = total;
        a.q = add(path + ".q.weight", c.q_columns(), c.D, false, Init::kGlorot);
        total = a.k = begin + c.q_columns() * c.D;
        add(path + ".k.weight", c.q_columns(), c.D, false, Init::kGlorot);
        total = a.v = a.k + c.q_columns() * c.D;
        add(path + ".v.weight", c.v_columns(), c.D, false, Init::kGlorot);
        total = (a.v + c.v_columns() * c.D + kAlign - 1) / kAlign * kAlign;
        a.o = add(path + ".o.weight", c.D, c.v_columns(), false, Init::kGlorot);
        a.norm = norm(path + ".norm");
        return a;
    };
    const auto feed_forward = [&](const std::string &path) {
        FeedForwardOffsets f;
        f.in_weights = add(path + ".in.weight", c.F, c.D, false, Init::kGlorot);
        f.in_bias = add(path + ".in.bias", 1, c.F, true, Init::kZero);
        f.out_weights = add(path + ".out.weight", c.D, c.F, false, Init::kGlorot);
        f.out_bias = add(path + ".out.bias", 1, c.D, true, Init::kZero);
        f.norm = norm(path + ".norm");
        return f;
    };
    embedding = add("embedding.weight", c.V, c.D, false, Init::kEmbedding);
    if (c.learned_positions)
        encoder_positions = add("encoder.position.weight", c.max_length, c.D, false, Init::kEmbedding);
    for (int64_t i = 0; i < c.encoder_layers; ++i) {
        const std::string path = "encoder." + std::to_string(i);
        const AttentionOffsets self = attention(path + ".self_attention");
        encoder.push_back({self, feed_forward(path + ".feed_forward")});
    }
    if (c.pre_norm) encoder_norm = norm("encoder.norm");
    if (c.learned_positions)
        decoder_positions = add("decoder.position.weight", c.max_length, c.D, false, Init::kEmbedding);
    for (int64_t i = 0; i < c.decoder_layers; ++i) {
        const std::string path = "decoder." + std::to_string(i);
        const AttentionOffsets self = attention(path + ".self_attention");
        const AttentionOffsets cross = attention(path + ".cross_attention");
        decoder.push_back({self, cross, feed_forward(path + ".feed_forward")});
    }
    if (c.pre_norm) decoder_norm = norm("decoder.norm");
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
            case Init::kEmbedding:
                fill_normal(seed, tensor, 1 / std::sqrt(static_cast<double>(p.columns)), p.size(), dst);
                break;
        }
    }
}

}  // namespace xf
