// Attention tiles on tensor cores: a warp owns 16 rows of a tile of D columns and processes 32 rows of the other side
// at a time.
//
// Tiles are stored in shared memory as bf16. Scores are fragments s[n][.] of a 16 x 32 matrix; s[n] covers columns 8n
// .. 8n + 7. Rounded to bf16 they are directly the left operand of the second product (fragment layouts, g, and c:
// mma.cuh).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention.cuh"

namespace xf::cuda {

// Rows of a tile in shared memory are D + 8 elements apart, so that ldmatrix reads eight rows without bank conflicts.
template <int D>
constexpr int kPitch = D + 8;

__device__ inline bf16 bf16_zero() { return __float2bfloat16_rn(0.0f); }

// Starts the copy of rows 0 .. rows-1; rows from `valid` on are zero. src points to the first row of the tile and the
// first column of the head.
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

// The warp writes the first `valid` of 16 rows of a tile to memory.
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

// Loads fragment a of the 16 x 16 block at tile[row][column].
template <int D>
__device__ inline void load_a(uint32_t (&a)[4], const bf16 *tile, int row, int column) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    ldmatrix_x4(a, tile + (row + lane % 16) * kPitch<D> + column + lane / 16 * 8);
}

// s += own other^T: dot products of 16 own rows with the 32 rows of other, over D columns. s[n] covers columns 8n .. 8n
// + 7.
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

// out += w other, where w has 16 own rows of weights for the 32 rows of other.
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

// Writes the warp's 16 rows of results to a tile in shared memory, multiplied by `low` (row g) or `high` (row g + 8)
// and rounded to bf16.
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

// Mask bits of 16 queries x 32 keys. Lane l computes those of query l / 2, for 16 keys from 16 (l % 2) on. In the
// result, bit j belongs to key j of query g (low) or query g + 8 (high).
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
