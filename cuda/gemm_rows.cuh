// Shared parts of the row-invariant kernels (gemm_rows.h): the mapping of a chunk of terms to mma.m16n8k16, and the
// epilogue.
//
// A chunk is 32 terms of K, two products of 16. Lane c of the four lanes of a row holds eight neighboring terms, 8c ..
// 8c + 7, and passes the first four to the first product and the others to the second. The operand of a lane is then
// one 16-byte load from global or shared memory, without exchange between lanes. Both operands use the same order, so
// each term is multiplied by its partner, and the assignment of terms to products depends only on K.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm_rows.h"
#include "mma.cuh"

namespace xf::cuda {

struct alignas(16) Eights {  // eight bf16 elements, two per word
    uint32_t word[4];
};

constexpr int kMmaRows = 16, kMmaColumns = 8, kHalfRows = 8;

// Terms k .. k + 7 of the row at `row`. Zeros from K (a multiple of 8) on, and if the row does not exist.
template <bool kVector>
__device__ inline Eights load_terms(const bf16 *row, bool exists, int64_t k, int64_t K) {
    Eights x{};
    if (!exists || k >= K) return x;
    if constexpr (kVector) {
        x = *reinterpret_cast<const Eights *>(row + k);
    } else {
        const auto *const bits = reinterpret_cast<const uint16_t *>(row + k);
#pragma unroll
        for (int i = 0; i < 4; ++i) x.word[i] = bits[2 * i] | static_cast<uint32_t>(bits[2 * i + 1]) << 16;
    }
    return x;
}

// d += a b over one chunk. low and high: rows g and g + 8 of a; b: row g of the weights.
__device__ inline void multiply_chunk(float (&d)[4], const Eights &low, const Eights &high, const Eights &b) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const uint32_t x[4] = {low.word[2 * half], high.word[2 * half], low.word[2 * half + 1],
                               high.word[2 * half + 1]};
        const uint32_t y[2] = {b.word[2 * half], b.word[2 * half + 1]};
        mma_m16n8k16_bf16(d, x, y);
    }
}

// The result and its epilogue: c is [M, N], rows are ld apart.
template <class R>
struct RowsResult {
    R *c;
    int64_t M, N, ld;
    const R *bias;  // or NULL
    bool relu;

    __device__ float finish(float sum, int64_t n) const {
        if (bias != nullptr) sum += to_float(bias[n]);
        return relu && sum < 0.0f ? 0.0f : sum;  // NaN stays NaN
    }
    __device__ void store(int64_t m, int64_t n, float sum) const {
        if (m < M && n < N) c[m * ld + n] = from_float<R>(finish(sum, n));
    }
};

template <class R>
RowsResult<R> rows_result(const Gemm &g) {
    return {static_cast<R *>(g.c), g.M, g.N, g.ldc, static_cast<const R *>(g.bias), g.relu};
}

// Returns whether every row of both operands is 16-byte aligned. each: elements per 16 bytes.
inline bool rows_are_aligned(const Gemm &g, int64_t each) {
    const auto address = reinterpret_cast<uintptr_t>(g.a) | reinterpret_cast<uintptr_t>(g.b);
    return address % 16 == 0 && g.lda % each == 0 && g.ldb % each == 0;
}

}  // namespace xf::cuda
