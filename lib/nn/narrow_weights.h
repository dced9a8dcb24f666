// The parameters of a model that decodes and is not trained: matrices in 16 or 8 bits, the rest in fp32.
//
// A unit is what one operation multiplies with: a matrix, or those that are applied to the same input and stand one
// behind the other in the parameter table (q, k and v; k and v of the encoder's output; gates). Its rows lie dense, in
// the order of the table, so that a file is read straight to where it stays. In int8 a row has a scale (core/int8.h),
// and finish() brings each unit into the order of the backend, in place: a second copy of the matrices there never is.
//
// The memory is the host's: operations can use it on a device whose own memory that is.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backend/device.h"
#include "nn/parameters.h"

namespace xf {

// Where everything lies, without the memory.
class NarrowLayout {
public:
    // type: XF_WEIGHTS_BF16, _FP16 or _INT8. XF_ERROR_LIMIT when the rows of a matrix are too long for it.
    NarrowLayout(const ParameterTable &table, uint32_t type);

    // A unit, or a parameter that stays fp32.
    struct Place {
        int64_t offset;  // in the table
        int64_t rows, columns;
        bool matrix;
        int64_t at;      // byte of the matrices, or number of the fp32 block
        int64_t scales;  // int8: number of the fp32 block
    };
    const Place &find(int64_t offset) const;  // what the number at offset belongs to
    const std::vector<Place> &places() const { return places_; }
    uint32_t type() const { return type_; }
    int64_t floats() const { return floats_; }  // of the fp32 block
    int64_t matrices_bytes() const { return matrices_; }
    int64_t bytes() const { return matrices_ + floats_ * static_cast<int64_t>(sizeof(float)); }

private:
    uint32_t type_;
    std::vector<Place> places_;  // by rising offset
    int64_t floats_ = 0, matrices_ = 0;
};

class NarrowWeights {
public:
    // Filled with nothing of worth. The heap must outlive it.
    NarrowWeights(Heap *heap, const ParameterTable &table, uint32_t type);

    uint32_t type() const { return layout_.type(); }

    // By the offset of a unit's first row; of a number that stays fp32.
    Matrix matrix(int64_t offset) const;
    float *vector(int64_t offset) const;

    // Filling, before finish(). A matrix's numbers as they lie, dense [rows, columns]: 16 bits, or q in -127 .. 127.
    void *rows(const Parameter &p) { return row(p, 0); }
    float *scales(const Parameter &p) const;  // [rows], int8
    // Rows of any parameter, rounded to nearest. XF_ERROR_OUT_OF_RANGE when one has a number beyond what the type
    // holds.
    void write(const Parameter &p, int64_t first, int64_t count, const float *values);
    void finish(Stream &stream);  // once

    // Numbers of any parameter, widened: first and count within it.
    void read(Stream &stream, const Parameter &p, int64_t first, int64_t count, float *values) const;
    // Whole rows of a matrix as they lie before finish(); int8.
    void read_rows(Stream &stream, const Parameter &p, int64_t first, int64_t count, int8_t *q) const;

private:
    void *row(const Parameter &p, int64_t row) const;

    NarrowLayout layout_;
    HeapBlock matrices_, floats_;
    bool packed_ = false;
};

// A number as 16 bits of a type. XF_ERROR_OUT_OF_RANGE when it would not be finite there; p is what has it.
uint16_t narrowed(const Parameter &p, uint32_t type, float value);
float widened(uint32_t type, uint16_t half);

// Rounds a row of a matrix to int8 and gives its scale. XF_ERROR_OUT_OF_RANGE when a number is not finite.
float quantized(const Parameter &p, const float *row, int8_t *q);
// Neither negative nor such that a number of the row would not be finite. 0: the row is zeros, whatever q is.
bool is_scale(float scale);

constexpr int64_t kMaxInt8Columns = int64_t{1} << 17;  // the sum of so many products of two q fits 32 bits
// XF_ERROR_LIMIT when rows are longer.
void check_int8_columns(const Parameter &p);

}  // namespace xf
