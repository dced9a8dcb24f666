// Backward of residual, dropout and layer normalisation (paper s. 3.1, 5.4); forward: add_norm.cu.
//
//     x = (sum - mean) * rstd           g = weights * diff_dst
//     diff_residual = rstd * (g - avg(g) - x * avg(g x)) + diff_sum     diff_src = mask * diff_residual
//     diff_weights += sum_m diff_dst x                                  diff_bias += sum_m diff_dst
//
// One pass over the tensors. A block owns a tile of rows, as many as M and D say, and adds the columns of diff_dst x
// and of diff_dst while the rows pass: each warp over its rows, the warps in rising order, then the tiles in a fixed
// tree (sum_tiles). A wide row has the whole block, which reads it twice, once from the caches.
//
// The trap: diff_residual may be diff_dst's or diff_sum's memory. A thread reads its columns of a row before it writes
// them, and nobody else reads them.
//
// SPDX-License-Identifier: Apache-2.0
#include "ops.h"
#include "rows.cuh"

namespace xf::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp, kBlockColumns = kThreads * kEight;
constexpr int64_t kMostTiles = 512, kLeastTiles = 64;
constexpr int64_t kTileNumbers = int64_t{1} << 21;  // tiles times D, about: what the sums of the tiles may take
constexpr size_t kWideShared = 48 * 1024;

// What one thread knows of eight columns of a row.
template <class T>
struct Columns {
    Eight<T> diff_dst, sum;
};
template <bool kVector, class T>
__device__ inline Columns<T> load_columns(const xf_add_norm_bwd &a, int64_t m, int64_t d) {
    return {load8<kVector>(row_of<T>(a.diff_dst, m, a.D), d, a.D), load8<kVector>(row_of<T>(a.sum, m, a.D), d, a.D)};
}

// Adds the row's share of avg(g) and avg(g x), and calls column(j, diff_dst x, diff_dst) for each.
template <bool kVector, class T, class F>
__device__ inline void first_pass8(const xf_add_norm_bwd &a, const Columns<T> &row, float mean, float rstd, int64_t d,
                                   float &average, float &slope, F &&column) {
    const Eight<float> w = load8<kVector>(a.weights, d, a.D);
#pragma unroll
    for (int j = 0; j < kEight; ++j) {
        const float x = (row.sum[j] - mean) * rstd;
        const float g = __fmul_rn(w[j], row.diff_dst[j]);  // rounded as in the second pass: g - avg(g) is 0 when D is 1
        average += g;
        slope = fmaf(g, x, slope);
        column(j, x, row.diff_dst[j]);
    }
}

template <bool kVector, class T>
__device__ inline void second_pass8(const xf_add_norm_bwd &a, const Dropout &dropout, const Columns<T> &row,
                                    const Eight<T> &diff_sum, float mean, float rstd, float average, float slope,
                                    int64_t m, int64_t d) {
    const Eight<float> w = load8<kVector>(a.weights, d, a.D);
    Eight<T> out;
#pragma unroll
    for (int j = 0; j < kEight; ++j) {
        const float x = (row.sum[j] - mean) * rstd;
        const float centred = fmaf(-x, slope, __fmul_rn(w[j], row.diff_dst[j]) - average);
        out.x[j] = from_float<T>(fmaf(rstd, centred, diff_sum[j]));
    }
    store8<kVector>(row_of<T>(a.diff_residual, m, a.D), d, a.D, out);
    if (!a.diff_src) return;
    if (dropout.threshold) {
        const Mask8 mask = mask8<kVector>(dropout, static_cast<uint64_t>(m * a.D + d));
#pragma unroll
        for (int j = 0; j < kEight; ++j) out.x[j] = from_float<T>(masked(out[j], mask.factor[j]));
    }
    store8<kVector>(row_of<T>(a.diff_src, m, a.D), d, a.D, out);
}

// Sums of the columns over a tile of rows go to partials[tile], first those of diff_dst x, then those of diff_dst.
template <class T, bool kVector, int kChunks>
__global__ void __launch_bounds__(kThreads)
    narrow_bwd_kernel(xf_add_norm_bwd a, Dropout dropout, int64_t tile_rows, float *partials) {
    __shared__ float shared[2][kChunks * kWarpColumns];
    const int warp = static_cast<int>(threadIdx.x) / kWarp, first = static_cast<int>(threadIdx.x) % kWarp * kEight;
    const int64_t begin = blockIdx.x * tile_rows, end = begin + tile_rows < a.M ? begin + tile_rows : a.M;
    float weights[kChunks][kEight] = {}, bias[kChunks][kEight] = {};
    for (int64_t m = begin + warp; m < end; m += kWarps) {
        Columns<T> row[kChunks];
        Eight<T> diff_sum[kChunks];
#pragma unroll
        for (int c = 0; c < kChunks; ++c) row[c] = load_columns<kVector, T>(a, m, c * kWarpColumns + first);
        const auto load_diff_sum = [&](int c) {
            return load8<kVector>(row_of<T>(a.diff_sum, m, a.D), c * kWarpColumns + first, a.diff_sum ? a.D : 0);
        };
#pragma unroll
        for (int c = 0; kVector && c < kChunks; ++c) diff_sum[c] = load_diff_sum(c);
        const float mean = a.stats[2 * m], rstd = a.stats[2 * m + 1];
        float average = 0.0f, slope = 0.0f;
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
            first_pass8<kVector>(a, row[c], mean, rstd, c * kWarpColumns + first, average, slope,
                                 [&](int j, float x, float diff) {
                                     weights[c][j] = fmaf(diff, x, weights[c][j]);
                                     bias[c][j] += diff;
                                 });
        average = warp_sum(average) / static_cast<float>(a.D);
        slope = warp_sum(slope) / static_cast<float>(a.D);
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
            second_pass8<kVector>(a, dropout, row[c], kVector ? diff_sum[c] : load_diff_sum(c), mean, rstd, average,
                                  slope, m, c * kWarpColumns + first);
    }
    for (int w = 0; w < kWarps; ++w) {
        if (warp == w) {
#pragma unroll
            for (int c = 0; c < kChunks; ++c)
#pragma unroll
                for (int j = 0; j < kEight; ++j) {
                    const int at = c * kWarpColumns + first + j;
                    shared[0][at] = weights[c][j] + (w > 0 ? shared[0][at] : 0.0f);
                    shared[1][at] = bias[c][j] + (w > 0 ? shared[1][at] : 0.0f);
                }
        }
        __syncthreads();
    }
    float *out = partials + blockIdx.x * 2 * a.D;
    for (int d = static_cast<int>(threadIdx.x); d < a.D; d += kThreads)
        out[d] = shared[0][d], out[a.D + d] = shared[1][d];
}

// Of a wide row's columns, thread t owns the eights t, t + kThreads, ...; its sums lie in slots kThreads apart, so that
// neighbours touch neighbouring words.
inline int64_t wide_slots(int64_t D) { return ceil_div(D, int64_t{kBlockColumns}) * kBlockColumns; }
__device__ inline int64_t wide_column(int64_t slot) {
    const int64_t in = slot % kBlockColumns;
    return slot - in + in % kThreads * kEight + in / kThreads;
}

template <class T, bool kVector>
__global__ void __launch_bounds__(kThreads, 2) wide_bwd_kernel(xf_add_norm_bwd a, Dropout dropout, int64_t tile_rows,
                                                               int64_t slots, float *partials, bool in_shared) {
    __shared__ float shared[kWarps];
    const int64_t begin = blockIdx.x * tile_rows, end = begin + tile_rows < a.M ? begin + tile_rows : a.M;
    const int64_t first = threadIdx.x * kEight;
    float *out = partials + blockIdx.x * 2 * slots, *sums = in_shared ? dynamic_shared<float>() : out;
    for (int64_t slot = threadIdx.x; slot < 2 * slots; slot += kThreads) sums[slot] = 0.0f;
    for (int64_t m = begin; m < end; ++m) {
        const float mean = a.stats[2 * m], rstd = a.stats[2 * m + 1];
        float average = 0.0f, slope = 0.0f;
#pragma unroll 1
        for (int64_t d = first; d < a.D; d += kBlockColumns) {
            float *weights = sums + d - first + threadIdx.x, *bias = weights + slots;
            first_pass8<kVector>(a, load_columns<kVector, T>(a, m, d), mean, rstd, d, average, slope,
                                 [&](int j, float x, float diff) {
                                     weights[j * kThreads] = fmaf(diff, x, weights[j * kThreads]);
                                     bias[j * kThreads] += diff;
                                 });
        }
        average = block_sum<kWarps>(average, shared) / static_cast<float>(a.D);
        slope = block_sum<kWarps>(slope, shared) / static_cast<float>(a.D);
#pragma unroll 1
        for (int64_t d = first; d < a.D; d += kBlockColumns) {
            const Columns<T> row = load_columns<kVector, T>(a, m, d);
            const Eight<T> diff_sum = load8<kVector>(row_of<T>(a.diff_sum, m, a.D), d, a.diff_sum ? a.D : 0);
            second_pass8<kVector>(a, dropout, row, diff_sum, mean, rstd, average, slope, m, d);
        }
    }
    if (in_shared)  // a thread's slots are its own: no barrier
        for (int64_t slot = threadIdx.x; slot < 2 * slots; slot += kThreads) out[slot] = sums[slot];
}

// diff_weights and diff_bias += the sums of the tiles: 32 columns per block, each added by 32 threads and their tree.
__global__ void __launch_bounds__(kWarp *kWarp)
    sum_tiles(int64_t tiles, int64_t slots, int64_t D, bool wide, const float *partials, float *diff_weights,
              float *diff_bias) {
    __shared__ float sums[kWarp][kWarp + 1];
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
    const int64_t slot = int64_t{blockIdx.x} * kWarp + lane;
    float sum = 0.0f;
    if (slot < 2 * slots)
#pragma unroll 4
        for (int64_t t = warp; t < tiles; t += kWarp) sum += partials[t * 2 * slots + slot];
    sums[warp][lane] = sum;
    __syncthreads();
    sum = warp_sum(sums[lane][warp]);
    const int64_t mine = int64_t{blockIdx.x} * kWarp + warp;
    if (lane != 0 || mine >= 2 * slots) return;
    const int64_t column = wide ? wide_column(mine % slots) : mine % slots;
    float *dst = mine < slots ? diff_weights : diff_bias;
    if (column < D) dst[column] += sum;
}

template <class T, bool kVector>
int32_t backward(xf_stream *stream, const xf_add_norm_bwd &a, xf_error *err) {
    const Dropout dropout = make_dropout(a.dropout);
    const bool wide = a.D > kNarrow;
    const int64_t fit = kTileNumbers / a.D, most = fit < kLeastTiles  ? kLeastTiles
                                                   : fit < kMostTiles ? fit
                                                                      : kMostTiles;
    const int64_t tile_rows = ceil_div(ceil_div(a.M, most), int64_t{kWarps}) * kWarps;
    const int64_t tiles = ceil_div(a.M, tile_rows), slots = wide ? wide_slots(a.D) : a.D;
    const size_t tile_bytes = static_cast<size_t>(2 * slots) * sizeof(float);
    float *partials = static_cast<float *>(scratch(stream, static_cast<size_t>(tiles) * tile_bytes, err));
    if (!partials) return XF_ERROR_NO_MEMORY;
    const dim3 grid(static_cast<unsigned>(tiles)), block(kThreads);
    int32_t status;
    if (wide) {
        const bool in_shared = tile_bytes + kWarps * sizeof(float) <= kWideShared;
        status = launch(stream, err, "add_norm_bwd", wide_bwd_kernel<T, kVector>, grid, block,
                        in_shared ? tile_bytes : 0, a, dropout, tile_rows, slots, partials, in_shared);
    } else {
        status = with_chunks<kVector>(a.D, [&](auto chunks) {
            return launch(stream, err, "add_norm_bwd", narrow_bwd_kernel<T, kVector, decltype(chunks)::value>, grid,
                          block, 0, a, dropout, tile_rows, partials);
        });
    }
    if (status != XF_OK) return status;
    return launch(stream, err, "add_norm_bwd, sums", sum_tiles,
                  dim3(static_cast<unsigned>(ceil_div(2 * slots, int64_t{kWarp}))), dim3(kWarp * kWarp), 0, tiles,
                  slots, a.D, wide, static_cast<const float *>(partials), a.diff_weights, a.diff_bias);
}

}  // namespace

int32_t add_norm_bwd(xf_stream *stream, const xf_add_norm_bwd *args, xf_error *err) {
    const xf_add_norm_bwd &a = *args;
    const int32_t status = enter(stream, err);
    if (status != XF_OK || a.M <= 0) return status;
    const bool vector =
        a.D % kEight == 0 && aligned(a.diff_dst, a.diff_sum, a.sum, a.weights, a.diff_residual, a.diff_src);
    return dispatch(stream, [&](auto zero) {
        using T = decltype(zero);
        return vector ? backward<T, true>(stream, a, err) : backward<T, false>(stream, a, err);
    });
}

}  // namespace xf::cuda
