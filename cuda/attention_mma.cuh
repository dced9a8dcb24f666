// Attention's tiles on tensor cores: a warp owns 16 rows of a tile of D columns and meets 32 rows of the other side.
//
// Tiles stand in shared memory as bf16. Scores are fragments s[n][.], columns 8n .. 8n + 7 of 16 x 32; rounded to bf16
// they are the left side of the second product as they stand (fragment layouts: mma.cuh, with g and c).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention.cuh"

namespace xf::cuda {

// Rows of a tile in shared memory are D + 8 numbers apart: the eight rows that an ldmatrix reads meet no bank twice.
template <int D>
constexpr int kPitch = D + 8;

__device__ inline bf16 bf16_zero() { return __float2bfloat16_rn(0.0f); }

// Begins to copy rows 0 .. rows-1, zeros from row valid on. src: the tile's first row and the head's first column.
template <int D>
__device__ inline void load_tile(bf16 *tile, int rows, const bf16 *src, int64_t ld, int valid, bool aligned) {
    constexpr int kVectors = D / 8;
    for (int i = static_cast<int>(threadIdx.x); i < rows * kVectors; i += static_cast<int>(blockDim.x)) {
        const int row = i / kVectors, column = i % kVectors * 8;
        const bf16 *from = row < valid ? src + row * ld + column : src;
        bf16 *to = tile + row * kPitch<D> + column;
        if (aligned) {
            cp_async16(to, from, row < valid);
        } else {
            for (int n = 0; n < 8; ++n) to[n] = row < valid ? from[n] : bf16_zero();
        }
    }
}

// A warp writes 16 rows of a tile to memory, as far as they are valid.
template <int D>
__device__ inline void store_rows(const bf16 *tile, bf16 *dst, int64_t ld, int valid, bool aligned) {
    constexpr int kVectors = D / 8;
    for (int i = static_cast<int>(threadIdx.x) % kWarp; i < 16 * kVectors; i += kWarp) {
        const int row = i / kVectors, column = i % kVectors * 8;
        if (row >= valid) continue;
        const bf16 *from = tile + row * kPitch<D> + column;
        bf16 *to = dst + row * ld + column;
        if (aligned) {
            *reinterpret_cast<uint4 *>(to) = *reinterpret_cast<const uint4 *>(from);
        } else {
            for (int n = 0; n < 8; ++n) to[n] = from[n];
        }
    }
}

// Fragment a of the 16 x 16 block at tile[row][column].
template <int D>
__device__ inline void load_a(uint32_t (&a)[4], const bf16 *tile, int row, int column) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    ldmatrix_x4(a, tile + (row + lane % 16) * kPitch<D> + column + lane / 16 * 8);
}

// s[n] += own tile^T: products of 16 own rows with the 32 rows of other, over D columns. s[n] is columns 8n .. 8n + 7.
template <int D, class Own>
__device__ inline void multiply_rows(float (&s)[4][4], const Own &own, const bf16 *other) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const bf16 *from = other + (lane % 8 + lane / 16 * 8) * kPitch<D> + lane / 8 % 2 * 8;
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
        uint32_t a[4];
        own(a, k);
#pragma unroll
        for (int n = 0; n < 4; n += 2) {
            uint32_t r[4];
            ldmatrix_x4(r, from + n * 8 * kPitch<D> + k * 16);
            const uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
            mma_m16n8k16_bf16(s[n], a, b0);
            mma_m16n8k16_bf16(s[n + 1], a, b1);
        }
    }
}

// out += w other: 16 own rows of weights for the 32 rows of other.
template <int D>
__device__ inline void multiply_weights(float (&out)[D / 8][4], const float (&w)[4][4], const bf16 *other) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const bf16 *from = other + lane % 16 * kPitch<D> + lane / 16 * 8;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const uint32_t a[4] = {pack_bf16(w[2 * k][0], w[2 * k][1]), pack_bf16(w[2 * k][2], w[2 * k][3]),
                               pack_bf16(w[2 * k + 1][0], w[2 * k + 1][1]),
                               pack_bf16(w[2 * k + 1][2], w[2 * k + 1][3])};
#pragma unroll
        for (int n = 0; n < D / 8; n += 2) {
            uint32_t r[4];
            ldmatrix_x4_trans(r, from + k * 16 * kPitch<D> + n * 8);
            const uint32_t b0[2] = {r[0], r[1]}, b1[2] = {r[2], r[3]};
            mma_m16n8k16_bf16(out[n], a, b0);
            mma_m16n8k16_bf16(out[n + 1], a, b1);
        }
    }
}

// A warp's 16 rows of results, times a factor for rows g and g + 8, rounded into a tile of shared memory.
template <int D>
__device__ inline void put_rows(bf16 *tile, const float (&out)[D / 8][4], float low, float high) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    bf16 *at = tile + lane / 4 * kPitch<D> + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
        *reinterpret_cast<uint32_t *>(at + n * 8) = pack_bf16(out[n][0] * low, out[n][1] * low);
        *reinterpret_cast<uint32_t *>(at + 8 * kPitch<D> + n * 8) = pack_bf16(out[n][2] * high, out[n][3] * high);
    }
}

// Mask bits of 16 queries x 32 keys. Lane l draws those of query l / 2, keys 16 (l % 2) ..; the answer's bit 8n + i is
// key 8n + i of query g in low, of query g + 8 in high.
struct RowBits {
    uint32_t low, high;
};
template <class T>
__device__ inline RowBits query_bits(const Attention<T> &a, int64_t query_row, int32_t h, int32_t j0) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const uint64_t block = drop_block(a, query_row + lane / 2, h, j0 + lane % 2 * 16);
    const uint32_t mine = kept8(a.dropout, block) | kept8(a.dropout, block + 1) << 8;
    const uint32_t row = mine << (lane % 2 * 16) | __shfl_xor_sync(0xFFFFFFFFu, mine, 1) << (16 - lane % 2 * 16);
    return {__shfl_sync(0xFFFFFFFFu, row, lane / 4 * 2), __shfl_sync(0xFFFFFFFFu, row, lane / 4 * 2 + 16)};
}

}  // namespace xf::cuda
