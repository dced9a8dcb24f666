// Products with XF_WEIGHTS_INT8 exactly as plugin_abi.h defines them. The packed order is the dense order here.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/half.h"
#include "core/int8.h"
#include "ref/tile.h"

namespace xf::ref {

// The size of a quantized row in doubles of scratch; its scale comes first.
inline int64_t row_doubles(int64_t K) { return (K + 7) / 8 + 1; }

// The scratch that any_product() needs, in doubles.
inline int64_t product_scratch(uint32_t type, int64_t M, int64_t K) {
    return type == XF_WEIGHTS_INT8 ? M * row_doubles(K) : 0;
}

// Calls store(m, n, y) with y = float(sum) * (scale of row m * scales[n]) for every m and n.
template <class Store>
void int8_product(xf_stream *stream, int64_t M, int64_t N, int64_t K, const float *src, int64_t ld_src,
                  const int8_t *weights, const float *scales, double *rows, const Store &store) {
    parallel_blocks(stream, M, kRowsPerTask, [&](int64_t m, int32_t) {
        double *row = rows + m * row_doubles(K);
        row[0] = quantize_row(src + m * ld_src, K, reinterpret_cast<int8_t *>(row + 1));
    });
    parallel_blocks(stream, N, kTile, [&](int64_t n, int32_t) {
        for (int64_t m = 0; m < M; ++m) {
            const double *row = rows + m * row_doubles(K);
            const int8_t *p = reinterpret_cast<const int8_t *>(row + 1), *q = weights + n * K;
            int32_t sum = 0;
            for (int64_t k = 0; k < K; ++k) sum += p[k] * q[k];
            store(m, n, static_cast<float>(sum) * (static_cast<float>(row[0]) * scales[n]));
        }
    });
}

// Calls store(m, n, src[m] . weights[n]) for weights of any type; the value is a double, or a float for int8. rows:
// scratch.
template <class Store>
void any_product(xf_stream *stream, int64_t M, int64_t N, int64_t K, const float *src, int64_t ld_src,
                 const void *weights, uint32_t type, const float *scales, double *rows, const Store &store) {
    const View<float> a{src, ld_src, 1};
    switch (type) {
        case XF_WEIGHTS_INT8:
            int8_product(stream, M, N, K, src, ld_src, static_cast<const int8_t *>(weights), scales, rows, store);
            return;
        case XF_WEIGHTS_BF16:
        case XF_WEIGHTS_FP16:
            product(
                stream, M, N, K, a,
                HalfView{static_cast<const uint16_t *>(weights), K, type == XF_WEIGHTS_BF16 ? from_bf16 : from_fp16},
                store);
            return;
        default:
            product(stream, M, N, K, a, View<float>{static_cast<const float *>(weights), 1, K}, store);
    }
}

}  // namespace xf::ref
