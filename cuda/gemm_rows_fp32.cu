// Row-invariant products of few rows in fp32; see gemm_rows.h. The sums are those of gemm_plain.cu in parts of a piece:
// a term at a time in rising k, by fma, and the pieces in order.
//
// A block makes 16 rows of eight columns, eight warps of it one of the pieces of K each. A lane has one column and four
// rows; it loads four neighbouring terms at a time of each, kFlight of them on their way. The lanes of a column read
// the same weights, and those of a row the same row: a load serves all of them.
//
// Floor: the weights once, N * K * 4 bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include "dependent.cuh"
#include "gemm_rows.cuh"
#include "rows.cuh"

namespace xf::cuda {
namespace {

constexpr int kThreads = kPieces * kWarp;
constexpr int kRows = 16, kColumns = 8, kEach = kRows * kColumns / kWarp, kStep = kWarp / kColumns;
constexpr int kFour = 4, kFlight = 4;

using Four = Vector<float>;

template <bool kVector>
__device__ inline Four load_four(const float *row, bool there, int64_t k, int64_t end) {
    Four x{};
    if (!there || k >= end) return x;
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
                                                             int64_t K, int64_t each, RowsResult<float> result) {
    begin_after_previous();
    __shared__ float pieces[kPieces][kRows][kColumns];
    const int piece = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
    const int column = lane % kColumns, row = lane / kColumns;  // rows row, row + kStep, ...
    const int64_t n0 = int64_t{blockIdx.x} * kColumns, m0 = int64_t{blockIdx.y} * kRows;
    const int64_t begin = piece * each, end = begin + each < K ? begin + each : K;
    const float *const from_a = a + (m0 + row) * lda, *const from_b = b + (n0 + column) * ldb;
    const bool there = n0 + column < result.N;
    float sum[kEach] = {};
    for (int64_t k0 = begin; k0 < end; k0 += kFlight * kFour) {
        Four x[kFlight][kEach], y[kFlight];
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            y[i] = load_four<kVector>(from_b, there, k0 + i * kFour, end);
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
    for (int r = 0; r < kEach; ++r) pieces[piece][row + r * kStep][column] = sum[r];
    __syncthreads();
    const int i = static_cast<int>(threadIdx.x), count = static_cast<int>((K + each - 1) / each);
    if (i >= kRows * kColumns) return;
    float all = 0.0f;
    for (int p = 0; p < count; ++p) all += pieces[p][i / kColumns][i % kColumns];
    result.store(m0 + i / kColumns, n0 + i % kColumns, all);
}

}  // namespace

int32_t gemm_few_rows_fp32(xf_stream *stream, const Gemm &g, xf_error *err) {
    const dim3 grid(static_cast<unsigned>(ceil_div<int64_t>(g.N, kColumns)),
                    static_cast<unsigned>(ceil_div<int64_t>(g.M, kRows)));
    return launch_dependent(stream, err, "gemm_few_rows",
                            rows_are_aligned(g, kFour) ? few_rows_fp32<true> : few_rows_fp32<false>, grid,
                            dim3(kThreads), 0, static_cast<const float *>(g.a), g.lda, static_cast<const float *>(g.b),
                            g.ldb, g.K, piece_of(g.K), rows_result<float>(g));
}

}  // namespace xf::cuda
