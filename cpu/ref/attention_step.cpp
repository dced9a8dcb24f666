// One decoding step of self-attention over a cache of cells (paper eq. 1 for a single query).
//
//     dst = softmax(scale * q [k_0 .. k_t]^T) [v_0 .. v_t]
//
// Beam search never moves the cache: key u of row r is read from cell cells[slot of r, u]. All rows store their keys
// and values before any row reads the cache, so a row may read what another row of the call stores (multi_step).
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "ref/common.h"

namespace xf::ref {
namespace {

// p [max_step + 1] and out [dv]: scratch of the worker.
void step_head(const xf_attention_step &a, int64_t r, int64_t h, double *p, double *out) {
    const float *q = a.q + r * a.ld_q + h * a.dk;
    const int64_t t = a.steps[r];
    const int32_t *cells = a.cells + a.slot_of_row[r] * a.ld_cells;
    const int64_t first = a.window > 0 ? std::max<int64_t>(0, t - a.window / 2) : 0;
    double top = -HUGE_VAL, sum = 0.0;
    for (int64_t u = first; u <= t; ++u) {
        const float *k = a.k_cache + (cells[u] * a.H + h) * a.dk;
        double score = 0.0;
        for (int64_t c = 0; c < a.dk; ++c) score += static_cast<double>(q[c]) * k[c];
        p[u] = a.scale * score;
        top = std::max(top, p[u]);
    }
    for (int64_t u = first; u <= t; ++u) sum += p[u] = std::exp(p[u] - top);
    std::fill(out, out + a.dv, 0.0);
    for (int64_t u = first; u <= t; ++u) {
        const float *v = a.v_cache + (cells[u] * a.H + h) * a.dv;
        for (int64_t c = 0; c < a.dv; ++c) out[c] += p[u] / sum * v[c];
    }
    for (int64_t c = 0; c < a.dv; ++c) a.dst[r * a.ld_dst + h * a.dv + c] = static_cast<float>(out[c]);
}

}  // namespace

int32_t attention_step(xf_stream *stream, const xf_attention_step *args, xf_error *err) {
    const xf_attention_step &a = *args;
    const int64_t size = a.max_step + 1 + a.dv;
    double *rows = scratch(stream, workers(stream) * size);
    if (!rows) return no_scratch(err);
    parallel(stream, a.rows, [&](int64_t r, int32_t) {
        const int64_t cell = a.cells[a.slot_of_row[r] * a.ld_cells + a.steps[r]];
        const size_t k_size = static_cast<size_t>(a.H * a.dk), v_size = static_cast<size_t>(a.H * a.dv);
        std::memcpy(a.k_cache + cell * a.H * a.dk, a.k + r * a.ld_k, k_size * sizeof(float));
        std::memcpy(a.v_cache + cell * a.H * a.dv, a.v + r * a.ld_v, v_size * sizeof(float));
    });
    parallel(stream, a.rows, [&](int64_t r, int32_t worker) {
        double *p = rows + worker * size;
        for (int64_t h = 0; h < a.H; ++h) step_head(a, r, h, p, p + a.max_step + 1);
    });
    return XF_OK;
}

}  // namespace xf::ref
