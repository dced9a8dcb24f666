// Residual, dropout, and layer normalization in one pass (paper s. 3.1, 5.4; Ba et al. 2016).
//
//     sum = residual + dropout(src)     x = (sum - mean) * rstd     dst = weights * x + bias
//     g = weights * diff_dst            diff_residual = rstd * (g - avg(g) - x * avg(g x)) + diff_sum
//     diff_src = mask * diff_residual   diff_weights += sum_m diff_dst x      diff_bias += sum_m diff_dst
//     diff_src_bias += sum_m diff_src
//
// diff_residual may be the memory of diff_dst, so the column sums are computed before any row is written. sum is
// rounded to fp32 before the mean is computed, whether it is stored or not, so dst is the same with and without sum.
// RMSNorm (Zhang & Sennrich 2019) is the special case with mean 0, which also removes avg(g).
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ref/common.h"

namespace xf::ref {

int32_t add_norm_fwd(xf_stream *stream, const xf_add_norm_fwd *args, xf_error *) {
    const xf_add_norm_fwd &a = *args;
    parallel_blocks(stream, a.M, kRowsPerTask, [&](int64_t m, int32_t) {
        Dropout dropout(a.dropout);
        const int64_t begin = m * a.D;
        float *sum = (a.sum ? a.sum : a.dst) + begin;  // dst holds the sum until it is normalized
        double mean = 0.0, variance = 0.0;
        for (int64_t d = 0; d < a.D; ++d) {
            double value = a.residual[begin + d];
            if (a.src) value += dropout.apply(a.src[begin + d], static_cast<uint64_t>(begin + d));
            sum[d] = static_cast<float>(value);
            mean += sum[d];
        }
        mean = a.rms ? 0.0 : mean / static_cast<double>(a.D);
        for (int64_t d = 0; d < a.D; ++d) variance += (sum[d] - mean) * (sum[d] - mean);
        variance /= static_cast<double>(a.D);
        const double rstd = 1.0 / std::sqrt(variance + a.eps);
        for (int64_t d = 0; d < a.D; ++d)
            a.dst[begin + d] =
                static_cast<float>(a.weights[d] * ((sum[d] - mean) * rstd) + (a.bias ? a.bias[d] : 0.0f));
        if (a.stats) {
            a.stats[2 * m] = static_cast<float>(mean);
            a.stats[2 * m + 1] = static_cast<float>(rstd);
        }
    });
    return XF_OK;
}

int32_t add_norm_bwd(xf_stream *stream, const xf_add_norm_bwd *args, xf_error *) {
    const xf_add_norm_bwd &a = *args;
    const auto normal = [&](int64_t m, int64_t d) {
        return (static_cast<double>(a.sum[m * a.D + d]) - a.stats[2 * m]) * a.stats[2 * m + 1];
    };
    parallel_blocks(stream, a.D, kRowsPerTask, [&](int64_t d, int32_t) {
        double weights = 0.0, bias = 0.0;
        for (int64_t m = 0; m < a.M; ++m) {
            weights += a.diff_dst[m * a.D + d] * normal(m, d);
            bias += a.diff_dst[m * a.D + d];
        }
        a.diff_weights[d] = static_cast<float>(a.diff_weights[d] + weights);
        if (a.diff_bias) a.diff_bias[d] = static_cast<float>(a.diff_bias[d] + bias);
    });
    parallel_blocks(stream, a.M, kRowsPerTask, [&](int64_t m, int32_t) {
        Dropout dropout(a.dropout);
        const int64_t begin = m * a.D;
        double average = 0.0, slope = 0.0;
        for (int64_t d = 0; d < a.D; ++d) {
            const double g = static_cast<double>(a.weights[d]) * a.diff_dst[begin + d];
            average += g;
            slope += g * normal(m, d);
        }
        average = a.rms ? 0.0 : average / static_cast<double>(a.D);
        slope /= static_cast<double>(a.D);
        for (int64_t d = 0; d < a.D; ++d) {
            const double g = static_cast<double>(a.weights[d]) * a.diff_dst[begin + d];
            double diff = a.stats[2 * m + 1] * (g - average - normal(m, d) * slope);
            if (a.diff_sum) diff += a.diff_sum[begin + d];
            const float rounded = static_cast<float>(diff);
            a.diff_residual[begin + d] = rounded;
            if (a.diff_src)
                a.diff_src[begin + d] = static_cast<float>(dropout.apply(rounded, static_cast<uint64_t>(begin + d)));
        }
    });
    if (a.diff_src_bias) add_column_sums(stream, a.diff_src, a.D, a.M, a.D, a.diff_src_bias);
    return XF_OK;
}

}  // namespace xf::ref
