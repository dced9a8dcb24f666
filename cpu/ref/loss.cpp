// Tied projection and smoothed cross-entropy (paper s. 3.4, 5.4; Szegedy et al. 2016), 64 rows at a time.
//
//     x = src weights^T + bias    p = softmax(x)    loss = -sum_v q log p    nll = -log p[target]
//     diff_x = p - q       diff_src = diff_x weights              diff_weights += diff_x^T src
//                                                                 diff_bias    += column sums of diff_x
//
// q is `rest` for every id except the target and `peak` for the target; smoothing_of() computes both. Only the logits
// of one chunk are stored, in fp64. diff_weights and diff_bias are rounded to fp32 once per chunk.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ref/int8.h"

namespace xf::ref {
namespace {

constexpr int64_t kLossRows = 64;

struct Smoothing {
    double peak, rest;  // q of the target, q of every other id
};

Smoothing smoothing_of(const xf_loss &a) {
    const double s = a.smoothing;
    if (a.uniform) return {1.0 - s + s / static_cast<double>(a.V), s / static_cast<double>(a.V)};
    return {1.0 - s, a.V > 1 ? s / static_cast<double>(a.V - 1) : 0.0};
}

// Computes the loss of one row; if gradients are requested, replaces the logits by p - q.
void row_loss(const xf_loss &a, Smoothing q, int64_t m, double *logits) {
    const int64_t target = a.targets[m];
    if (target < 0) {  // not a row of the batch
        a.nll[m] = a.loss[m] = 0.0f;
        std::fill(logits, logits + a.V, 0.0);
        return;
    }
    double top = logits[0], sum = 0.0, others = 0.0;
    for (int64_t v = 1; v < a.V; ++v) top = std::max(top, logits[v]);
    for (int64_t v = 0; v < a.V; ++v) sum += std::exp(logits[v] - top);
    const double lse = top + std::log(sum);
    if (q.rest > 0.0)
        for (int64_t v = 0; v < a.V; ++v) others += v == target ? 0.0 : lse - logits[v];
    const double nll = lse - logits[target];
    a.nll[m] = static_cast<float>(nll);
    a.loss[m] = static_cast<float>(q.peak * nll + q.rest * others);
    if (!a.diff_src && !a.diff_weights) return;
    for (int64_t v = 0; v < a.V; ++v) logits[v] = std::exp(logits[v] - lse) - (v == target ? q.peak : q.rest);
}

}  // namespace

int32_t loss(xf_stream *stream, const xf_loss *args, xf_error *err) {
    const xf_loss &a = *args;
    const int64_t chunk = std::min(a.M, kLossRows);
    double *logits = scratch(stream, chunk * a.V + product_scratch(a.weights_type, chunk, a.D));
    if (!logits) return no_scratch(err);
    const Smoothing q = smoothing_of(a);
    for (int64_t begin = 0; begin < a.M; begin += kLossRows) {
        const int64_t rows = std::min(kLossRows, a.M - begin);
        const float *src = a.src + begin * a.D;
        any_product(stream, rows, a.V, a.D, src, a.D, a.weights, a.weights_type, a.scales, logits + chunk * a.V,
                    [&](int64_t m, int64_t v, double sum) { logits[m * a.V + v] = a.bias ? sum + a.bias[v] : sum; });
        parallel(stream, rows, [&](int64_t m, int32_t) { row_loss(a, q, begin + m, logits + m * a.V); });
        if (a.diff_src)
            product(
                stream, rows, a.D, a.V, View<double>{logits, a.V, 1}, View<float>{a.weights, a.D, 1},
                [&](int64_t m, int64_t d, double sum) { a.diff_src[(begin + m) * a.D + d] = static_cast<float>(sum); });
        if (a.diff_weights)
            product(stream, a.V, a.D, rows, View<double>{logits, 1, a.V}, View<float>{src, a.D, 1},
                    [&](int64_t v, int64_t d, double sum) {
                        float &out = a.diff_weights[v * a.D + d];
                        out = static_cast<float>(out + sum);
                    });
        if (a.diff_bias) add_column_sums(stream, logits, a.V, rows, a.V, a.diff_bias);
    }
    return XF_OK;
}

}  // namespace xf::ref
