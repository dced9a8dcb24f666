// The optimizer's pass (paper s. 5.3; Kingma & Ba 2015, the form at the end of s. 2) and the gradient's norm.
//
//     g = grad_scale * grad    m = beta1 m + (1 - beta1) g    v = beta2 v + (1 - beta2) g^2
//     param -= decay * param + alpha * m / (sqrt(v) + eps_hat)    grad = 0
//     ema += ema_rate * (param - ema)
//
// sum_squares adds partial sums of fixed blocks in increasing order, so the result does not depend on the number of
// workers.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ref/common.h"

namespace xf::ref {
namespace {

constexpr int64_t kBlock = 4096;

}  // namespace

int32_t adam(xf_stream *stream, const xf_adam *args, xf_error *) {
    const xf_adam &a = *args;
    const double beta1 = a.beta1, beta2 = a.beta2;
    parallel_blocks(stream, a.n, kBlock, [&](int64_t i, int32_t) {
        const double g = static_cast<double>(a.grad_scale) * a.grads[i];
        const double m = beta1 * a.m[i] + (1.0 - beta1) * g;
        const double v = beta2 * a.v[i] + (1.0 - beta2) * g * g;
        a.m[i] = static_cast<float>(m);
        a.v[i] = static_cast<float>(v);
        double param = a.params[i];
        if (a.decay != 0.0f) param -= a.decay * param;
        a.params[i] = static_cast<float>(param - a.alpha * m / (std::sqrt(v) + a.eps_hat));
        a.grads[i] = 0.0f;
        if (a.ema) a.ema[i] = static_cast<float>(a.ema[i] + a.ema_rate * (static_cast<double>(a.params[i]) - a.ema[i]));
    });
    return XF_OK;
}

int32_t sum_squares(xf_stream *stream, const xf_sum_squares *args, xf_error *err) {
    const xf_sum_squares &a = *args;
    const int64_t blocks = (a.n + kBlock - 1) / kBlock;
    double *sums = scratch(stream, blocks);
    if (!sums) return no_scratch(err);
    parallel(stream, blocks, [&](int64_t block, int32_t) {
        const int64_t end = std::min(a.n, (block + 1) * kBlock);
        double sum = 0.0;
        for (int64_t i = block * kBlock; i < end; ++i) sum += static_cast<double>(a.src[i]) * a.src[i];
        sums[block] = sum;
    });
    double total = 0.0;
    for (int64_t block = 0; block < blocks; ++block) total += sums[block];
    *a.dst = total;
    return XF_OK;
}

}  // namespace xf::ref
