// Row-invariant products of few rows in fp32; see gemm_rows.h. The sums are those of gemm_plain_in_parts() with one
// part per split: one fma per term in order of increasing k, and the splits in order.
//
// A block computes 16 rows x 8 columns; each of its eight warps computes one split of K. A lane computes one column and
// four rows. It loads four neighboring terms of each at a time, with kFlight such loads in flight. The lanes of a
// column read the same weights, and the lanes of a row the same row, so each load serves all of them.
//
// Lower bound: reading the weights once, N * K * 4 bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include "dependent.cuh"
#include "gemm_rows.cuh"
#include "rows.cuh"

namespace xf::cuda {
namespace {

constexpr int kThreads = kSplits * kWarp;
constexpr int kRows = 16, kColumns = 8, kEach = kRows * kColumns / kWarp, kStep = kWarp / kColumns;
constexpr int kFour = 4, kFlight = 4;

using Four = Vector<float>;

template <bool kVector>
__device__ inline Four load_four(const float *row, bool exists, int64_t k, int64_t end) {
    Four x{};
    if (!exists || k >= end) return x;
    if constexpr (kVector) {
        x = *reinterpret_cast<const Four *>(row + k);
    } else {
#pragma unroll
        for (int i = 0; i < kFour; ++i) x.x[i] = row[k + i];
    }
    return x;
}

template <bool kVector>
__global__ void __launch_bounds__(kThreads, 2) few_rows_fp32(const float *a, int64_t lda, const float *b, int64_t ldb,
                                                             int64_t K, int64_t depth, RowsResult<float> result) {
    begin_after_previous();
    __shared__ float partial[kSplits][kRows][kColumns];
    const int split = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
    const int column = lane % kColumns, row = lane / kColumns;  // the lane's rows are row, row + kStep, ...
    const int64_t n0 = int64_t{blockIdx.x} * kColumns, m0 = int64_t{blockIdx.y} * kRows;
    const int64_t begin = split * depth, end = begin + depth < K ? begin + depth : K;
    const float *const from_a = a + (m0 + row) * lda, *const from_b = b + (n0 + column) * ldb;
    const bool exists = n0 + column < result.N;
    float sum[kEach] = {};
    for (int64_t k0 = begin; k0 < end; k0 += kFlight * kFour) {
        Four x[kFlight][kEach], y[kFlight];
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            y[i] = load_four<kVector>(from_b, exists, k0 + i * kFour, end);
#pragma unroll
            for (int r = 0; r < kEach; ++r)
                x[i][r] =
                    load_four<kVector>(from_a + r * kStep * lda, m0 + row + r * kStep < result.M, k0 + i * kFour, end);
        }
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            if (k0 + i * kFour >= end) continue;
#pragma unroll
            for (int t = 0; t < kFour; ++t)
#pragma unroll
                for (int r = 0; r < kEach; ++r) sum[r] = fmaf(x[i][r].x[t], y[i].x[t], sum[r]);
        }
    }
#pragma unroll
    for (int r = 0; r < kEach; ++r) partial[split][row + r * kStep][column] = sum[r];
    __syncthreads();
    const int i = static_cast<int>(threadIdx.x), count = static_cast<int>((K + depth - 1) / depth);
    if (i >= kRows * kColumns) return;
    float all = 0.0f;
    for (int p = 0; p < count; ++p) all += partial[p][i / kColumns][i % kColumns];
    result.store(m0 + i / kColumns, n0 + i % kColumns, all);
}

}  // namespace

int32_t gemm_few_rows_fp32(xf_stream *stream, const Gemm &g, xf_error *err) {
    const dim3 grid(static_cast<unsigned>(ceil_div<int64_t>(g.N, kColumns)),
                    static_cast<unsigned>(ceil_div<int64_t>(g.M, kRows)));
    return launch_dependent(stream, err, "gemm_few_rows",
                            rows_are_aligned(g, kFour) ? few_rows_fp32<true> : few_rows_fp32<false>, grid,
                            dim3(kThreads), 0, static_cast<const float *>(g.a), g.lda, static_cast<const float *>(g.b),
                            g.ldb, g.K, split_depth(g.K), rows_result<float>(g));
}

}  // namespace xf::cuda
