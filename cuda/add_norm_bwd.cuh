// The backward pass of residual, dropout, and layer normalization for eight columns of a row: the arithmetic of one
// thread. The kernels, and the definitions of g and x, are in add_norm_bwd.cu.
//
//     first pass:   average += sum of g, slope += sum of g x       over the thread's columns
//     second pass:  diff_residual = rstd * (g - average - x * slope) + diff_sum,  diff_src = mask * diff_residual
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.cuh"

namespace xf::cuda {

// The inputs of one thread: eight columns of a row.
template <class T>
struct Columns {
    Eight<T> diff_dst, sum;
};
template <bool kVector, class T>
__device__ inline Columns<T> load_columns(const xf_add_norm_bwd &a, int64_t m, int64_t d, int64_t width) {
    return {load8<kVector>(row_of<T>(a.diff_dst, m, a.D), d, width),
            load8<kVector>(row_of<T>(a.sum, m, a.D), d, width)};
}

// Adds to the sums of g and g x, and calls column(j, x, diff_dst) for each column.
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

// Stores diff_residual and diff_src. Returns diff_src, or zeros if a.diff_src is NULL.
template <bool kVector, class T>
__device__ inline Eight<T> second_pass8(const xf_add_norm_bwd &a, const Dropout &dropout, const Columns<T> &row,
                                        const Eight<T> &diff_sum, float mean, float rstd, float average, float slope,
                                        int64_t m, int64_t d, int64_t width) {
    const Eight<float> w = load8<kVector>(a.weights, d, a.D);
    Eight<T> out;
#pragma unroll
    for (int j = 0; j < kEight; ++j) {
        const float x = (row.sum[j] - mean) * rstd;
        const float centred = fmaf(-x, slope, __fmul_rn(w[j], row.diff_dst[j]) - average);
        out.x[j] = from_float<T>(fmaf(rstd, centred, diff_sum[j]));
    }
    store8<kVector>(row_of<T>(a.diff_residual, m, a.D), d, width, out);
    if (!a.diff_src) return {};
    if (dropout.threshold) {
        const Mask8 mask = mask8<kVector>(dropout, static_cast<uint64_t>(m * a.D + d));
#pragma unroll
        for (int j = 0; j < kEight; ++j) out.x[j] = from_float<T>(masked(out[j], mask.factor[j]));
    }
    store8<kVector>(row_of<T>(a.diff_src, m, a.D), d, width, out);
    return out;
}

}  // namespace xf::cuda
