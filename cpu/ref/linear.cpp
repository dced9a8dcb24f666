// Linear maps (paper s. 3.2.2, eq. 2; the feed-forward s. 3.3): forward, gradient of the input, of the weights.
//
//     dst = act(src W^T + b)        diff_src = diff_dst W        diff_W += diff_dst^T src,  diff_b += column sums
//
// All three are tile products with different strides, see tile.h. The ReLU propagates NaN, so that the check of the
// gradient norm detects a diverged step.
//
// SPDX-License-Identifier: Apache-2.0
#include "ref/int8.h"

namespace xf::ref {

int32_t linear_fwd(xf_stream *stream, const xf_linear_fwd *args, xf_error *err) {
    const xf_linear_fwd &a = *args;
    double *rows = scratch(stream, product_scratch(a.weights_type, a.M, a.K));
    if (!rows) return no_scratch(err);
    any_product(stream, a.M, a.N, a.K, a.src, a.ld_src, a.weights, a.weights_type, a.scales, rows,
                [&](int64_t m, int64_t n, double sum) {
                    if (a.bias) sum += a.bias[n];
                    if ((a.flags & XF_LINEAR_RELU) && sum < 0.0) sum = 0.0;
                    a.dst[m * a.ld_dst + n] = static_cast<float>(sum);
                });
    return XF_OK;
}

int32_t linear_bwd_data(xf_stream *stream, const xf_linear_bwd_data *args, xf_error *) {
    const xf_linear_bwd_data &a = *args;
    product(stream, a.M, a.K, a.N, View<float>{a.diff_dst, a.ld_diff_dst, 1}, View<float>{a.weights, a.K, 1},
            [&](int64_t m, int64_t k, double sum) {
                float &out = a.diff_src[m * a.ld_diff_src + k];
                if (a.accumulate) sum += out;
                if (a.relu_dst && a.relu_dst[m * a.K + k] <= 0.0f) sum = 0.0;
                out = static_cast<float>(sum);
            });
    if (a.diff_relu_bias) add_column_sums(stream, a.diff_src, a.ld_diff_src, a.M, a.K, a.diff_relu_bias);
    return XF_OK;
}

int32_t linear_bwd_weights(xf_stream *stream, const xf_linear_bwd_weights *args, xf_error *) {
    const xf_linear_bwd_weights &a = *args;
    product(stream, a.N, a.K, a.M, View<float>{a.diff_dst, 1, a.ld_diff_dst}, View<float>{a.src, a.ld_src, 1},
            [&](int64_t n, int64_t k, double sum) {
                float &out = a.diff_weights[n * a.K + k];
                out = static_cast<float>(out + sum);
            });
    if (a.diff_bias) add_column_sums(stream, a.diff_dst, a.ld_diff_dst, a.M, a.N, a.diff_bias);
    return XF_OK;
}

}  // namespace xf::ref
