// Backward pass of residual, dropout, and layer normalization (paper s. 3.1, 5.4); forward: add_norm.cu.
//
//     x = (sum - mean) * rstd           g = weights * diff_dst
//     diff_residual = rstd * (g - avg(g) - x * avg(g x)) + diff_sum     diff_src = mask * diff_residual
//     diff_weights += sum_m diff_dst x                                  diff_bias += sum_m diff_dst
//     diff_src_bias += sum_m diff_src                                   RMSNorm: avg(g) is left out
//
// One pass over the tensors. A block owns a tile of rows, whose height depends on M and D, and accumulates the columns
// of diff_dst x, diff_dst, and diff_src over its rows. A row is processed by one warp per 256 columns, so a thread has
// eight columns for every D and keeps its sums in registers. Warps of a block that process the same columns of
// different rows are added in increasing order, then the tiles by a fixed tree (sum_tiles). A row of more than 1024
// columns is processed by the whole block, which reads it twice, the second time from the caches.
//
// The number of tiles is chosen so that all blocks run at the same time, two per multiprocessor, on a GPU with 128 or
// more multiprocessors. There is no nearly empty last wave, and the number does not depend on the GPU.
//
// diff_residual may be the memory of diff_dst or diff_sum. A thread reads its columns of a row before it writes them,
// and no other thread reads them.
//
// SPDX-License-Identifier: Apache-2.0
#include "add_norm_bwd.cuh"
#include "ops.h"

namespace xf::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp, kBlockColumns = kThreads * kEight;
constexpr int kResident = 2;  // blocks per multiprocessor
constexpr int64_t kMostTiles = kResident * 128, kLeastTiles = 64;
constexpr int64_t kTileNumbers = int64_t{1}
                                 << 21;  // approximate limit of tiles * D, which bounds the memory of the tile sums
constexpr int kMostSums = 3;             // column sums of diff_dst x, diff_dst, diff_src
constexpr size_t kWideShared = kMostSums * 2 * kBlockColumns * sizeof(float);

// Adds the sums of a row's kSpan warps in increasing order. If kSpan is 1, no other warp is involved. Otherwise all
// warps of the block call it together, with alternating `turn`: a slower warp may still read the values of the previous
// call.
template <int kSpan>
__device__ inline void row_sums(float &average, float &slope, float2 (&shared)[2][kWarps], int turn) {
    average = warp_sum(average), slope = warp_sum(slope);
    if constexpr (kSpan > 1) {
        const int warp = static_cast<int>(threadIdx.x) / kWarp, first = warp / kSpan * kSpan;
        if (threadIdx.x % kWarp == 0) shared[turn][warp] = make_float2(average, slope);
        __syncthreads();
        average = slope = 0.0f;
#pragma unroll
        for (int w = 0; w < kSpan; ++w) {
            const float2 part = shared[turn][first + w];
            average += part.x, slope += part.y;
        }
    }
}

// Writes the column sums over a tile of rows to partials[tile]: those of diff_dst x, diff_dst, and diff_src.
template <class T, bool kVector, int kSpan>
__global__ void __launch_bounds__(kThreads, kResident)
    warp_bwd_kernel(xf_add_norm_bwd a, Dropout dropout, int64_t tile_rows, int sums, float *partials) {
    constexpr int kRows = kWarps / kSpan;                  // rows at a time
    constexpr bool kPrefetch = kVector && sizeof(T) == 2;  // load the next row while the current one is processed
    __shared__ float shared[kMostSums][kSpan * kWarpColumns];
    __shared__ float2 parts[2][kWarps];
    const int thread = static_cast<int>(threadIdx.x), group = thread / (kSpan * kWarp);
    const int slot = thread % (kSpan * kWarp), d = slot * kEight;
    const int64_t begin = blockIdx.x * tile_rows, end = begin + tile_rows < a.M ? begin + tile_rows : a.M;
    float weights[kEight] = {}, bias[kEight] = {}, src_bias[kEight] = {};
    const int rows = static_cast<int>(end - begin);
    const auto width_of = [&](int row) {
        return row < rows ? a.D : 0;
    };  // a missing row has width 0: nothing is read or written
    const auto load = [&](int row) { return load_columns<kVector, T>(a, begin + row, d, width_of(row)); };
    Columns<T> next{};
    if (kPrefetch) next = load(group);
    int turn = 0;
    for (int row = group; row - group < rows; row += kRows, turn ^= 1) {
        if (kSpan == 1 && row >= rows) break;
        const int64_t m = begin + row, width = width_of(row);
        const Columns<T> columns = kPrefetch ? next : load(row);
        const Eight<T> diff_sum = load8<kVector>(row_of<T>(a.diff_sum, m, a.D), d, a.diff_sum ? width : 0);
        if (kPrefetch) next = load(row + kRows);
        const float mean = width > 0 ? a.stats[2 * m] : 0.0f, rstd = width > 0 ? a.stats[2 * m + 1] : 0.0f;
        float average = 0.0f, slope = 0.0f;
        first_pass8<kVector>(a, columns, mean, rstd, d, average, slope, [&](int j, float x, float diff) {
            weights[j] = fmaf(diff, x, weights[j]);
            bias[j] += diff;
        });
        row_sums<kSpan>(average, slope, parts, turn);
        average = a.rms ? 0.0f : average / static_cast<float>(a.D), slope /= static_cast<float>(a.D);
        const Eight<T> out =
            second_pass8<kVector>(a, dropout, columns, diff_sum, mean, rstd, average, slope, m, d, width);
#pragma unroll
        for (int j = 0; j < kEight; ++j) src_bias[j] += out[j];
    }
    // The columns are ordered so that the lanes of a warp access neighboring words.
    for (int g = 0; g < kRows; ++g) {
        if (group == g) {
#pragma unroll
            for (int j = 0; j < kEight; ++j) {
                const int at = j * kSpan * kWarp + slot;
                shared[0][at] = weights[j] + (g > 0 ? shared[0][at] : 0.0f);
                shared[1][at] = bias[j] + (g > 0 ? shared[1][at] : 0.0f);
                shared[2][at] = src_bias[j] + (g > 0 ? shared[2][at] : 0.0f);
            }
        }
        __syncthreads();
    }
    float *out = partials + blockIdx.x * sums * a.D;
    for (int which = 0; which < sums; ++which)
        for (int column = thread; column < a.D; column += kThreads)
            out[which * a.D + column] = shared[which][column % kEight * kSpan * kWarp + column / kEight];
}

// In a wide row, thread t owns the groups of eight columns t, t + kThreads, ... Its sums are stored in slots that are
// kThreads apart, so that neighboring threads access neighboring words.
inline int64_t wide_slots(int64_t D) { return ceil_div(D, int64_t{kBlockColumns}) * kBlockColumns; }
__device__ inline int64_t wide_column(int64_t slot) {
    const int64_t in = slot % kBlockColumns;
    return slot - in + in % kThreads * kEight + in / kThreads;
}

template <class T, bool kVector>
__global__ void __launch_bounds__(kThreads, kResident)
    block_bwd_kernel(xf_add_norm_bwd a, Dropout dropout, int64_t tile_rows, int64_t slots, int sums, float *partials,
                     bool in_shared) {
    __shared__ float shared[kWarps];
    const int64_t begin = blockIdx.x * tile_rows, end = begin + tile_rows < a.M ? begin + tile_rows : a.M;
    const int64_t first = threadIdx.x * kEight;
    float *out = partials + blockIdx.x * sums * slots, *kept = in_shared ? dynamic_shared<float>() : out;
    for (int64_t slot = threadIdx.x; slot < sums * slots; slot += kThreads) kept[slot] = 0.0f;
    for (int64_t m = begin; m < end; ++m) {
        const float mean = a.stats[2 * m], rstd = a.stats[2 * m + 1];
        float average = 0.0f, slope = 0.0f;
#pragma unroll 1
        for (int64_t d = first; d < a.D; d += kBlockColumns) {
            float *weights = kept + d - first + threadIdx.x, *bias = weights + slots;
            first_pass8<kVector>(a, load_columns<kVector, T>(a, m, d, a.D), mean, rstd, d, average, slope,
                                 [&](int j, float x, float diff) {
                                     weights[j * kThreads] = fmaf(diff, x, weights[j * kThreads]);
                                     bias[j * kThreads] += diff;
                                 });
        }
        average = block_sum<kWarps>(average, shared) / static_cast<float>(a.D);
        slope = block_sum<kWarps>(slope, shared) / static_cast<float>(a.D);
        if (a.rms) average = 0.0f;
#pragma unroll 1
        for (int64_t d = first; d < a.D; d += kBlockColumns) {
            const Columns<T> row = load_columns<kVector, T>(a, m, d, a.D);
            const Eight<T> diff_sum = load8<kVector>(row_of<T>(a.diff_sum, m, a.D), d, a.diff_sum ? a.D : 0);
            const Eight<T> diff_src =
                second_pass8<kVector>(a, dropout, row, diff_sum, mean, rstd, average, slope, m, d, a.D);
            if (sums < kMostSums) continue;
            float *src_bias = kept + 2 * slots + d - first + threadIdx.x;
#pragma unroll
            for (int j = 0; j < kEight; ++j) src_bias[j * kThreads] += diff_src[j];
        }
    }
    if (in_shared)  // each thread reads only its own slots: no barrier
        for (int64_t slot = threadIdx.x; slot < sums * slots; slot += kThreads) out[slot] = kept[slot];
}

// Adds the tile sums to the parameter gradients: `sums` of them, each may be NULL. 32 columns per block, each added by
// 32 threads and a tree.
struct Gradients {
    float *of[kMostSums];
};
__global__ void __launch_bounds__(kWarp *kWarp) sum_tiles(int64_t tiles, int64_t slots, int64_t D, int sums, bool wide,
                                                          const float *partials, Gradients gradients) {
    __shared__ float parts[kWarp][kWarp + 1];
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
    const int64_t all = sums * slots, slot = int64_t{blockIdx.x} * kWarp + lane;
    float sum = 0.0f;
    if (slot < all)
#pragma unroll 4
        for (int64_t t = warp; t < tiles; t += kWarp) sum += partials[t * all + slot];
    parts[warp][lane] = sum;
    __syncthreads();
    sum = warp_sum(parts[lane][warp]);
    const int64_t mine = int64_t{blockIdx.x} * kWarp + warp;
    if (lane != 0 || mine >= all) return;
    const int64_t column = wide ? wide_column(mine % slots) : mine % slots;
    float *dst = mine < slots ? gradients.of[0] : mine < 2 * slots ? gradients.of[1] : gradients.of[2];
    if (dst != nullptr && column < D) dst[column] += sum;
}

// Calls f(warps) with the number of warps per row.
template <class F>
int32_t with_span(int64_t D, F &&f) {
    if (D <= kWarpColumns) return f(std::integral_constant<int, 1>());
    if (D <= 2 * kWarpColumns) return f(std::integral_constant<int, 2>());
    return f(std::integral_constant<int, 4>());
}

template <class T, bool kVector>
int32_t backward(xf_stream *stream, const xf_add_norm_bwd &a, xf_error *err) {
    const Dropout dropout = make_dropout(a.dropout);
    const bool wide = a.D > kWarpRow;
    const int sums = a.diff_src_bias != nullptr ? kMostSums : kMostSums - 1;
    const int64_t fit = kTileNumbers / a.D, most = fit < kLeastTiles  ? kLeastTiles
                                                   : fit < kMostTiles ? fit
                                                                      : kMostTiles;
    const int64_t step = a.D <= kWarpColumns ? kWarps : a.D <= 2 * kWarpColumns ? kWarps / 2 : kWarps / 4;
    const int64_t tile_rows = ceil_div(ceil_div(a.M, most), step) * step;
    const int64_t tiles = ceil_div(a.M, tile_rows), slots = wide ? wide_slots(a.D) : a.D;
    const size_t tile_bytes = static_cast<size_t>(sums * slots) * sizeof(float);
    float *partials = static_cast<float *>(scratch(stream, static_cast<size_t>(tiles) * tile_bytes, err));
    if (!partials) return XF_ERROR_NO_MEMORY;
    const dim3 grid(static_cast<unsigned>(tiles)), block(kThreads);
    int32_t status;
    if (wide) {
        const bool in_shared = tile_bytes <= kWideShared;
        status = launch(stream, err, "add_norm_bwd", block_bwd_kernel<T, kVector>, grid, block,
                        in_shared ? tile_bytes : 0, a, dropout, tile_rows, slots, sums, partials, in_shared);
    } else {
        status = with_span(a.D, [&](auto span) {
            return launch(stream, err, "add_norm_bwd", warp_bwd_kernel<T, kVector, decltype(span)::value>, grid, block,
                          0, a, dropout, tile_rows, sums, partials);
        });
    }
    if (status != XF_OK) return status;
    return launch(stream, err, "add_norm_bwd, sums", sum_tiles,
                  dim3(static_cast<unsigned>(ceil_div(sums * slots, int64_t{kWarp}))), dim3(kWarp * kWarp), 0, tiles,
                  slots, a.D, sums, wide, static_cast<const float *>(partials),
                  Gradients{{a.diff_weights, a.diff_bias, a.diff_src_bias}});
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
