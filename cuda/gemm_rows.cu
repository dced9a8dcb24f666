// Row-invariant products of few rows in bf16, and the dispatch between the kernels; see gemm_rows.h.
//
// A block computes 8, 16, or 32 columns; each of its eight warps computes one split of K. Operands are not staged in
// shared memory: each lane loads its mma fragments directly into registers, for the whole split at once if K is at most
// 2048, so that all loads of a block are in flight together and the weights are read once. The partial sums of the
// splits meet in shared memory, where one thread adds the eight sums of an element in increasing order.
//
// A block computes up to 32 rows. It has as few columns as give a single wave of two blocks per multiprocessor, so that
// 512 columns still keep 64 multiprocessors busy; with more columns, each block computes more of them and shares its
// rows of a. Products of 33 to 256 rows also use this kernel if they have too few tiles for gemm_rows_tile.cu to occupy
// the device.
//
// With dependent launches (dependent.cuh) a block prefetches its weights while the previous kernel still runs.
//
// Lower bound: reading the weights once, N * K * 2 bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include "dependent.cuh"
#include "gemm_rows.cuh"

namespace xf::cuda {
namespace {

constexpr int kThreads = kSplits * kWarp;
constexpr int64_t kFewRows = 32, kMostRows = 256;
constexpr int64_t kTile = 64;  // rows and columns of the smaller tile of gemm_rows_tile.cu

// kHalves: rows / 8. kFlight: chunks whose loads are in flight together, as many as fit in 80 registers.
template <class R, int kHalves, int kTiles, bool kVector>
__global__ void __launch_bounds__(kThreads, 2)
    few_rows_kernel(const bf16 *a, int64_t lda, const bf16 *b, int64_t ldb, int64_t K, int64_t depth, bool early,
                    RowsResult<R> result) {
    constexpr int kRows = kHalves * kHalfRows, kColumns = kTiles * kMmaColumns, kMmas = (kHalves + 1) / 2;
    constexpr int kFit = 20 / (kHalves + kTiles), kFlight = !kVector ? 2 : kFit > 8 ? 8 : kFit;
    __shared__ float partial[kSplits][kRows][kColumns + 1];
    const int split = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
    const int g = lane / 4, c = lane % 4;
    const int64_t n0 = int64_t{blockIdx.x} * kColumns, m0 = int64_t{blockIdx.y} * kRows;
    const int64_t begin = split * depth, end = begin + depth < K ? begin + depth : K;
    const bf16 *const row_a = a + (m0 + g) * lda, *const row_b = b + (n0 + g) * ldb;
    // Prefetching weights into the L2 cache need not wait for the previous kernel. One lane per sector of 32 bytes.
    if (early && c % 2 == 0)
        for (int64_t k = begin + 8 * c; k < end; k += kChunk)
#pragma unroll
            for (int t = 0; t < kTiles; ++t)
                if (n0 + t * kMmaColumns + g < result.N) prefetch(row_b + t * kMmaColumns * ldb + k);
    begin_after_previous();
    float d[kMmas][kTiles][4] = {};
    for (int64_t k0 = begin; k0 < end; k0 += kFlight * kChunk) {
        Eights x[kFlight][kHalves], y[kFlight][kTiles];
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            const int64_t k = k0 + i * kChunk + 8 * c;
#pragma unroll
            for (int t = 0; t < kTiles; ++t)
                y[i][t] =
                    load_terms<kVector>(row_b + t * kMmaColumns * ldb, n0 + t * kMmaColumns + g < result.N, k, end);
#pragma unroll
            for (int h = 0; h < kHalves; ++h)
                x[i][h] = load_terms<kVector>(row_a + h * kHalfRows * lda, m0 + h * kHalfRows + g < result.M, k, end);
        }
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            if (k0 + i * kChunk >= end) continue;  // uniform across the warp
#pragma unroll
            for (int m = 0; m < kMmas; ++m)
#pragma unroll
                for (int t = 0; t < kTiles; ++t)
                    multiply_chunk(d[m][t], x[i][2 * m], kHalves > 1 ? x[i][2 * m + (kHalves > 1)] : Eights{}, y[i][t]);
        }
    }
#pragma unroll
    for (int h = 0; h < kHalves; ++h)
#pragma unroll
        for (int t = 0; t < kTiles; ++t)
#pragma unroll
            for (int j = 0; j < 2; ++j)
                partial[split][h * kHalfRows + g][t * kMmaColumns + 2 * c + j] = d[h / 2][t][h % 2 * 2 + j];
    __syncthreads();
    const int count = static_cast<int>((K + depth - 1) / depth);
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kColumns; i += kThreads) {
        const int m = i / kColumns, n = i % kColumns;
        float sum = 0.0f;
        for (int p = 0; p < count; ++p) sum += partial[p][m][n];
        result.store(m0 + m, n0 + n, sum);
    }
}

template <class R, int kHalves, int kTiles, bool kVector>
int32_t few_rows(xf_stream *stream, const Gemm &g, xf_error *err) {
    const dim3 grid(static_cast<unsigned>(ceil_div<int64_t>(g.N, kTiles * kMmaColumns)),
                    static_cast<unsigned>(ceil_div<int64_t>(g.M, kHalves * kHalfRows)));
    return launch_dependent(stream, err, "gemm_few_rows", few_rows_kernel<R, kHalves, kTiles, kVector>, grid,
                            dim3(kThreads), 0, static_cast<const bf16 *>(g.a), g.lda, static_cast<const bf16 *>(g.b),
                            g.ldb, g.K, split_depth(g.K), stream->device->dependent_launch, rows_result<R>(g));
}

// The tensors of a model are aligned; other memory is read element by element.
template <class R, int kHalves>
int32_t with_tiles(xf_stream *stream, const Gemm &g, xf_error *err) {
    if (!rows_are_aligned(g, 8)) return few_rows<R, kHalves, 1, false>(stream, g, err);
    const int64_t wave = int64_t{2} * stream->device->multiprocessors * kMmaColumns / ceil_div(g.M, kFewRows);
    if (g.N <= wave) return few_rows<R, kHalves, 1, true>(stream, g, err);
    if (g.N <= 2 * wave) return few_rows<R, kHalves, 2, true>(stream, g, err);
    return few_rows<R, kHalves, 4, true>(stream, g, err);
}

template <class R>
int32_t with_halves(xf_stream *stream, const Gemm &g, xf_error *err) {
    if (g.M <= 8) return with_tiles<R, 1>(stream, g, err);
    if (g.M <= 16) return with_tiles<R, 2>(stream, g, err);
    return with_tiles<R, 4>(stream, g, err);
}

}  // namespace

int32_t gemm_few_rows(xf_stream *stream, const Gemm &g, xf_error *err) {
    return g.result_type == XF_FP32 ? with_halves<float>(stream, g, err) : with_halves<bf16>(stream, g, err);
}

bool rows_are_own(const xf_device *device, const Gemm &g, int32_t level) {
    if (!g.row_invariant || g.a_transposed || !g.b_transposed || g.beta != 0.0f || g.K <= 0 || g.K % 8 != 0)
        return false;
    return g.operand_type == XF_BF16 ? level >= 1 && has_tensor_cores(device) : level >= 2;
}

int32_t gemm_rows(xf_stream *stream, const Gemm &g, xf_error *err) {
    if (g.M == 0 || g.N == 0) return XF_OK;
    const int64_t tiles = ceil_div(g.M, kTile) * ceil_div(g.N, kTile);
    const bool few = g.M <= kFewRows || (g.M <= kMostRows && tiles < stream->device->multiprocessors);
    if (g.operand_type == XF_FP32)
        return few ? gemm_few_rows_fp32(stream, g, err) : gemm_plain_in_parts(stream, g, split_depth(g.K), err);
    return few ? gemm_few_rows(stream, g, err) : gemm_many_rows(stream, g, err);
}

}  // namespace xf::cuda
