// The parameters of a model that decodes but is not trained: matrices in bf16, fp16, or int8, all others in fp32.
//
// An entry is what one operation multiplies with: a matrix, or several matrices that are applied to the same input and
// are adjacent in the parameter table (q, k, and v; k and v of cross-attention; gates). Its rows are dense and in the
// order of the table, so that a file is read directly to its final location. In int8 each row has a scale
// (core/int8.h), and pack() converts each entry in place to the order that the backend needs, without a second copy of
// the matrices.
//
// The memory is host memory, so operations can use it only on devices whose memory is the host's.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backend/device.h"
#include "nn/parameters.h"

namespace xf {

// The locations of all entries, without the memory.
class LowPrecisionLayout {
public:
    // type: XF_WEIGHTS_BF16, _FP16, or _INT8. Throws XF_ERROR_LIMIT if a matrix has too many columns for the type.
    LowPrecisionLayout(const ParameterTable &table, uint32_t type);

    // Matrices, or an fp32 parameter.
    struct Entry {
        int64_t offset;  // in the parameter table
        int64_t rows, columns;
        bool matrix;
        int64_t at;      // matrix: in bytes, in the matrices; otherwise in elements, in the fp32 block
        int64_t scales;  // int8: in elements, in the fp32 block
    };
    const Entry &find(int64_t offset) const;  // the entry that contains this offset
    const std::vector<Entry> &entries() const { return entries_; }
    uint32_t type() const { return type_; }
    int64_t floats() const { return floats_; }  // elements of the fp32 block
    int64_t matrices_bytes() const { return matrices_; }
    int64_t bytes() const { return matrices_ + floats_ * int64_t{sizeof(float)}; }

private:
    uint32_t type_;
    std::vector<Entry> entries_;  // by ascending offset
    int64_t floats_ = 0, matrices_ = 0;
};

class LowPrecisionWeights {
public:
    // The matrices are uninitialized. The heap must outlive the object.
    LowPrecisionWeights(Heap *heap, const ParameterTable &table, uint32_t type);

    uint32_t type() const { return layout_.type(); }

    // By the offset of the first row of an entry, and of an fp32 element.
    Matrix matrix(int64_t offset) const;
    float *vector(int64_t offset) const;

    // For writing, before pack(). The dense values of a matrix, [rows, columns]: 16 bits, or int8 in -127 .. 127.
    int8_t *rows(const Parameter &p) { return row(p, 0); }
    float *scales(const Parameter &p) const;  // [rows]; int8
    // Writes rows of any parameter, rounded to nearest. Throws XF_ERROR_OUT_OF_RANGE if the type cannot represent a
    // value.
    void write(const Parameter &p, int64_t first, int64_t count, const float *values);
    // Converts the matrices to the order of the backend. Must be called exactly once, after all writes.
    void pack(Stream &stream);

    // Reads elements of any parameter as fp32; first and count are relative to the parameter.
    void read(Stream &stream, const Parameter &p, int64_t first, int64_t count, float *values) const;
    // Reads whole rows of an int8 matrix in the order before pack().
    void read_rows(Stream &stream, const Parameter &p, int64_t first, int64_t count, int8_t *q) const;

private:
    int8_t *bytes() const { return static_cast<int8_t *>(matrices_.data()); }
    float *floats() const { return static_cast<float *>(floats_.data()); }
    int8_t *row(const Parameter &p, int64_t row) const;

    LowPrecisionLayout layout_;
    HeapBlock matrices_, floats_;
    bool packed_ = false;
};

// Converts a value to 16 bits. Throws XF_ERROR_OUT_OF_RANGE if the result is not finite; the message names p.
uint16_t to_half(const Parameter &p, uint32_t type, float value);
float from_half(uint32_t type, uint16_t half);

// Quantizes a row of a matrix and returns its scale. Throws XF_ERROR_OUT_OF_RANGE if a value is not finite.
float quantize(const Parameter &p, const float *row, int8_t *q);
// Returns whether the scale is nonnegative and every value of the row is finite. 0 is valid: all values are 0.
bool is_valid_scale(float scale);

constexpr int64_t kMaxInt8Columns = int64_t{1} << 17;  // the sum of this many int8 products fits in 32 bits
// Throws XF_ERROR_LIMIT if the parameter has more columns.
void check_int8_columns(const Parameter &p);

}  // namespace xf
