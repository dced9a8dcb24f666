// Attention tiles on CUDA cores, in fp32, for any head size: 64 threads own 32 rows, process 32 rows of the other side
// at a time, and compute 64 columns of the result.
//
// Scores: 4 x 4 per thread, with the head's columns in chunks of 32. Results: 4 x 8 per thread, in registers. Both
// products read shared memory 16 bytes at a time, 8 FMA per load.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention.cuh"

namespace xf::cuda {

constexpr int kCoreThreads = 64, kOwn = 32, kColumns = 64;  // columns of a block's result
constexpr int kDepth = 32, kRowPitch = 36, kColumnPitch = 68;

// Shared memory of a block. left, right, and weights are contiguous along the rows, so that a thread reads its four
// rows by one load.
struct alignas(16) CoreTiles {
    float left[kDepth * kRowPitch], right[kDepth * kRowPitch];
    float weights[kOther * kRowPitch];    // [other row][own row]
    float values[kOther * kColumnPitch];  // [other row][column]
    float lse[kOther], delta[kOther];     // per query
    uint8_t kept[kOther][4];              // [query][8 keys]
};

// Loads four elements; those from column `valid` on are zero.
template <class T>
__device__ inline float4 load4(const T *from, int valid, bool aligned) {
    if (valid >= 4 && aligned) {
        if constexpr (sizeof(T) == 4) return *reinterpret_cast<const float4 *>(from);
        const uint2 both = *reinterpret_cast<const uint2 *>(from);
        return make_float4(low_bf16(both.x), high_bf16(both.x), low_bf16(both.y), high_bf16(both.y));
    }
    float x[4];
#pragma unroll
    for (int n = 0; n < 4; ++n) x[n] = n < valid ? to_float(from[n]) : 0.0f;
    return make_float4(x[0], x[1], x[2], x[3]);
}

template <class T>
__device__ inline void stage_rows(float *to, const T *src, int64_t ld, int rows, int columns, bool aligned) {
    const int row0 = static_cast<int>(threadIdx.x) % 8, column = static_cast<int>(threadIdx.x) / 8 * 4;
#pragma unroll
    for (int row = row0; row < kOwn; row += 8) {
        const float4 x = load4(src + row * ld + column, row < rows ? columns - column : 0, aligned);
        to[column * kRowPitch + row] = x.x;
        to[(column + 1) * kRowPitch + row] = x.y;
        to[(column + 2) * kRowPitch + row] = x.z;
        to[(column + 3) * kRowPitch + row] = x.w;
    }
}

// s[r][c] = the dot product, over d columns, of own row 4 (thread / 8) + r and other row 4 (thread % 8) + c. Contains
// barriers.
template <class T>
__device__ inline void multiply_rows(float (&s)[4][4], CoreTiles *tiles, const T *own, int64_t ld_own, int own_rows,
                                     const T *other, int64_t ld_other, int other_rows, int d, bool aligned) {
    const float *left = tiles->left + threadIdx.x / 8 * 4, *right = tiles->right + threadIdx.x % 8 * 4;
#pragma unroll
    for (int i = 0; i < 16; ++i) s[i / 4][i % 4] = 0.0f;
    for (int d0 = 0; d0 < d; d0 += kDepth) {
        const int columns = min(kDepth, d - d0);
        __syncthreads();
        stage_rows(tiles->left, own + d0, ld_own, own_rows, columns, aligned);
        stage_rows(tiles->right, other + d0, ld_other, other_rows, columns, aligned);
        __syncthreads();
#pragma unroll 8
        for (int c = 0; c < columns; ++c) {
            const float4 x = *reinterpret_cast<const float4 *>(left + c * kRowPitch);
            const float4 y = *reinterpret_cast<const float4 *>(right + c * kRowPitch);
            const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int i = 0; i < 16; ++i) s[i / 4][i % 4] += xs[i / 4] * ys[i % 4];
        }
    }
}

// out[r][c] += the sum over the other rows of weight * src. Column c of a thread is 4 (thread % 8) + c for c < 4; the
// others are 32 columns further right. w has the layout of s above. Contains barriers.
template <class T>
__device__ inline void multiply_weights(float (&out)[4][8], CoreTiles *tiles, const float (&w)[4][4], const T *src,
                                        int64_t ld, int rows, int columns, bool aligned) {
    const int own = static_cast<int>(threadIdx.x) / 8 * 4, part = static_cast<int>(threadIdx.x) % 8 * 4;
#pragma unroll
    for (int c = 0; c < 4; ++c)
        *reinterpret_cast<float4 *>(tiles->weights + (part + c) * kRowPitch + own) =
            make_float4(w[0][c], w[1][c], w[2][c], w[3][c]);
    const int column = static_cast<int>(threadIdx.x) % 16 * 4;
#pragma unroll
    for (int row = static_cast<int>(threadIdx.x) / 16; row < kOther; row += kCoreThreads / 16)
        *reinterpret_cast<float4 *>(tiles->values + row * kColumnPitch + column) =
            load4(src + row * ld + column, row < rows ? columns - column : 0, aligned);
    __syncthreads();
#pragma unroll 4
    for (int row = 0; row < rows; ++row) {
        const float4 x = *reinterpret_cast<const float4 *>(tiles->weights + row * kRowPitch + own);
        const float4 y = *reinterpret_cast<const float4 *>(tiles->values + row * kColumnPitch + part);
        const float4 z = *reinterpret_cast<const float4 *>(tiles->values + row * kColumnPitch + part + 32);
        const float xs[4] = {x.x, x.y, x.z, x.w}, ys[8] = {y.x, y.y, y.z, y.w, z.x, z.y, z.z, z.w};
#pragma unroll
        for (int i = 0; i < 32; ++i) out[i / 8][i % 8] += xs[i / 8] * ys[i % 8];
    }
}

// Stores the thread's 4 x 8 results, each row multiplied by its factor. dst points to the first row of the tile and the
// first column of the block.
template <class T>
__device__ inline void store_results(T *dst, int64_t ld, int rows, int columns, const float (&out)[4][8],
                                     const float (&factor)[4]) {
    const int row0 = static_cast<int>(threadIdx.x) / 8 * 4, column0 = static_cast<int>(threadIdx.x) % 8 * 4;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        const int row = row0 + i / 8, column = column0 + i % 4 + i % 8 / 4 * 32;
        if (row < rows && column < columns) dst[row * ld + column] = from_float<T>(out[i / 8][i % 8] * factor[i / 8]);
    }
}

// Computes the mask bits of `queries` queries (at most 32) from query_row on, for 32 keys from j0 on.
template <class T>
__device__ inline void draw_mask(CoreTiles *tiles, const Attention<T> &a, int64_t query_row, int32_t h, int32_t j0,
                                 int queries) {
    for (int i = static_cast<int>(threadIdx.x); i < queries * 4; i += kCoreThreads)
        tiles->kept[i / 4][i % 4] =
            static_cast<uint8_t>(kept8(a.dropout, drop_block(a, query_row + i / 4, h, j0 + i % 4 * 8)));
}
__device__ inline bool kept(const CoreTiles *tiles, int query, int key) {
    return (tiles->kept[query][key / 8] >> (key % 8) & 1) != 0;
}

}  // namespace xf::cuda
