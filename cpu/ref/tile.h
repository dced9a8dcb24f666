// The matrix product of the reference backend, one tile of the result per task:
//
//     store(i, j, sum over r of a(i, r) * b(r, j)),   in order of increasing r, in fp64.
//
// a and b are read through row and column strides, so one loop serves all three products of a linear map, the loss, and
// top-k. Each element is a separate sum in order of increasing r: its bits do not depend on the tile, so every product
// is row-invariant. Operands are copied as fp64 in chunks that fit in the L1 cache. The copy stores the 16 columns next
// to each other, so that the compiler can use vector instructions without changing the order of any sum.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ref/common.h"

namespace xf::ref {

constexpr int64_t kTile = 16;    // rows and columns of a tile
constexpr int64_t kChunk = 128;  // r per chunk: two copies of 16 KiB on the stack

// Two columns. GCC's code for the same loop over doubles takes four times as long. With sanitizers, which check each
// access, it takes twice as long.
typedef double Pair __attribute__((vector_size(16)));
constexpr int64_t kPairs = kTile / 2;

// Element (row, column) of a matrix is data[row * row_stride + column * column_stride].
template <class T>
struct View {
    const T *data;
    int64_t row_stride, column_stride;

    double at(int64_t row, int64_t column) const { return data[row * row_stride + column * column_stride]; }
};

// The transpose of a matrix of 16-bit numbers, [columns, rows].
struct HalfView {
    const uint16_t *data;
    int64_t rows;
    float (*widen)(uint16_t);

    double at(int64_t row, int64_t column) const { return widen(data[column * rows + row]); }
};

// sum[i][j] += a[i][r] * b[r][j] for r = 0 .. count-1.
inline void tile_chunk(Pair (*sum)[kPairs], const double (*a)[kChunk], const Pair (*b)[kPairs], int64_t rows,
                       int64_t count) {
    for (int64_t i = 0; i < rows; ++i) {
        Pair line[kPairs];
        for (int64_t j = 0; j < kPairs; ++j) line[j] = sum[i][j];
        for (int64_t r = 0; r < count; ++r) {
            const double x = a[i][r];
            const Pair *row = b[r];
            for (int64_t j = 0; j < kPairs; ++j) line[j] += x * row[j];
        }
        for (int64_t j = 0; j < kPairs; ++j) sum[i][j] = line[j];
    }
}

// The tile at (row, column) of the [rows_all, columns_all] result, reduced over R.
template <class A, class B, class Store>
void tile_product(int64_t row, int64_t column, int64_t rows_all, int64_t columns_all, int64_t R, A a, B b,
                  const Store &store) {
    const int64_t rows = std::min(kTile, rows_all - row), columns = std::min(kTile, columns_all - column);
    alignas(64) Pair sum[kTile][kPairs] = {}, copy_b[kChunk][kPairs] = {};
    alignas(64) double copy_a[kTile][kChunk];
    for (int64_t begin = 0; begin < R; begin += kChunk) {
        const int64_t count = std::min(kChunk, R - begin);
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t r = 0; r < count; ++r) copy_a[i][r] = a.at(row + i, begin + r);
        for (int64_t r = 0; r < count; ++r)
            for (int64_t j = 0; j < columns; ++j) copy_b[r][j / 2][j % 2] = b.at(begin + r, column + j);
        tile_chunk(sum, copy_a, copy_b, rows, count);
    }
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) store(row + i, column + j, sum[i][j / 2][j % 2]);
}

// The whole [rows, columns] result. Tiles of the same columns are consecutive tasks.
template <class A, class B, class Store>
void product(const xf_stream *stream, int64_t rows, int64_t columns, int64_t R, A a, B b, const Store &store) {
    const int64_t down = (rows + kTile - 1) / kTile, across = (columns + kTile - 1) / kTile;
    parallel(stream, down * across, [&](int64_t task, int32_t) {
        tile_product(task % down * kTile, task / down * kTile, rows, columns, R, a, b, store);
    });
}

}  // namespace xf::ref
