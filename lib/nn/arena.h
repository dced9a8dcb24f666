// Sub-allocation of one block. A dry pass over the shapes computes its size; a second pass assigns addresses.
//
//     Arena dry(dtype);             plan(shapes, dry);
//     buffer.reserve(device, dry.bytes());
//     Arena arena(dtype, buffer);   plan(shapes, arena);
//
// The block grows only when a larger batch arrives, so the steady state allocates nothing.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/number.h"
#include "core/error.h"

namespace xf {

// Rounds n up to 1, 2, 3, 4, 6, 8, 12, 16, 24, ... Recorded operations use such sizes, so that few recordings are
// needed.
constexpr int64_t bucket(int64_t n) {
    int64_t power = 1;
    while (power < n) power *= 2;
    return power >= 4 && n <= power / 4 * 3 ? power / 4 * 3 : power;
}

// Like bucket(), for rows whose padding is computed: adds at most a sixteenth and rounds to a multiple of 16. Large
// batches, which are not recorded, are rounded to the tiles of matrix products, a multiple of 256.
constexpr int64_t row_bucket(int64_t n) {
    int64_t power = 512;
    while (power < n) power *= 2;
    const int64_t unit = power / 32 < 256 ? power / 32 : 256;
    return (n + unit - 1) / unit * unit;
}

class Arena {
public:
    // dtype: of numbers(). base null: a dry pass, in which all addresses are null.
    explicit Arena(uint32_t dtype, void *base = nullptr) : dtype_(dtype), base_(static_cast<char *>(base)) {}

    Num numbers(int64_t rows, int64_t columns) { return {take(rows, columns, number_bytes(dtype_)), dtype_}; }
    float *floats(int64_t rows, int64_t columns = 1) { return take_of<float>(rows, columns); }
    int32_t *ints(int64_t count) { return take_of<int32_t>(count, 1); }
    double *doubles(int64_t count) { return take_of<double>(count, 1); }
    uint64_t bytes() const { return bytes_; }

private:
    template <class T>
    T *take_of(int64_t rows, int64_t columns) {
        return static_cast<T *>(take(rows, columns, sizeof(T)));
    }
    void *take(int64_t rows, int64_t columns, size_t size) {
        constexpr int64_t kLimit = int64_t{1} << 44;  // elements; far above any memory size, far below overflow
        XF_CHECK(rows >= 0 && columns >= 0 && (columns == 0 || rows <= kLimit / columns), XF_ERROR_LIMIT,
                 "a tensor of %" PRId64 " x %" PRId64 " elements is too large, expected at most 2^44 elements", rows,
                 columns);
        void *ptr = base_ == nullptr ? nullptr : base_ + bytes_;
        bytes_ += (rows * columns * size + 63) / 64 * 64;
        return ptr;
    }
    uint32_t dtype_;
    char *base_;
    uint64_t bytes_ = 0;
};

}  // namespace xf
