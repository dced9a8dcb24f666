// Residual, dropout, and layer normalization in one pass (paper s. 3.1, 5.4; Ba et al. 2016); backward:
// add_norm_bwd.cu.
//
//     sum = residual + dropout(src)     x = (sum - mean) * rstd     dst = weights * x + bias
//
// Limited by memory bandwidth, so each tensor is read or written once. Up to kWarpRow columns, a warp keeps its row
// in registers; a wider row is processed by a block, which reads it again from the caches. sum is rounded to its type
// before the mean is computed, whether it is stored or not. The variance is taken around the mean, which is 0 for
// RMSNorm. The order of every sum depends only on D, so rows are independent of each other.
//
// SPDX-License-Identifier: Apache-2.0
#include "dependent.cuh"
#include "ops.h"
#include "rows.cuh"

namespace xf::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kBlockColumns = kThreads * kEight;

// residual + mask * src, where i is the dropout index of the first element.
template <bool kVector, class T>
__device__ inline Eight<T> add8(const Dropout &dropout, const Eight<T> &residual, const Eight<T> &src, int64_t i) {
    Eight<T> sum;
    if (dropout.threshold) {
        const Mask8 mask = mask8<kVector>(dropout, static_cast<uint64_t>(i));
#pragma unroll
        for (int j = 0; j < kEight; ++j) {
            const float kept = fmaf(src[j], mask.factor[j], residual[j]);
            sum.x[j] = from_float<T>(mask.factor[j] != 0.0f ? kept : residual[j]);
        }
    } else {
#pragma unroll
        for (int j = 0; j < kEight; ++j) sum.x[j] = from_float<T>(residual[j] + src[j]);
    }
    return sum;
}

template <class T>
__device__ inline float total8(const Eight<T> &x) {
    const float f[kEight] = {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
    return sum8(f);
}

// Adds (x - mean)^2 of the elements within the row to sum.
template <class T>
__device__ inline float add_squares8(const Eight<T> &x, float mean, int64_t d, int64_t D, float sum) {
#pragma unroll
    for (int j = 0; j < kEight; ++j)
        if (d + j < D) sum = fmaf(x[j] - mean, x[j] - mean, sum);
    return sum;
}

__device__ inline float rstd_of(float squares, int64_t D, float eps) {
    return 1.0f / sqrtf(squares / static_cast<float>(D) + eps);
}

template <bool kVector, class T>
__device__ inline void normalize8(const xf_add_norm_fwd &a, const Eight<T> &x, float mean, float rstd, int64_t m,
                                  int64_t d) {
    const Eight<float> w = load8<kVector>(a.weights, d, a.D), b = load8<kVector>(a.bias, d, a.bias ? a.D : 0);
    Eight<T> out;
#pragma unroll
    for (int j = 0; j < kEight; ++j) out.x[j] = from_float<T>(fmaf(w[j], (x[j] - mean) * rstd, b[j]));
    store8<kVector>(row_of<T>(a.dst, m, a.D), d, a.D, out);
}

template <class T, bool kVector, int kChunks>
__global__ void __launch_bounds__(kThreads, 1) warp_fwd_kernel(xf_add_norm_fwd a, Dropout dropout) {
    begin_after_previous();
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int64_t m = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
    if (m >= a.M) return;  // uniform across the warp
    Eight<T> x[kChunks];
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
        x[c] = load8<kVector>(row_of<T>(a.residual, m, a.D), c * kWarpColumns + lane * kEight, a.D);
    if (a.src) {
        Eight<T> src[kChunks];
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
            src[c] = load8<kVector>(row_of<T>(a.src, m, a.D), c * kWarpColumns + lane * kEight, a.D);
#pragma unroll
        for (int c = 0; c < kChunks; ++c)
            x[c] = add8<kVector>(dropout, x[c], src[c], m * a.D + c * kWarpColumns + lane * kEight);
    }
    float total = 0.0f, squares = 0.0f;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
        const int d = c * kWarpColumns + lane * kEight;
        if (a.sum) store8<kVector>(row_of<T>(a.sum, m, a.D), d, a.D, x[c]);
        if (d < a.D) total += total8(x[c]);
    }
    const float mean = a.rms ? 0.0f : warp_sum(total) / static_cast<float>(a.D);
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
        squares = add_squares8(x[c], mean, c * kWarpColumns + lane * kEight, a.D, squares);
    const float rstd = rstd_of(warp_sum(squares), a.D, a.eps);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) normalize8<kVector>(a, x[c], mean, rstd, m, c * kWarpColumns + lane * kEight);
    if (a.stats && lane == 0) a.stats[2 * m] = mean, a.stats[2 * m + 1] = rstd;
}

template <class T, bool kVector>
__global__ void __launch_bounds__(kThreads) block_fwd_kernel(xf_add_norm_fwd a, Dropout dropout) {
    begin_after_previous();
    __shared__ float shared[kWarps];
    const int64_t m = blockIdx.x, begin = threadIdx.x * kEight;
    const T *residual = row_of<T>(a.residual, m, a.D), *src = row_of<T>(a.src, m, a.D);
    T *sum = row_of<T>(a.sum, m, a.D);
    const auto value = [&](int64_t d) {
        const Eight<T> x = load8<kVector>(residual, d, a.D);
        return src ? add8<kVector>(dropout, x, load8<kVector>(src, d, a.D), m * a.D + d) : x;
    };
    // Returns the value again, even if `sum` has overwritten src or residual.
    const auto again = [&](int64_t d) { return sum ? load8<kVector>(static_cast<const T *>(sum), d, a.D) : value(d); };
    float total = 0.0f, squares = 0.0f;
    for (int64_t d = begin; d < a.D; d += kBlockColumns) {
        const Eight<T> x = value(d);
        if (sum) store8<kVector>(sum, d, a.D, x);
        // Past the end of the row residual and src are 0, and so is their sum.
        total += total8(x);
    }
    const float mean = a.rms ? 0.0f : block_sum<kWarps>(total, shared) / static_cast<float>(a.D);
    for (int64_t d = begin; d < a.D; d += kBlockColumns) squares = add_squares8(again(d), mean, d, a.D, squares);
    const float rstd = rstd_of(block_sum<kWarps>(squares, shared), a.D, a.eps);
    for (int64_t d = begin; d < a.D; d += kBlockColumns) normalize8<kVector>(a, again(d), mean, rstd, m, d);
    if (a.stats && threadIdx.x == 0) a.stats[2 * m] = mean, a.stats[2 * m + 1] = rstd;
}

template <class T, bool kVector>
int32_t forward(xf_stream *stream, const xf_add_norm_fwd &a, xf_error *err) {
    const Dropout dropout = make_dropout(a.dropout);
    const dim3 block(kThreads), grid(static_cast<unsigned>(a.D > kWarpRow ? a.M : ceil_div(a.M, int64_t{kWarps})));
    if (a.D > kWarpRow)
        return launch_dependent(stream, err, "add_norm_fwd", block_fwd_kernel<T, kVector>, grid, block, 0, a, dropout);
    return with_chunks<kVector>(a.D, [&](auto chunks) {
        return launch_dependent(stream, err, "add_norm_fwd", warp_fwd_kernel<T, kVector, decltype(chunks)::value>, grid,
                                block, 0, a, dropout);
    });
}

}  // namespace

int32_t add_norm_fwd(xf_stream *stream, const xf_add_norm_fwd *args, xf_error *err) {
    const xf_add_norm_fwd &a = *args;
    const int32_t status = enter(stream, err);
    if (status != XF_OK || a.M <= 0) return status;
    const bool vector = a.D % kEight == 0 && aligned(a.residual, a.src, a.weights, a.bias, a.sum, a.dst);
    return dispatch(stream, [&](auto zero) {
        using T = decltype(zero);
        return vector ? forward<T, true>(stream, a, err) : forward<T, false>(stream, a, err);
    });
}

}  // namespace xf::cuda
