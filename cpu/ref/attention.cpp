// Scaled dot-product attention over packed sequences (paper s. 3.2.1, eq. 1), forward and backward.
//
//     s = scale * q k^T (hidden keys left out)    p = softmax(s)    dst = dropout(p) v
//     diff_v = dropout(p)^T diff_dst    dp = mask * (diff_dst v^T)    ds = p (dp - sum_j p dp)
//     diff_q = scale * ds k             diff_k = scale * ds^T q
//
// A task is one head of one sentence. Its scratch is one row of scores and, in the backward pass, the gradients of that
// head's keys and values in fp64. The backward pass recomputes p from q and k, not from lse, because lse is rounded to
// fp32.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ref/common.h"

namespace xf::ref {
namespace {

// One head of one sentence, with the pointers moved to its first row and column.
struct Head {
    Head(const xf_attention &a, int64_t task)
        : b(task / a.H),
          h(task % a.H),
          q_row(a.q_begin[b]),
          k_row(a.k_begin[b]),
          q_len(a.q_len[b]),
          k_len(a.k_len[b]),
          q(a.q + q_row * a.ld_q + h * a.dk),
          k(a.k + k_row * a.ld_k + h * a.dk),
          v(a.v + k_row * a.ld_v + h * a.dv) {}

    int64_t b, h, q_row, k_row, q_len, k_len;
    const float *q, *k, *v;
};

double dot(const float *x, const float *y, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * y[i];
    return sum;
}

// Writes the softmax of query i over its visible keys first .. last-1 to p; returns the log-sum-exp.
double softmax(const xf_attention &a, const Head &head, int64_t i, int64_t &first, int64_t &last, double *p) {
    first = 0;
    last = head.k_len;
    if (a.window > 0) {
        first = std::max<int64_t>(first, i - a.window / 2);
        last = std::min<int64_t>(last, i + a.window / 2 + 1);
    }
    if (a.causal) last = std::min<int64_t>(last, i + 1);
    double top = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (int64_t j = first; j < last; ++j) {
        p[j] = a.scale * dot(head.q + i * a.ld_q, head.k + j * a.ld_k, a.dk);
        top = std::max(top, p[j]);
    }
    for (int64_t j = first; j < last; ++j) sum += p[j] = std::exp(p[j] - top);
    for (int64_t j = first; j < last; ++j) p[j] /= sum;
    return top + std::log(sum);
}

uint64_t dropout_row(const xf_attention &a, const Head &head, int64_t i) {
    return static_cast<uint64_t>(((head.q_row + i) * a.H + head.h) * a.drop_stride);
}

void forward_head(const xf_attention &a, const Head &head, double *p, double *out) {
    Dropout dropout(a.dropout);
    for (int64_t i = 0; i < head.q_len; ++i) {
        const int64_t row = head.q_row + i;
        int64_t first, last;
        const double lse = softmax(a, head, i, first, last, p);
        if (a.lse) a.lse[row * a.H + head.h] = static_cast<float>(lse);
        std::fill(out, out + a.dv, 0.0);
        const uint64_t base = dropout_row(a, head, i);
        for (int64_t j = first; j < last; ++j) {
            const double weight = dropout.apply(p[j], base + static_cast<uint64_t>(j));
            for (int64_t c = 0; c < a.dv; ++c) out[c] += weight * head.v[j * a.ld_v + c];
        }
        for (int64_t c = 0; c < a.dv; ++c) a.dst[row * a.ld_dst + head.h * a.dv + c] = static_cast<float>(out[c]);
    }
}

// p, dp [k_len]; sum_q [dk]; sum_k [k_len, dk]; sum_v [k_len, dv].
struct Sums {
    Sums(const xf_attention &a, double *at)
        : p(at), dp(p + a.max_k_len), q(dp + a.max_k_len), k(q + a.dk), v(k + a.max_k_len * a.dk) {}
    static int64_t size(const xf_attention &a) { return a.max_k_len * (2 + a.dk + a.dv) + a.dk; }

    double *p, *dp, *q, *k, *v;
};

void backward_head(const xf_attention_bwd &args, const Head &head, const Sums &sum) {
    const xf_attention &a = args.fwd;
    Dropout dropout(a.dropout);
    std::fill(sum.k, sum.k + head.k_len * a.dk, 0.0);
    std::fill(sum.v, sum.v + head.k_len * a.dv, 0.0);
    for (int64_t i = 0; i < head.q_len; ++i) {
        const float *diff_dst = args.diff_dst + (head.q_row + i) * args.ld_diff_dst + head.h * a.dv;
        const uint64_t base = dropout_row(a, head, i);
        int64_t first, last;
        softmax(a, head, i, first, last, sum.p);
        double total = 0.0;
        for (int64_t j = first; j < last; ++j) {
            const double weight = dropout.apply(sum.p[j], base + static_cast<uint64_t>(j));
            for (int64_t c = 0; c < a.dv; ++c) sum.v[j * a.dv + c] += weight * diff_dst[c];
            sum.dp[j] = dropout.apply(dot(diff_dst, head.v + j * a.ld_v, a.dv), base + static_cast<uint64_t>(j));
            total += sum.p[j] * sum.dp[j];
        }
        std::fill(sum.q, sum.q + a.dk, 0.0);
        for (int64_t j = first; j < last; ++j) {
            const double ds = a.scale * sum.p[j] * (sum.dp[j] - total);
            for (int64_t c = 0; c < a.dk; ++c) {
                sum.q[c] += ds * head.k[j * a.ld_k + c];
                sum.k[j * a.dk + c] += ds * head.q[i * a.ld_q + c];
            }
        }
        float *diff_q = args.diff_q + (head.q_row + i) * args.ld_diff_q + head.h * a.dk;
        for (int64_t c = 0; c < a.dk; ++c) diff_q[c] = static_cast<float>(sum.q[c]);
    }
    for (int64_t j = 0; j < head.k_len; ++j) {
        float *diff_k = args.diff_k + (head.k_row + j) * args.ld_diff_k + head.h * a.dk;
        float *diff_v = args.diff_v + (head.k_row + j) * args.ld_diff_v + head.h * a.dv;
        for (int64_t c = 0; c < a.dk; ++c) diff_k[c] = static_cast<float>(sum.k[j * a.dk + c]);
        for (int64_t c = 0; c < a.dv; ++c) diff_v[c] = static_cast<float>(sum.v[j * a.dv + c]);
    }
}

}  // namespace

int32_t attention_fwd(xf_stream *stream, const xf_attention *args, xf_error *err) {
    const xf_attention &a = *args;
    const int64_t size = a.max_k_len + a.dv;
    double *rows = scratch(stream, workers(stream) * size);
    if (!rows) return no_scratch(err);
    parallel(stream, a.B * a.H, [&](int64_t task, int32_t worker) {
        double *p = rows + worker * size;
        forward_head(a, Head(a, task), p, p + a.max_k_len);
    });
    return XF_OK;
}

int32_t attention_bwd(xf_stream *stream, const xf_attention_bwd *args, xf_error *err) {
    const xf_attention &a = args->fwd;
    const int64_t size = Sums::size(a);
    double *sums = scratch(stream, workers(stream) * size);
    if (!sums) return no_scratch(err);
    parallel(stream, a.B * a.H,
             [&](int64_t task, int32_t worker) { backward_head(*args, Head(a, task), Sums(a, sums + worker * size)); });
    return XF_OK;
}

}  // namespace xf::ref
