// What the kernels of row-invariant products share (gemm_rows.h): how a chunk of terms meets mma.m16n8k16, and what is
// done to a sum.
//
// A chunk is 32 terms of K, two products of 16. Lane c of a row's four holds eight neighbouring terms, 8c .. 8c + 7,
// and gives the first four to the first product and the others to the second: a lane's numbers are one load of 16 bytes
// that way, from memory or from shared memory, and need no exchange. Both operands do the same, so each term meets its
// partner; which terms share a product is a matter of K alone.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm_rows.h"
#include "mma.cuh"

namespace xf::cuda {

struct alignas(16) Eights {  // eight bf16 numbers, two to a word
    uint32_t word[4];
};

constexpr int kMmaRows = 16, kMmaColumns = 8, kHalfRows = 8;

// Terms k .. k + 7 of a row that begins at row; zeros beyond K, a multiple of 8, and where there is no row.
template <bool kVector>
__device__ inline Eights load_terms(const bf16 *row, bool there, int64_t k, int64_t K) {
    Eights x{};
    if (!there || k >= K) return x;
    if constexpr (kVector) {
        x = *reinterpret_cast<const Eights *>(row + k);
    } else {
        const auto *const bits = reinterpret_cast<const uint16_t *>(row + k);
#pragma unroll
        for (int i = 0; i < 4; ++i) x.word[i] = bits[2 * i] | static_cast<uint32_t>(bits[2 * i + 1]) << 16;
    }
    return x;
}

// d += a b over a chunk. low and high: rows g and g + 8 of a, b: row g of the weights.
__device__ inline void multiply_chunk(float (&d)[4], const Eights &low, const Eights &high, const Eights &b) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const uint32_t x[4] = {low.word[2 * half], high.word[2 * half], low.word[2 * half + 1],
                               high.word[2 * half + 1]};
        const uint32_t y[2] = {b.word[2 * half], b.word[2 * half + 1]};
        mma_m16n8k16_bf16(d, x, y);
    }
}

// The result: [M, N] rows ld apart.
template <class R>
struct RowsResult {
    R *c;
    int64_t M, N, ld;
    const R *bias;  // or NULL
    bool relu;

    __device__ float finish(float sum, int64_t n) const {
        if (bias != nullptr) sum += to_float(bias[n]);
        return relu && sum < 0.0f ? 0.0f : sum;  // a NaN stays
    }
    __device__ void store(int64_t m, int64_t n, float sum) const {
        if (m < M && n < N) c[m * ld + n] = from_float<R>(finish(sum, n));
    }
};

template <class R>
RowsResult<R> rows_result(const Gemm &g) {
    return {static_cast<R *>(g.c), g.M, g.N, g.ldc, static_cast<const R *>(g.bias), g.relu};
}

// Every row of both operands begins at a multiple of 16 bytes.
inline bool rows_are_aligned(const Gemm &g, int64_t each) {
    const auto address = reinterpret_cast<uintptr_t>(g.a) | reinterpret_cast<uintptr_t>(g.b);
    return address % 16 == 0 && g.lda % each == 0 && g.ldb % each == 0;
}

}  // namespace xf::cuda
