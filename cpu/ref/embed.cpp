// Token embedding plus position, scaled, with dropout (paper s. 3.4, 3.5, 5.4).
//
//     dst[t] = dropout(scale * weights[ids[t]] + positions[pos[t]])
//     diff_weights[id] += scale * sum over t with ids[t] == id of mask(t) * diff_dst[t]
//
// The backward pass receives its tokens grouped by id, so each row of the table has one writer and one order of
// summation.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/half.h"
#include "ref/common.h"

namespace xf::ref {
namespace {

float weight(const xf_embed_fwd &a, int64_t row, int64_t column) {
    const int64_t at = row * a.D + column;
    const void *weights = a.weights;
    switch (a.weights_type) {
        case XF_WEIGHTS_BF16:
            return from_bf16(static_cast<const uint16_t *>(weights)[at]);
        case XF_WEIGHTS_FP16:
            return from_fp16(static_cast<const uint16_t *>(weights)[at]);
        case XF_WEIGHTS_INT8:
            return static_cast<float>(static_cast<const int8_t *>(weights)[at]) * a.scales[row];
        default:
            return a.weights[at];
    }
}

}  // namespace

int32_t embed_fwd(xf_stream *stream, const xf_embed_fwd *args, xf_error *) {
    const xf_embed_fwd &a = *args;
    parallel_blocks(stream, a.rows, kRowsPerTask, [&](int64_t t, int32_t) {
        Dropout dropout(a.dropout);
        const float *position = a.positions + a.pos[t] * a.D;
        for (int64_t d = 0; d < a.D; ++d) {
            const double sum = static_cast<double>(a.scale) * weight(a, a.ids[t], d) + position[d];
            a.dst[t * a.D + d] = static_cast<float>(dropout.apply(sum, static_cast<uint64_t>(t * a.D + d)));
        }
    });
    return XF_OK;
}

int32_t embed_bwd(xf_stream *stream, const xf_embed_bwd *args, xf_error *err) {
    const xf_embed_bwd &a = *args;
    double *sums = scratch(stream, workers(stream) * a.D);
    if (!sums) return no_scratch(err);
    parallel(stream, a.groups, [&](int64_t g, int32_t worker) {
        Dropout dropout(a.dropout);
        double *sum = sums + worker * a.D;
        std::fill(sum, sum + a.D, 0.0);
        for (int64_t i = a.starts[g]; i < a.starts[g + 1]; ++i) {
            const int64_t t = a.order[i];
            for (int64_t d = 0; d < a.D; ++d)
                sum[d] += dropout.apply(a.diff_dst[t * a.D + d], static_cast<uint64_t>(t * a.D + d));
        }
        float *out = a.diff_weights + a.group_ids[g] * a.D;
        for (int64_t d = 0; d < a.D; ++d) out[d] = static_cast<float>(out[d] + a.scale * sum[d]);
    });
    return XF_OK;
}

}  // namespace xf::ref
