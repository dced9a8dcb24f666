// The activation of a feed-forward sub-layer, plain or gated, with dropout (paper s. 3.3, eq. 2; s. 5.4).
//
//     relu(x)  = max(x, 0)          relu'(x)  = 1 where x > 0, else 0
//     gelu(x)  = x Phi(x)           gelu'(x)  = Phi(x) + x phi(x)                 (Hendrycks & Gimpel 2016)
//     swish(x) = x s(x)             swish'(x) = s(x) (1 + x (1 - s(x)))           (Ramachandran et al. 2017)
//
//     dst    = dropout(act(x) y)    y = 1, or the other half of the row if gated  (Shazeer 2020)
//     diff_x = d act'(x) y          diff_y = d act(x)          d = mask * diff_dst
//     diff_bias += column sums of both
//
// s(x) is 1 / (1 + e^-x); phi is the density of the normal distribution Phi.
//
// Phi(x) is computed as erfc(-x / sqrt 2) / 2 and never as (1 + erf) / 2, which cancels in the lower tail. Where the
// other factor vanishes, x is limited to the largest magnitude that matters, so that minus infinity gives 0 instead of
// 0 times infinity.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "ref/common.h"

namespace xf::ref {
namespace {

constexpr double kMost = 1e4;  // e^-kMost is 0 in double

// Limits x to -kMost .. kMost; NaN stays NaN.
double bounded(double x) { return x < -kMost ? -kMost : x > kMost ? kMost : x; }

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double normal_density(double x) { return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2; }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double activation(uint32_t kind, double x) {
    const double from_below = x < -kMost ? -kMost : x;
    switch (kind) {
        case XF_ACTIVATION_GELU:
            return from_below * normal_distribution(x);
        case XF_ACTIVATION_SWISH:
            return from_below * sigmoid(x);
        default:
            return x < 0.0 ? 0.0 : x;
    }
}

double derivative(uint32_t kind, double x) {
    const double b = bounded(x);
    switch (kind) {
        case XF_ACTIVATION_GELU:
            return normal_distribution(b) + b * normal_density(b);
        case XF_ACTIVATION_SWISH:
            return sigmoid(b) * (1.0 + b * sigmoid(-b));
        default:
            return x <= 0.0 ? 0.0 : 1.0;
    }
}

}  // namespace

int32_t activation_fwd(xf_stream *stream, const xf_activation_fwd *args, xf_error *) {
    const xf_activation_fwd &a = *args;
    parallel_blocks(stream, a.M, kRowsPerTask, [&](int64_t m, int32_t) {
        Dropout dropout(a.dropout);
        const float *src = a.src + m * (a.gated ? 2 * a.F : a.F);
        for (int64_t f = 0; f < a.F; ++f) {
            double value = activation(a.kind, src[f]);
            if (a.gated) value *= src[a.F + f];
            a.dst[m * a.F + f] = static_cast<float>(dropout.apply(value, static_cast<uint64_t>(m * a.F + f)));
        }
    });
    return XF_OK;
}

int32_t activation_bwd(xf_stream *stream, const xf_activation_bwd *args, xf_error *) {
    const xf_activation_bwd &a = *args;
    const int64_t width = a.gated ? 2 * a.F : a.F;
    parallel_blocks(stream, a.M, kRowsPerTask, [&](int64_t m, int32_t) {
        Dropout dropout(a.dropout);
        const float *src = a.src + m * width;
        float *diff_src = a.diff_src + m * width;
        for (int64_t f = 0; f < a.F; ++f) {
            const double diff = dropout.apply(a.diff_dst[m * a.F + f], static_cast<uint64_t>(m * a.F + f));
            const double gate = a.gated ? src[a.F + f] : 1.0;
            diff_src[f] = static_cast<float>(diff * derivative(a.kind, src[f]) * gate);
            if (a.gated) diff_src[a.F + f] = static_cast<float>(diff * activation(a.kind, src[f]));
        }
    });
    if (a.diff_bias) add_column_sums(stream, a.diff_src, width, a.M, width, a.diff_bias);
    return XF_OK;
}

}  // namespace xf::ref
