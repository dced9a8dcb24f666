// Sums of columns over many rows, such as the gradients of biases: a tile of 256 rows of 256 columns has a block.
//
// A warp-wide line of threads has eight columns each; line w adds rows w, w + 8, w + 16 ... of the tile, and the eight
// lines are added in order. A second kernel adds the tiles of a column the same way: line w tiles w, w + 8 ..., then
// the lines in order. So the order of a sum is a function of M alone. A kernel that makes the rows may sum them while
// it has them, with the same tiles and lines: linear.cu masks them so, activation.cu makes a gradient.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "rows.cuh"

namespace xf::cuda {

constexpr int kSumThreads = 256, kLines = kSumThreads / kWarp;
constexpr int64_t kSumRows = 256, kSumColumns = kWarp * kEight;
constexpr int kFlight = 4;  // rows on their way at a time

// Line w holds sums of eight columns per lane; column c of the block gets the sum over the lines, in order.
__device__ inline float sum_lines(const float (&sum)[kEight], float (&lines)[kLines][kSumColumns]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, line = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
    for (int j = 0; j < kEight; ++j) lines[line][lane + j * kWarp] = sum[j];  // one bank per lane
    __syncthreads();
    const int c = static_cast<int>(threadIdx.x), at = c / kEight + c % kEight * kWarp;
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < kLines; ++w) total += lines[w][at];
    return total;
}

// partial[tile, n] = sum of src over the rows of the tile, unless partial is NULL. kMask: src becomes 0 before, where
// relu <= 0.
template <class T, bool kVector, bool kMask>
__global__ void __launch_bounds__(kSumThreads)
    tile_sums_kernel(const T *relu, std::conditional_t<kMask, T, const T> *src, int64_t ld, int64_t M, int64_t N,
                     float *partial) {
    __shared__ float lines[kLines][kSumColumns];
    const int64_t n0 = blockIdx.y * kSumColumns, n = n0 + threadIdx.x % kWarp * kEight;
    const int64_t first = blockIdx.x * kSumRows + threadIdx.x / kWarp;
    const int64_t end = (blockIdx.x + 1) * kSumRows < M ? (blockIdx.x + 1) * kSumRows : M;
    float sum[kEight] = {};
    for (int64_t m = first; m < end; m += kFlight * kLines) {
        Eight<T> masks[kFlight], rows[kFlight];
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            const int64_t row = m + i * kLines, width = row < end ? N : 0;  // no row: nothing is read
            if constexpr (kMask) masks[i] = load8<kVector>(relu + row * N, n, width);
            rows[i] = load8<kVector>(src + row * ld, n, width);
        }
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            const int64_t row = m + i * kLines;
            if constexpr (kMask) {
#pragma unroll
                for (int j = 0; j < kEight; ++j)
                    if (masks[i][j] <= 0.0f) rows[i].x[j] = from_float<T>(0.0f);
                store8<kVector>(src + row * ld, n, row < end ? N : 0, rows[i]);
            }
            if (row < end)
#pragma unroll
                for (int j = 0; j < kEight; ++j) sum[j] += rows[i][j];
        }
    }
    if (partial == nullptr) return;  // the whole grid
    const float total = sum_lines(sum, lines);
    if (n0 + threadIdx.x < N) partial[blockIdx.x * N + n0 + threadIdx.x] = total;
}

inline unsigned blocks(int64_t count, int64_t each) { return static_cast<unsigned>(ceil_div(count, each)); }
inline dim3 tile_grid(int64_t M, int64_t N) { return dim3(blocks(M, kSumRows), blocks(N, kSumColumns)); }

template <class T>
bool whole_vectors(int64_t columns, int64_t ld) {
    return columns % kEight == 0 && ld * static_cast<int64_t>(sizeof(T)) % 16 == 0;
}

// Bytes of the sums of a tensor's tiles.
inline size_t partial_bytes(int64_t M, int64_t N) {
    return static_cast<size_t>(ceil_div(M, kSumRows) * N) * sizeof(float);
}

// Memory for them, of the stream's scratch, or NULL.
float *partial_sums(xf_stream *stream, int64_t M, int64_t N, xf_error *err);
// dst[n] += sum over the tiles of partial[tile, n].
int32_t add_tiles(xf_stream *stream, const float *partial, int64_t M, int64_t N, float *dst, xf_error *err);
// dst[n] += sum over the rows of src [M, N], of the stream's type, rows ld apart. partial: partial_bytes(M, N).
int32_t add_column_sums(xf_stream *stream, const void *src, int64_t ld, int64_t M, int64_t N, float *partial,
                        float *dst, xf_error *err);

}  // namespace xf::cuda
