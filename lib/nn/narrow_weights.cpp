// See narrow_weights.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/narrow_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "core/half.h"
#include "core/int8.h"

namespace xf {
namespace {

constexpr int64_t kLine = 64;  // bytes; where every unit and vector begins

int64_t up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// The matrices that are no unit of their own but more rows of the one before them, and the vectors that go on where
// the one before them ends.
std::set<int64_t> joined(const ParameterTable &table) {
    std::set<int64_t> offsets;
    const auto attention = [&](const AttentionOffsets &at, bool cross) {
        offsets.insert({at.v, at.v_bias});
        if (!cross) offsets.insert({at.k, at.k_bias});
    };
    const auto feed_forward = [&](const FeedForwardOffsets &at) { offsets.insert({at.gate_weights, at.gate_bias}); };
    for (const EncoderLayerOffsets &layer : table.encoder) {
        attention(layer.self, false);
        feed_forward(layer.ff);
    }
    for (const DecoderLayerOffsets &layer : table.decoder) {
        attention(layer.self, false);
        attention(layer.cross, true);
        feed_forward(layer.ff);
    }
    return offsets;
}

}  // namespace

NarrowLayout::NarrowLayout(const ParameterTable &table, uint32_t type) : type_(type) {
    const std::set<int64_t> more = joined(table);
    for (const Parameter &p : table.list) {
        const bool matrix = table.is_matrix(p);
        if (matrix && type == XF_WEIGHTS_INT8) check_int8_columns(p);
        if (more.count(p.offset) == 0)
            places_.push_back({p.offset, p.rows, p.columns, matrix, 0, 0});
        else if (matrix)
            places_.back().rows += p.rows;
        else
            places_.back().columns += p.columns;
    }
    const auto take_floats = [&](int64_t count) {
        const int64_t at = floats_;
        floats_ += up(count, kLine / static_cast<int64_t>(sizeof(float)));
        return at;
    };
    for (Place &place : places_) {
        if (!place.matrix) {
            place.at = take_floats(place.rows * place.columns);
            continue;
        }
        place.at = matrices_;
        if (type == XF_WEIGHTS_INT8) place.scales = take_floats(place.rows);
        matrices_ += up(type == XF_WEIGHTS_INT8 ? xf_int8_bytes(place.rows, place.columns)
                                                : place.rows * place.columns * static_cast<int64_t>(sizeof(uint16_t)),
                        kLine);
    }
}

const NarrowLayout::Place &NarrowLayout::find(int64_t offset) const {
    const auto after = std::upper_bound(places_.begin(), places_.end(), offset,
                                        [](int64_t value, const Place &place) { return value < place.offset; });
    XF_CHECK(after != places_.begin(), XF_ERROR_INTERNAL, "no parameter begins at %lld or before",
             static_cast<long long>(offset));
    return *std::prev(after);
}

NarrowWeights::NarrowWeights(Heap *heap, const ParameterTable &table, uint32_t type)
    : layout_(table, type),
      matrices_(heap, static_cast<size_t>(layout_.matrices_bytes()), "matrices"),
      floats_(heap, static_cast<size_t>(layout_.floats()) * sizeof(float), "vectors") {
    std::memset(floats_.data(), 0, floats_.bytes());  // what a kernel reads behind a row of scales is never noise
}

Matrix NarrowWeights::matrix(int64_t offset) const {
    const NarrowLayout::Place &place = layout_.find(offset);
    XF_CHECK(place.matrix && place.offset == offset, XF_ERROR_INTERNAL, "no unit begins at %lld",
             static_cast<long long>(offset));
    return {static_cast<const char *>(matrices_.data()) + place.at, type(),
            type() == XF_WEIGHTS_INT8 ? static_cast<const float *>(floats_.data()) + place.scales : nullptr};
}

float *NarrowWeights::vector(int64_t offset) const {
    const NarrowLayout::Place &place = layout_.find(offset);
    XF_CHECK(!place.matrix, XF_ERROR_INTERNAL, "no fp32 parameter begins at %lld", static_cast<long long>(offset));
    return static_cast<float *>(floats_.data()) + place.at + (offset - place.offset);
}

void *NarrowWeights::row(const Parameter &p, int64_t row) const {
    const NarrowLayout::Place &place = layout_.find(p.offset);
    const int64_t numbers = p.offset - place.offset + row * p.columns;
    return static_cast<char *>(matrices_.data()) + place.at + numbers * (type() == XF_WEIGHTS_INT8 ? 1 : 2);
}

float *NarrowWeights::scales(const Parameter &p) const {
    const NarrowLayout::Place &place = layout_.find(p.offset);
    return static_cast<float *>(floats_.data()) + place.scales + (p.offset - place.offset) / p.columns;
}

void NarrowWeights::write(const Parameter &p, int64_t first, int64_t count, const float *values) {
    const int64_t numbers = count * p.columns;
    if (!layout_.find(p.offset).matrix) {
        std::copy_n(values, numbers, vector(p.offset) + first * p.columns);
    } else if (type() == XF_WEIGHTS_INT8) {
        auto *q = static_cast<int8_t *>(row(p, first));
        for (int64_t i = 0; i < count; ++i)
            scales(p)[first + i] = quantized(p, values + i * p.columns, q + i * p.columns);
    } else {
        auto *halves = static_cast<uint16_t *>(row(p, first));
        for (int64_t i = 0; i < numbers; ++i) halves[i] = narrowed(p, type(), values[i]);
    }
}

void NarrowWeights::finish(Stream &stream) {
    if (type() != XF_WEIGHTS_INT8) return;
    for (const NarrowLayout::Place &place : layout_.places())
        if (place.matrix)
            stream.run(xf_pack_int8{place.rows, place.columns, static_cast<int8_t *>(matrices_.data()) + place.at});
    packed_ = true;
}

void NarrowWeights::read(Stream &stream, const Parameter &p, int64_t first, int64_t count, float *values) const {
    if (!layout_.find(p.offset).matrix) {
        std::copy_n(vector(p.offset) + first, count, values);
        return;
    }
    if (type() != XF_WEIGHTS_INT8) {
        const auto *halves = static_cast<const uint16_t *>(row(p, 0)) + first;
        for (int64_t i = 0; i < count; ++i) values[i] = widened(type(), halves[i]);
        return;
    }
    const int64_t begin = first / p.columns, end = (first + count + p.columns - 1) / p.columns;
    std::vector<int8_t> q(static_cast<size_t>((end - begin) * p.columns));
    read_rows(stream, p, begin, end - begin, q.data());
    const float *const scale = scales(p);
    for (int64_t i = first; i < first + count; ++i)
        values[i - first] = static_cast<float>(q[static_cast<size_t>(i - begin * p.columns)]) * scale[i / p.columns];
}

void NarrowWeights::read_rows(Stream &stream, const Parameter &p, int64_t first, int64_t count, int8_t *q) const {
    if (!packed_) {
        std::copy_n(static_cast<const int8_t *>(row(p, first)), count * p.columns, q);
        return;
    }
    const NarrowLayout::Place &place = layout_.find(p.offset);
    const int64_t above = (p.offset - place.offset) / p.columns;
    stream.run(xf_unpack_int8{place.rows, place.columns, above + first, count,
                              static_cast<const int8_t *>(matrices_.data()) + place.at, q});
}

uint16_t narrowed(const Parameter &p, uint32_t type, float value) {
    const bool fp16 = type == XF_WEIGHTS_FP16;
    const uint16_t half = fp16 ? to_fp16(value) : to_bf16(value), infinity = fp16 ? 0x7C00 : 0x7F80;
    XF_CHECK(
        (half & infinity) != infinity, XF_ERROR_OUT_OF_RANGE, "'%s' has the number %s, expected %s", p.name.c_str(),
        number(static_cast<double>(value)).c_str(),
        fp16 ? "what fp16 holds, -65504 to 65504: bf16 reaches further" : "what bf16 holds, -3.3895e38 to 3.3895e38");
    return half;
}

float widened(uint32_t type, uint16_t half) { return type == XF_WEIGHTS_FP16 ? from_fp16(half) : from_bf16(half); }

float quantized(const Parameter &p, const float *row, int8_t *q) {
    const float scale = quantize_row(row, p.columns, q);
    XF_CHECK(is_scale(scale), XF_ERROR_OUT_OF_RANGE,
             "'%s' has a row whose largest number is not finite or too large for int8, expected at most 3.4e38",
             p.name.c_str());
    return scale;
}

bool is_scale(float scale) { return scale >= 0 && std::isfinite(127.0f * scale); }

void check_int8_columns(const Parameter &p) {
    XF_CHECK(p.columns <= kMaxInt8Columns, XF_ERROR_LIMIT,
             "'%s' has rows of %lld numbers, expected at most %lld in int8", p.name.c_str(),
             static_cast<long long>(p.columns), static_cast<long long>(kMaxInt8Columns));
}

}  // namespace xf
