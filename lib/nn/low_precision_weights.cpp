// SPDX-License-Identifier: Apache-2.0
#include "nn/low_precision_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "core/half.h"
#include "core/int8.h"

namespace xf {
namespace {

constexpr int64_t kEntryAlign = 64;  // bytes; of every entry

int64_t up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// The offsets of matrices and vectors that continue the previous entry instead of beginning a new one.
std::set<int64_t> continued(const ParameterTable &table) {
    std::set<int64_t> offsets;
    for (const StackOffsets *stack : {&table.encoder, &table.decoder})
        for (const auto &[self, cross, ff] : stack->layers)
            offsets.insert(
                {self.k, self.k_bias, self.v, self.v_bias, cross.v, cross.v_bias, ff.gate_weights, ff.gate_bias});
    return offsets;
}

}  // namespace

LowPrecisionLayout::LowPrecisionLayout(const ParameterTable &table, uint32_t type) : type_(type) {
    const std::set<int64_t> more = continued(table);
    for (const Parameter &p : table.list) {
        const bool matrix = table.is_matrix(p);
        if (matrix && type == XF_WEIGHTS_INT8) check_int8_columns(p);
        if (more.count(p.offset) == 0)
            entries_.push_back({p.offset, p.rows, p.columns, matrix, 0, 0});
        else if (matrix)
            entries_.back().rows += p.rows;
        else
            entries_.back().columns += p.columns;
    }
    const auto take_floats = [&](int64_t count) {
        const int64_t at = floats_;
        floats_ += up(count, kEntryAlign / int64_t{sizeof(float)});
        return at;
    };
    for (Entry &entry : entries_) {
        if (!entry.matrix) {
            entry.at = take_floats(entry.rows * entry.columns);
            continue;
        }
        entry.at = matrices_;
        if (type == XF_WEIGHTS_INT8) entry.scales = take_floats(entry.rows);
        matrices_ += up(type == XF_WEIGHTS_INT8 ? xf_int8_bytes(entry.rows, entry.columns)
                                                : entry.rows * entry.columns * int64_t{sizeof(uint16_t)},
                        kEntryAlign);
    }
}

const LowPrecisionLayout::Entry &LowPrecisionLayout::find(int64_t offset) const {
    const auto after = std::upper_bound(entries_.begin(), entries_.end(), offset,
                                        [](int64_t value, const Entry &entry) { return value < entry.offset; });
    XF_CHECK(after != entries_.begin(), XF_ERROR_INTERNAL, "no parameter begins at offset %" PRId64 " or before",
             offset);
    return *std::prev(after);
}

LowPrecisionWeights::LowPrecisionWeights(Heap *heap, const ParameterTable &table, uint32_t type)
    : layout_(table, type),
      matrices_(heap, layout_.matrices_bytes(), "matrices"),
      floats_(heap, layout_.floats() * sizeof(float), "vectors") {
    std::memset(floats_.data(), 0, floats_.bytes());  // kernels may read padding after the scales
}

Matrix LowPrecisionWeights::matrix(int64_t offset) const {
    const LowPrecisionLayout::Entry &entry = layout_.find(offset);
    XF_CHECK(entry.matrix && entry.offset == offset, XF_ERROR_INTERNAL, "no matrices begin at offset %" PRId64, offset);
    return {bytes() + entry.at, type(), type() == XF_WEIGHTS_INT8 ? floats() + entry.scales : nullptr};
}

float *LowPrecisionWeights::vector(int64_t offset) const {
    const LowPrecisionLayout::Entry &entry = layout_.find(offset);
    XF_CHECK(!entry.matrix, XF_ERROR_INTERNAL, "the parameter at offset %" PRId64 " is not fp32", offset);
    return floats() + entry.at + (offset - entry.offset);
}

int8_t *LowPrecisionWeights::row(const Parameter &p, int64_t row) const {
    const LowPrecisionLayout::Entry &entry = layout_.find(p.offset);
    const int64_t elements = p.offset - entry.offset + row * p.columns;
    return bytes() + entry.at + elements * (type() == XF_WEIGHTS_INT8 ? 1 : 2);
}

float *LowPrecisionWeights::scales(const Parameter &p) const {
    const LowPrecisionLayout::Entry &entry = layout_.find(p.offset);
    return floats() + entry.scales + (p.offset - entry.offset) / p.columns;
}

void LowPrecisionWeights::write(const Parameter &p, int64_t first, int64_t count, const float *values) {
    const int64_t elements = count * p.columns;
    if (!layout_.find(p.offset).matrix) {
        std::copy_n(values, elements, vector(p.offset) + first * p.columns);
    } else if (type() == XF_WEIGHTS_INT8) {
        int8_t *q = row(p, first);
        for (int64_t i = 0; i < count; ++i)
            scales(p)[first + i] = quantize(p, values + i * p.columns, q + i * p.columns);
    } else {
        auto *halves = reinterpret_cast<uint16_t *>(row(p, first));
        for (int64_t i = 0; i < elements; ++i) halves[i] = to_half(p, type(), values[i]);
    }
}

void LowPrecisionWeights::pack(Stream &stream) {
    if (type() != XF_WEIGHTS_INT8) return;
    for (const LowPrecisionLayout::Entry &entry : layout_.entries())
        if (entry.matrix) stream.run(xf_pack_int8{entry.rows, entry.columns, bytes() + entry.at});
    packed_ = true;
}

void LowPrecisionWeights::read(Stream &stream, const Parameter &p, int64_t first, int64_t count, float *values) const {
    if (!layout_.find(p.offset).matrix) {
        std::copy_n(vector(p.offset) + first, count, values);
        return;
    }
    if (type() != XF_WEIGHTS_INT8) {
        const auto *halves = reinterpret_cast<const uint16_t *>(row(p, 0)) + first;
        for (int64_t i = 0; i < count; ++i) values[i] = from_half(type(), halves[i]);
        return;
    }
    const int64_t begin = first / p.columns, end = (first + count + p.columns - 1) / p.columns;
    std::vector<int8_t> q((end - begin) * p.columns);
    read_rows(stream, p, begin, end - begin, q.data());
    const float *const scale = scales(p);
    for (int64_t i = first; i < first + count; ++i) values[i - first] = q[i - begin * p.columns] * scale[i / p.columns];
}

void LowPrecisionWeights::read_rows(Stream &stream, const Parameter &p, int64_t first, int64_t count, int8_t *q) const {
    if (!packed_) {
        std::copy_n(row(p, first), count * p.columns, q);
        return;
    }
    const LowPrecisionLayout::Entry &entry = layout_.find(p.offset);
    const int64_t above = (p.offset - entry.offset) / p.columns;
    stream.run(xf_unpack_int8{entry.rows, entry.columns, above + first, count, bytes() + entry.at, q});
}

uint16_t to_half(const Parameter &p, uint32_t type, float value) {
    const bool fp16 = type == XF_WEIGHTS_FP16;
    const uint16_t half = fp16 ? to_fp16(value) : to_bf16(value), infinity = fp16 ? 0x7C00 : 0x7F80;
    XF_CHECK((half & infinity) != infinity, XF_ERROR_OUT_OF_RANGE, "'%s' contains the value %s, expected %s",
             p.name.c_str(), number(double{value}).c_str(),
             fp16 ? "-65504 to 65504 for fp16: use bf16 for larger values" : "-3.3895e38 to 3.3895e38 for bf16");
    return half;
}

float from_half(uint32_t type, uint16_t half) { return type == XF_WEIGHTS_FP16 ? from_fp16(half) : from_bf16(half); }

float quantize(const Parameter &p, const float *row, int8_t *q) {
    const float scale = quantize_row(row, p.columns, q);
    XF_CHECK(is_valid_scale(scale), XF_ERROR_OUT_OF_RANGE,
             "'%s' has a row with a value that is not finite or is too large for int8, expected at most 3.4e38",
             p.name.c_str());
    return scale;
}

bool is_valid_scale(float scale) { return scale >= 0 && std::isfinite(127.0f * scale); }

void check_int8_columns(const Parameter &p) {
    XF_CHECK(p.columns <= kMaxInt8Columns, XF_ERROR_LIMIT,
             "'%s' has rows of %" PRId64 " values, expected at most %" PRId64 " for int8", p.name.c_str(), p.columns,
             kMaxInt8Columns);
}

}  // namespace xf
