// Row-invariant products of many rows in bf16: the sums of gemm_rows.cu, computed by one warp instead of eight. See
// gemm_rows.h.
//
// A block computes a tile of c: 64 x 64 with four warps or 128 x 128 with eight. cp.async copies stages of one chunk of
// both operands, 64 bytes per row, into shared memory; kStages - 1 of them are in flight. A quarter of a warp reads two
// rows of a stage, 128 consecutive bytes, without bank conflicts. At the end of a split its sums are added to the
// total.
//
// Bound: the tensor cores. A chunk of the larger tile is 2 * 128 * 128 * 32 operations per 16 KiB from the L2 cache.
// Adding the splits costs a 16th of an operation per product at K = 512, and less for larger K.
//
// SPDX-License-Identifier: Apache-2.0
#include "dependent.cuh"
#include "gemm_rows.cuh"

namespace xf::cuda {
namespace {

constexpr int kStages = 4;
constexpr int kParts = 4;  // 16-byte parts of a row of a stage

// A warp computes kWarpRows x kWarpColumns.
template <int kRowWarps, int kColumnWarps, int kWarpRows, int kWarpColumns>
struct Tile {
    static constexpr int kThreads = kRowWarps * kColumnWarps * kWarp;
    static constexpr int kRows = kRowWarps * kWarpRows, kColumns = kColumnWarps * kWarpColumns;
    static constexpr int kMmasDown = kWarpRows / kMmaRows, kMmasAcross = kWarpColumns / kMmaColumns;
    static constexpr int kStage = (kRows + kColumns) * kParts;  // number of Eights per stage
    static constexpr size_t kShared = size_t{kStages} * kStage * sizeof(Eights);
    static constexpr int kLoads = kStage / kThreads;
    static_assert(kStage % kThreads == 0);
};
using Small = Tile<2, 2, 32, 32>;
using Large = Tile<2, 4, 64, 32>;

template <class R, class T, bool kVector>
__global__ void __launch_bounds__(T::kThreads)
    many_rows_kernel(const bf16 *a, int64_t lda, const bf16 *b, int64_t ldb, int64_t K, int chunks_per_split,
                     RowsResult<R> result, int64_t tiles_m) {
    begin_after_previous();
    Eights *const shared = dynamic_shared<Eights>();
    const int64_t m0 = blockIdx.x % tiles_m * T::kRows, n0 = blockIdx.x / tiles_m * T::kColumns;
    const int tid = static_cast<int>(threadIdx.x), lane = tid % kWarp, warp = tid / kWarp;
    const int g = lane / 4, c = lane % 4;
    const int chunks = static_cast<int>((K + kChunk - 1) / kChunk);

    const auto load = [&](int chunk) {  // rows of a, then of b
        Eights *const stage = shared + chunk % kStages * T::kStage;
#pragma unroll
        for (int i = 0; i < T::kLoads; ++i) {
            const int at = tid + i * T::kThreads, row = at / kParts;
            const int64_t k = chunk * kChunk + at % kParts * 8;
            const bool of_a = row < T::kRows;
            const int64_t r = of_a ? m0 + row : n0 + row - T::kRows;
            const bool exists = r < (of_a ? result.M : result.N);
            const bf16 *const from = of_a ? a + r * lda : b + r * ldb;
            if constexpr (kVector) {
                const bool valid = exists && k < K;
                cp_async16(stage + at, valid ? from + k : a, valid);
            } else {
                stage[at] = load_terms<false>(from, exists, k, K);
            }
        }
    };
    float total[T::kMmasDown][T::kMmasAcross][4] = {}, part[T::kMmasDown][T::kMmasAcross][4] = {};
    // Offsets of this lane's elements in a stage.
    const int own_a =
        (warp / (T::kColumns / (T::kMmasAcross * kMmaColumns)) * T::kMmasDown * kMmaRows + g) * kParts + c;
    const int own_b =
        (T::kRows + warp % (T::kColumns / (T::kMmasAcross * kMmaColumns)) * T::kMmasAcross * kMmaColumns + g) * kParts +
        c;
#pragma unroll
    for (int chunk = 0; chunk < kStages - 1; ++chunk) {
        if (chunk < chunks) load(chunk);
        cp_async_commit();
    }
    int left = chunks_per_split;
    for (int chunk = 0; chunk < chunks; ++chunk) {
        cp_async_wait<kStages - 2>();
        __syncthreads();  // the chunk has arrived, and the previous stage has been read
        if (chunk + kStages - 1 < chunks) load(chunk + kStages - 1);
        cp_async_commit();
        const Eights *const stage = shared + chunk % kStages * T::kStage;
        Eights y[T::kMmasAcross];
#pragma unroll
        for (int t = 0; t < T::kMmasAcross; ++t) y[t] = stage[own_b + t * kMmaColumns * kParts];
#pragma unroll
        for (int m = 0; m < T::kMmasDown; ++m) {
            const Eights low = stage[own_a + m * kMmaRows * kParts];
            const Eights high = stage[own_a + (m * kMmaRows + kHalfRows) * kParts];
#pragma unroll
            for (int t = 0; t < T::kMmasAcross; ++t) multiply_chunk(part[m][t], low, high, y[t]);
        }
        if (--left > 0 && chunk + 1 < chunks) continue;
        left = chunks_per_split;
#pragma unroll
        for (int m = 0; m < T::kMmasDown; ++m)
#pragma unroll
            for (int t = 0; t < T::kMmasAcross; ++t)
#pragma unroll
                for (int j = 0; j < 4; ++j) total[m][t][j] += part[m][t][j], part[m][t][j] = 0.0f;
    }
    const int64_t m = m0 + own_a / kParts, n = n0 + own_b / kParts - T::kRows - g + 2 * c;
#pragma unroll
    for (int i = 0; i < T::kMmasDown; ++i)
#pragma unroll
        for (int t = 0; t < T::kMmasAcross; ++t)
#pragma unroll
            for (int j = 0; j < 4; ++j)
                result.store(m + i * kMmaRows + j / 2 * kHalfRows, n + t * kMmaColumns + j % 2, total[i][t][j]);
}

template <class R, class T>
int32_t many_rows(xf_stream *stream, const Gemm &g, xf_error *err) {
    const int64_t down = ceil_div<int64_t>(g.M, T::kRows), tiles = down * ceil_div<int64_t>(g.N, T::kColumns);
    if (tiles > INT32_MAX || g.K > INT32_MAX)
        return fail(err, XF_ERROR_UNSUPPORTED, "a matrix product of %lld x %lld x %lld is too large",
                    static_cast<long long>(g.M), static_cast<long long>(g.N), static_cast<long long>(g.K));
    const auto kernel = rows_are_aligned(g, 8) ? many_rows_kernel<R, T, true> : many_rows_kernel<R, T, false>;
    return launch_dependent(stream, err, "gemm_many_rows", kernel, dim3(static_cast<unsigned>(tiles)),
                            dim3(T::kThreads), T::kShared, static_cast<const bf16 *>(g.a), g.lda,
                            static_cast<const bf16 *>(g.b), g.ldb, g.K, static_cast<int>(split_depth(g.K) / kChunk),
                            rows_result<R>(g), down);
}

// Uses the larger tiles only if there are enough of them to fill the device.
template <class R>
int32_t with_tile(xf_stream *stream, const Gemm &g, xf_error *err) {
    const int64_t larger = ceil_div<int64_t>(g.M, Large::kRows) * ceil_div<int64_t>(g.N, Large::kColumns);
    return larger >= stream->device->multiprocessors ? many_rows<R, Large>(stream, g, err)
                                                     : many_rows<R, Small>(stream, g, err);
}

}  // namespace

int32_t gemm_many_rows(xf_stream *stream, const Gemm &g, xf_error *err) {
    return g.result_type == XF_FP32 ? with_tile<float>(stream, g, err) : with_tile<bf16>(stream, g, err);
}

}  // namespace xf::cuda
