// Column sums over many rows, such as the gradients of biases: one block per tile of 256 rows x 256 columns.
//
// Each lane of a warp has eight columns. Warp w adds rows w, w + 8, w + 16, ... of the tile; then the sums of the eight
// warps are added in order. A second kernel adds the tiles of a column in the same way: warp w adds tiles w, w + 8,
// ..., then the warps are added in order. The order of a sum therefore depends only on M. Kernels that produce the rows
// can sum them at the same time with the same tiles and order, as linear.cu does when it masks them and activation.cu
// when it computes a gradient.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "rows.cuh"

namespace xf::cuda {

constexpr int kSumThreads = 256, kSumWarps = kSumThreads / kWarp;
constexpr int64_t kSumRows = 256, kSumColumns = kWarp * kEight;
constexpr int kFlight = 4;  // rows whose loads are in flight together

// Adds the sums of the eight warps, eight columns per lane, in order; thread c returns the sum of column c of the
// block.
__device__ inline float add_warps(const float (&sum)[kEight], float (&warp_sums)[kSumWarps][kSumColumns]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
    for (int j = 0; j < kEight; ++j) warp_sums[warp][lane + j * kWarp] = sum[j];  // conflict-free: one bank per lane
    __syncthreads();
    const int c = static_cast<int>(threadIdx.x), at = c / kEight + c % kEight * kWarp;
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < kSumWarps; ++w) total += warp_sums[w][at];
    return total;
}

// partial[tile, n] = the sum of src over the rows of the tile, unless partial is NULL. kMask: first sets src to 0 where
// relu <= 0.
template <class T, bool kVector, bool kMask>
__global__ void __launch_bounds__(kSumThreads)
    tile_sums_kernel(const T *relu, std::conditional_t<kMask, T, const T> *src, int64_t ld, int64_t M, int64_t N,
                     float *partial) {
    __shared__ float warp_sums[kSumWarps][kSumColumns];
    const int64_t n0 = blockIdx.y * kSumColumns, n = n0 + threadIdx.x % kWarp * kEight;
    const int64_t first = blockIdx.x * kSumRows + threadIdx.x / kWarp;
    const int64_t end = (blockIdx.x + 1) * kSumRows < M ? (blockIdx.x + 1) * kSumRows : M;
    float sum[kEight] = {};
    for (int64_t m = first; m < end; m += kFlight * kSumWarps) {
        Eight<T> masks[kFlight], rows[kFlight];
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            const int64_t row = m + i * kSumWarps,
                          width = row < end ? N : 0;  // a missing row has width 0: nothing is read
            if constexpr (kMask) masks[i] = load8<kVector>(relu + row * N, n, width);
            rows[i] = load8<kVector>(src + row * ld, n, width);
        }
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            const int64_t row = m + i * kSumWarps;
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
    if (partial == nullptr) return;  // uniform across the grid
    const float total = add_warps(sum, warp_sums);
    if (n0 + threadIdx.x < N) partial[blockIdx.x * N + n0 + threadIdx.x] = total;
}

inline unsigned blocks(int64_t count, int64_t each) { return static_cast<unsigned>(ceil_div(count, each)); }
inline dim3 tile_grid(int64_t M, int64_t N) { return dim3(blocks(M, kSumRows), blocks(N, kSumColumns)); }

template <class T>
bool whole_vectors(int64_t columns, int64_t ld) {
    return columns % kEight == 0 && ld * static_cast<int64_t>(sizeof(T)) % 16 == 0;
}

// Size in bytes of the tile sums of a tensor.
inline size_t partial_bytes(int64_t M, int64_t N) {
    return static_cast<size_t>(ceil_div(M, kSumRows) * N) * sizeof(float);
}

// Allocates the tile sums in the stream's scratch; returns NULL if memory runs out.
float *partial_sums(xf_stream *stream, int64_t M, int64_t N, xf_error *err);
// dst[n] += the sum over the tiles of partial[tile, n].
int32_t add_tiles(xf_stream *stream, const float *partial, int64_t M, int64_t N, float *dst, xf_error *err);
// dst[n] += the sum over the rows of src [M, N], which has the stream's element type and rows ld apart. partial:
// partial_bytes(M, N) of memory.
int32_t add_column_sums(xf_stream *stream, const void *src, int64_t ld, int64_t M, int64_t N, float *partial,
                        float *dst, xf_error *err);

}  // namespace xf::cuda
