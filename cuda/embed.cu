// Token embedding plus position, scaled, with dropout (paper s. 3.4, 3.5, 5.4).
//
//     dst[t] = dropout(scale * weights[ids[t]] + positions[pos[t]])
//     diff_weights[id] += scale * sum over t with ids[t] == id of mask(t) * diff_dst[t]
//
// Forward: one warp per token. Backward: the tokens are grouped by id, but only the device knows the lengths of the
// groups: a batch has thousands of words that occur once or twice and a comma that occurs a thousand times. Two kernels
// therefore scan all groups and process their own kind. Groups of up to kShort tokens are processed by one warp per 256
// columns, which adds in increasing order. Longer groups are processed by one block per 64 columns: each of its 32
// token lanes adds every 32nd token, and a fixed tree adds the lanes. Each row of the table has one writer. Empty
// groups are skipped and their rows are not modified.
//
// SPDX-License-Identifier: Apache-2.0
#include "dependent.cuh"
#include "ops.h"
#include "rows.cuh"

namespace xf::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kShort = kWarp;                                      // a warp reads a short group's tokens at once
constexpr int kShortFlight = 2, kFlight = 4;                       // rows whose loads are in flight together
constexpr int kColumnLanes = 8, kColumns = kColumnLanes * kEight;  // for long groups
constexpr int kTokenLanes = kThreads / kColumnLanes;
#ifndef XF_CUDA_EMBED_BLOCKS  // a test has fewer, so that each computes several groups
#define XF_CUDA_EMBED_BLOCKS 1024
#endif
constexpr int64_t kLongBlocks = XF_CUDA_EMBED_BLOCKS;  // each block processes every kLongBlocks-th group

template <class T, bool kVector>
__global__ void __launch_bounds__(kThreads) embed_kernel(xf_embed_fwd a, Dropout dropout) {
    begin_after_previous();
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int64_t t = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
    if (t >= a.rows) return;
    const T *word = static_cast<const T *>(a.weights) + a.ids[t] * a.D;
    const float *position = a.positions + a.pos[t] * a.D;
    T *dst = static_cast<T *>(a.dst) + t * a.D;
#pragma unroll 2
    for (int64_t d = lane * kEight; d < a.D; d += kWarpColumns) {
        const Eight<T> w = load8<kVector>(word, d, a.D);
        const Eight<float> p = load8<kVector>(position, d, a.D);
        float x[kEight];
#pragma unroll
        for (int j = 0; j < kEight; ++j) x[j] = fmaf(a.scale, w[j], p[j]);
        if (dropout.threshold) {
            const Mask8 mask = mask8<kVector>(dropout, static_cast<uint64_t>(t * a.D + d));
#pragma unroll
            for (int j = 0; j < kEight; ++j) x[j] = masked(x[j], mask.factor[j]);
        }
        Eight<T> out;
#pragma unroll
        for (int j = 0; j < kEight; ++j) out.x[j] = from_float<T>(x[j]);
        store8<kVector>(dst, d, a.D, out);
    }
}

// sum += mask * row for elements d .. d+7 of token t.
template <bool kVector, class T>
__device__ inline void add_token(const Dropout &dropout, const Eight<T> &row, int64_t t, int64_t d, int64_t D,
                                 float (&sum)[kEight]) {
    if (dropout.threshold) {
        const Mask8 mask = mask8<kVector>(dropout, static_cast<uint64_t>(t * D + d));
#pragma unroll
        for (int j = 0; j < kEight; ++j)
            sum[j] = mask.factor[j] != 0.0f ? fmaf(row[j], mask.factor[j], sum[j]) : sum[j];
    } else {
#pragma unroll
        for (int j = 0; j < kEight; ++j) sum[j] += row[j];
    }
}

template <class T, bool kVector>
__global__ void __launch_bounds__(kThreads) short_groups_kernel(xf_embed_bwd a, Dropout dropout) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int64_t g = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
    if (g >= a.groups) return;  // uniform across the warp, as below
    const int64_t begin = a.starts[g], count = a.starts[g + 1] - begin;
    if (count <= 0 || count > kShort) return;
    const int64_t d = blockIdx.y * kWarpColumns + lane * kEight;
    const T *diff_dst = static_cast<const T *>(a.diff_dst);
    float *dst = a.diff_weights + a.group_ids[g] * a.D;
    const Eight<float> before = load8<kVector>(dst, d, a.D);
    const int32_t token = lane < count ? a.order[begin + lane] : 0;
    float sum[kEight] = {};
    for (int first = 0; first < count; first += kShortFlight) {
        Eight<T> rows[kShortFlight];
        int32_t t[kShortFlight];
#pragma unroll
        for (int i = 0; i < kShortFlight; ++i) {
            t[i] = __shfl_sync(0xFFFFFFFFu, token, (first + i) % kWarp);
            rows[i] = load8<kVector>(diff_dst + int64_t{t[i]} * a.D, d, first + i < count ? a.D : 0);
        }
#pragma unroll
        for (int i = 0; i < kShortFlight; ++i)
            if (first + i < count) add_token<kVector>(dropout, rows[i], t[i], d, a.D, sum);
    }
    Eight<float> after;
#pragma unroll
    for (int j = 0; j < kEight; ++j) after.x[j] = fmaf(a.scale, sum[j], before[j]);
    store8<kVector>(dst, d, a.D, after);
}

template <class T, bool kVector>
__global__ void __launch_bounds__(kThreads, 1) long_groups_kernel(xf_embed_bwd a, Dropout dropout) {
    __shared__ float sums[kWarps][kColumns];
    const int thread = static_cast<int>(threadIdx.x), column = thread % kColumnLanes * kEight;
    const int64_t d = int64_t{blockIdx.y} * kColumns + column;
    const T *diff_dst = static_cast<const T *>(a.diff_dst);
    for (int64_t g = blockIdx.x; g < a.groups; g += gridDim.x) {
        const int64_t begin = a.starts[g], count = a.starts[g + 1] - begin;
        if (count <= kShort) continue;  // uniform across the block
        float sum[kEight] = {};
        for (int64_t first = thread / kColumnLanes; first < count; first += kFlight * kTokenLanes) {
            Eight<T> rows[kFlight];
            int32_t t[kFlight];
#pragma unroll
            for (int i = 0; i < kFlight; ++i) {
                const int64_t at = first + i * kTokenLanes;
                t[i] = at < count ? a.order[begin + at] : -1;
            }
#pragma unroll
            for (int i = 0; i < kFlight; ++i)
                rows[i] = load8<kVector>(diff_dst + int64_t{t[i] < 0 ? 0 : t[i]} * a.D, d, t[i] < 0 ? 0 : a.D);
#pragma unroll
            for (int i = 0; i < kFlight; ++i)
                if (t[i] >= 0) add_token<kVector>(dropout, rows[i], t[i], d, a.D, sum);
        }
#pragma unroll
        for (int j = 0; j < kEight; ++j) {
            for (int offset = kColumnLanes; offset < kWarp; offset *= 2)
                sum[j] += __shfl_xor_sync(0xFFFFFFFFu, sum[j], offset);
            if (thread % kWarp < kColumnLanes) sums[thread / kWarp][column + j] = sum[j];
        }
        __syncthreads();
        const int64_t out = int64_t{blockIdx.y} * kColumns + thread;
        if (thread < kColumns && out < a.D) {
            float total = 0.0f;
#pragma unroll
            for (int w = 0; w < kWarps; ++w) total += sums[w][thread];
            float &dst = a.diff_weights[a.group_ids[g] * a.D + out];
            dst = fmaf(a.scale, total, dst);
        }
        __syncthreads();  // before the next group's sums
    }
}

}  // namespace

int32_t embed_fwd(xf_stream *stream, const xf_embed_fwd *args, xf_error *err) {
    const xf_embed_fwd &a = *args;
    const int32_t status = enter(stream, err);
    if (status != XF_OK || a.rows <= 0) return status;
    const dim3 grid(static_cast<unsigned>(ceil_div(a.rows, int64_t{kWarps})));
    const bool vector = a.D % kEight == 0 && aligned(a.weights, a.positions, a.dst);
    return dispatch(stream, [&](auto zero) {
        using T = decltype(zero);
        return launch_dependent(stream, err, "embed_fwd", vector ? embed_kernel<T, true> : embed_kernel<T, false>, grid,
                                dim3(kThreads), 0, a, make_dropout(a.dropout));
    });
}

int32_t embed_bwd(xf_stream *stream, const xf_embed_bwd *args, xf_error *err) {
    const xf_embed_bwd &a = *args;
    const int32_t status = enter(stream, err);
    if (status != XF_OK || a.groups <= 0) return status;
    const int64_t warp_tiles = ceil_div(a.D, int64_t{kWarpColumns}), block_tiles = ceil_div(a.D, int64_t{kColumns});
    const dim3 short_grid(static_cast<unsigned>(ceil_div(a.groups, int64_t{kWarps})),
                          static_cast<unsigned>(warp_tiles));
    const dim3 long_grid(static_cast<unsigned>(a.groups < kLongBlocks ? a.groups : kLongBlocks),
                         static_cast<unsigned>(block_tiles));
    const bool vector = a.D % kEight == 0 && aligned(a.diff_dst, a.diff_weights);
    const Dropout dropout = make_dropout(a.dropout);
    return dispatch(stream, [&](auto zero) {
        using T = decltype(zero);
        const int32_t rc = launch(stream, err, "embed_bwd, short groups",
                                  vector ? short_groups_kernel<T, true> : short_groups_kernel<T, false>, short_grid,
                                  dim3(kThreads), 0, a, dropout);
        if (rc != XF_OK) return rc;
        return launch(stream, err, "embed_bwd, long groups",
                      vector ? long_groups_kernel<T, true> : long_groups_kernel<T, false>, long_grid, dim3(kThreads), 0,
                      a, dropout);
    });
}

}  // namespace xf::cuda
