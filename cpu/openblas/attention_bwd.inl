// Gradients of attention (paper eq. 1). The probabilities are recomputed from the log-sum-exp of the forward pass.
//
// With P = softmax(scale Q K^T), A = dropout(P), O = A V:
//     dV = A^T dO,  dA = dO V^T,  dP = dropout(dA),  dS = P (dP - rowsum(dO O)),  dQ = scale dS K,  dK = scale dS^T Q.
// A task owns (sentence, head) pairs, so dK and dV are summed within one task, one tile of queries after another.
//
// SPDX-License-Identifier: Apache-2.0

constexpr int64_t kBwdRows = 8 * kTileRows;  // queries whose scores are stored at a time

template <class T>
static void attention_bwd_pair(const xf_attention_bwd &args, const Dropout &drops, int64_t b, int64_t h,
                               float *scratch) {
    const xf_attention &a = args.fwd;
    const int64_t q0 = a.q_begin[b], queries = a.q_len[b], k0 = a.k_begin[b], keys = a.k_len[b];
    const int64_t wide = round_up(keys, kKeys);
    float *packed_k = scratch, *packed_v = packed_k + wide * a.dk + kW;
    float *s = packed_v + wide * a.dv + kW, *d = s + kBwdRows * wide;
    float *buffer = d + kBwdRows * wide + kW;
    const T *const from_k = num<T>(a.k) + k0 * a.ld_k + h * a.dk, *const from_v = num<T>(a.v) + k0 * a.ld_v + h * a.dv;
    T *const to_dk = num<T>(args.diff_k) + k0 * args.ld_diff_k + h * a.dk;
    T *const to_dv = num<T>(args.diff_v) + k0 * args.ld_diff_v + h * a.dv;
    const auto [k, ld_k] = read_rows(from_k, a.ld_k, keys, a.dk, &buffer);
    const Rows work_dk = work_rows(to_dk, args.ld_diff_k, keys, a.dk, &buffer);
    const Rows work_dv = work_rows(to_dv, args.ld_diff_v, keys, a.dv, &buffer);
    float *const dk = work_dk.at, *const dv = work_dv.at;
    transpose_blocks(from_k, a.ld_k, keys, a.dk, packed_k);
    transpose_blocks(from_v, a.ld_v, keys, a.dv, packed_v);
    for (int64_t j = 0; j < keys; ++j) {
        each_vector(a.dk, [&](int64_t i, int64_t n) { put(dk + j * work_dk.ld + i, VF{}, n); });
        each_vector(a.dv, [&](int64_t i, int64_t n) { put(dv + j * work_dv.ld + i, VF{}, n); });
    }
    for (int64_t i0 = 0; i0 < queries; i0 += kBwdRows) {
        const int64_t rows = min64(kBwdRows, queries - i0);
        float *tile = buffer;
        const T *const dst = num<T>(a.dst) + (q0 + i0) * a.ld_dst + h * a.dv;
        const T *const from_q = num<T>(a.q) + (q0 + i0) * a.ld_q + h * a.dk;
        const T *const from_diff = num<T>(args.diff_dst) + (q0 + i0) * args.ld_diff_dst + h * a.dv;
        T *const to_dq = num<T>(args.diff_q) + (q0 + i0) * args.ld_diff_q + h * a.dk;
        const auto [q, ld_q] = read_rows(from_q, a.ld_q, rows, a.dk, &tile);
        const auto [diff, ld_diff] = read_rows(from_diff, args.ld_diff_dst, rows, a.dv, &tile);
        const Rows work_dq = work_rows(to_dq, args.ld_diff_q, rows, a.dk, &tile);
        float *const dq = work_dq.at;
        // The begin and the end of the visible keys never decrease from one query to the next.
        const int64_t begin = visible(a, i0, keys).begin, end = visible(a, i0 + rows - 1, keys).end;
        if (begin >= end) {
            for (int64_t r = 0; r < rows; ++r)
                each_vector(a.dk, [&](int64_t i, int64_t n) { put(to_dq + r * args.ld_diff_q + i, VF{}, n); });
            continue;
        }
        score_blocks(q, ld_q, rows, a.dk, packed_k, begin, end, s, wide);
        score_blocks(diff, ld_diff, rows, a.dv, packed_v, begin, end, d, wide);
        for (int64_t r = 0; r < rows; ++r) {
            const Range seen = visible(a, i0 + r, keys);
            const int64_t query = (q0 + i0 + r) * a.H + h, n = seen.end - seen.begin;
            float *p = s + r * wide, *g = d + r * wide;
            Lanes dots{};
            each_part(a.dv, [&](int64_t i, int64_t count, int part) {
                dots.part[part] = fma(get(dst + r * a.ld_dst + i, count),
                                      get(from_diff + r * args.ld_diff_dst + i, count), dots.part[part]);
            });
            const float dot = hsum(dots), lse = a.lse[query];
            const uint64_t index = static_cast<uint64_t>(query * a.drop_stride + seen.begin);
            if (drops.threshold) drop(drops, index, n, g + seen.begin);
            each_vector(n, [&](int64_t i, int64_t count) {
                float *pi = p + seen.begin + i, *gi = g + seen.begin + i;
                const VF prob = vexp(get(pi, count) * a.scale - lse);
                put(pi, prob, count);
                put(gi, prob * (get(gi, count) - dot) * a.scale, count);
            });
            if (drops.threshold) drop(drops, index, n, p + seen.begin);
            for (int64_t j = begin; j < seen.begin; ++j) p[j] = g[j] = 0.0f;
            for (int64_t j = seen.end; j < end; ++j) p[j] = g[j] = 0.0f;
        }
        product(d + begin, wide, 1, k + begin * ld_k, ld_k, dq, work_dq.ld, rows, a.dk, end - begin, false);
        product(d + begin, 1, wide, q, ld_q, dk + begin * work_dk.ld, work_dk.ld, end - begin, a.dk, rows, true);
        product(s + begin, 1, wide, diff, ld_diff, dv + begin * work_dv.ld, work_dv.ld, end - begin, a.dv, rows, true);
        write_rows(to_dq, args.ld_diff_q, rows, a.dk, work_dq);
    }
    write_rows(to_dk, args.ld_diff_k, keys, a.dk, work_dk);
    write_rows(to_dv, args.ld_diff_v, keys, a.dv, work_dv);
}

template <class T>
static int32_t attention_bwd(xf_stream *stream, const xf_attention_bwd *args, xf_error *err) {
    const xf_attention_bwd a = *args;
    if (a.fwd.B <= 0) return XF_OK;
    const Dropout drops = make_dropout(a.fwd.dropout);
    const int64_t wide = round_up(max64(1, a.fwd.max_k_len), kKeys);
    const int64_t keys = a.fwd.max_k_len, dk = a.fwd.dk, dv = a.fwd.dv;
    const int64_t copies = 2 * rows_floats<T>(keys, dk) + rows_floats<T>(keys, dv) + 2 * rows_floats<T>(kBwdRows, dk) +
                           rows_floats<T>(kBwdRows, dv);
    const int64_t bytes = (wide * (dk + dv + 2 * kBwdRows) + 4 * kW + copies) * 4;
    if (const int32_t rc = reserve_local(stream, bytes, err)) return rc;
    const int64_t pairs = a.fwd.B * a.fwd.H, group = pairs_per_task(a.fwd);
    parallel(stream, ceil_div(pairs, group), [&](int64_t task, int32_t worker) {
        for (int64_t p = task * group; p < min64(pairs, (task + 1) * group); ++p)
            attention_bwd_pair<T>(a, drops, p / a.fwd.H, p % a.fwd.H, local(stream, bytes, worker));
    });
    return XF_OK;
}
