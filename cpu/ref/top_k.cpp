// Projection, log-softmax, and the k best ids of each row: the tail of a decoding step (paper s. 3.4, 6.1).
//
//     x = src weights^T + bias    value[v] = x[v] - log sum exp x    the k largest allowed ones, ties by increasing id
//
// Ties are compared in the returned fp32 value. A NaN logit counts as minus infinity, in the sum as well. If fewer than
// k ids are allowed, the rest of the row is {-inf, -1}.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ref/int8.h"

namespace xf::ref {
namespace {

constexpr int64_t kTopRows = 16;

// Replaces logits by log-probabilities; NaN marks an id that is banned or not allowed.
void normalize(const xf_top_k &a, int64_t row, double *logits) {
    double top = -HUGE_VAL, sum = 0.0;
    for (int64_t v = 0; v < a.V; ++v) {
        if (std::isnan(logits[v])) logits[v] = -HUGE_VAL;
        top = std::max(top, logits[v]);
    }
    if (top > -HUGE_VAL) {
        for (int64_t v = 0; v < a.V; ++v) sum += std::exp(logits[v] - top);
        const double lse = top + std::log(sum);
        for (int64_t v = 0; v < a.V; ++v) logits[v] = std::isnan(logits[v] - lse) ? -HUGE_VAL : logits[v] - lse;
    }
    for (int64_t i = 0; i < a.banned_count; ++i) logits[a.banned[i]] = NAN;
    if (!a.allowed) return;
    const uint32_t *allowed = a.allowed + row * ((a.V + 31) / 32);
    for (int64_t v = 0; v < a.V; ++v)
        if ((allowed[v / 32] >> (v % 32) & 1) == 0) logits[v] = NAN;
}

// Inserts each id into a sorted list of k; among equal values, earlier ids come first.
void choose(const xf_top_k &a, const double *logits, float *values, int32_t *ids) {
    int64_t held = 0;
    for (int64_t v = 0; v < a.V; ++v) {
        if (std::isnan(logits[v])) continue;
        const float value = static_cast<float>(logits[v]);
        if (held == a.k && !(value > values[held - 1])) continue;
        int64_t at = held < a.k ? held++ : held - 1;
        for (; at > 0 && value > values[at - 1]; --at) {
            values[at] = values[at - 1];
            ids[at] = ids[at - 1];
        }
        values[at] = value;
        ids[at] = static_cast<int32_t>(v);
    }
    for (; held < a.k; ++held) {
        values[held] = -HUGE_VALF;
        ids[held] = -1;
    }
}

}  // namespace

int32_t top_k(xf_stream *stream, const xf_top_k *args, xf_error *err) {
    const xf_top_k &a = *args;
    if (a.k <= 0) return XF_OK;
    const int64_t chunk = std::min(a.rows, kTopRows);
    double *logits = scratch(stream, chunk * a.V + product_scratch(a.weights_type, chunk, a.D));
    if (!logits) return no_scratch(err);
    for (int64_t begin = 0; begin < a.rows; begin += kTopRows) {
        const int64_t rows = std::min(kTopRows, a.rows - begin);
        any_product(stream, rows, a.V, a.D, a.src + begin * a.D, a.D, a.weights, a.weights_type, a.scales,
                    logits + chunk * a.V,
                    [&](int64_t m, int64_t v, double sum) { logits[m * a.V + v] = a.bias ? sum + a.bias[v] : sum; });
        parallel(stream, rows, [&](int64_t m, int32_t) {
            normalize(a, begin + m, logits + m * a.V);
            choose(a, logits + m * a.V, a.values + (begin + m) * a.k, a.ids + (begin + m) * a.k);
            if (!a.all_values) return;
            for (int64_t v = 0; v < a.V; ++v) {
                const double value = logits[m * a.V + v];
                a.all_values[(begin + m) * a.V + v] = std::isnan(value) ? -HUGE_VALF : static_cast<float>(value);
            }
        });
    }
    return XF_OK;
}

}  // namespace xf::ref
