// Tied projection and label-smoothed cross-entropy (paper s. 3.4 and 5.4), in chunks of rows.
//
// The logits of a chunk are stored transposed, [V, rows]. The vocabulary is then the long dimension of all three
// products, tasks own ranges of it, and each product reads the large matrix in the order of its memory. The maximum,
// the sum of exponentials, and the sum of logits of each row are computed per task while the tile is in the cache, and
// then combined in order.
//     loss = lse * sum(q) - sum(q z),   diff_logits = softmax(z) - q.
// The bias is added to the logits first; its gradient is the sum of diff_logits along a row of the transpose. Without
// gradients the projection is the row-invariant one of decoding, and rows are combined as in top_k.inl.
//
// SPDX-License-Identifier: Apache-2.0

constexpr int64_t kLossTile = 256;  // rows of the vocabulary per tile of statistics
constexpr int64_t kJoinRows = 8;    // rows per task when tiles are combined

// The target distribution: `base` for every id, plus `extra` for the target itself.
struct Smoothing {
    float base, extra;
};
XF_INLINE Smoothing smoothing_of(const xf_loss &a) {
    const float v = static_cast<float>(a.V);
    if (a.uniform) return {a.smoothing / v, 1.0f - a.smoothing};
    const float base = a.V > 1 ? a.smoothing / (v - 1.0f) : 0.0f;
    return {base, 1.0f - a.smoothing - base};
}

// A partial sum of exponentials, rescaled to the maximum of the row.
XF_INLINE double scaled(float sum, float max, float top) {
    return static_cast<double>(sum) * exp_of(static_cast<double>(max) - static_cast<double>(top));
}

// Computes loss and nll of a row from its log-sum-exp, the logit of its target, and the sum of all logits. Rows with a
// negative target are not part of the batch; their loss is 0.
XF_INLINE void row_loss(const xf_loss &a, const Smoothing &q, int64_t m, double lse, double target, double total) {
    if (a.targets[m] < 0) {
        a.nll[m] = a.loss[m] = 0.0f;
        return;
    }
    const double mass = static_cast<double>(q.base) * static_cast<double>(a.V) + static_cast<double>(q.extra);
    // Without smoothing the sum of logits has weight 0 and is skipped: it may overflow fp32, and 0 times infinity is
    // NaN.
    const double shared = q.base > 0.0f ? static_cast<double>(q.base) * total : 0.0;
    a.nll[m] = static_cast<float>(lse - target);
    a.loss[m] = static_cast<float>(lse * mass - shared - static_cast<double>(q.extra) * target);
}

// The loss without gradients: panels of kPanel columns for kPanelRows rows at a time.
template <class T>
static int32_t loss_only(xf_stream *stream, const xf_loss &a, xf_error *err) {
    const int64_t panels = ceil_div(a.V, kPanel), step = min64(a.M, kPanelRows);
    const uint32_t type = sizeof(T) == 2 ? uint32_t{XF_WEIGHTS_BF16} : a.weights_type;
    const int64_t extra = wide_bytes(type, step), bytes = step * kPanel * 4 + extra;
    const int64_t targets_at = padded(panels * step * sizeof(PanelSums));
    const int64_t rows_at = targets_at + padded(step * 4);
    const int64_t prepared_at = rows_at + padded(sizeof(T) == 2 ? step * a.D * 4 : 0);
    const int64_t all = prepared_at + prepared_bytes(stream, type, step, a.D);
    if (const int32_t rc = reserve(stream, &stream->shared, static_cast<uint64_t>(all), err)) return rc;
    if (const int32_t rc = reserve_local(stream, bytes, err)) return rc;
    PanelSums *sums = static_cast<PanelSums *>(stream->shared.ptr);
    float *targets = shared(stream) + targets_at / 4;
    const Smoothing q = smoothing_of(a);
    xf_linear_fwd map{};
    map.N = a.V, map.K = a.D, map.ld_src = a.D, map.weights = a.weights;
    map.weights_type = type, map.scales = a.scales, map.bias = a.bias;
    for (int64_t m0 = 0; m0 < a.M; m0 += step) {
        const int64_t rows = min64(step, a.M - m0);
        const T *src = num<T>(a.src) + m0 * a.D;
        char *memory = static_cast<char *>(stream->shared.ptr);
        map.src = source_rows(stream, src, a.D, rows, memory + rows_at);
        const Prepared prepared = prepare(stream, map, rows, memory + prepared_at);
        const int64_t parts = row_parts(stream, panels, rows);
        parallel(stream, panels * parts, [&](int64_t task, int32_t worker) {
            float *logits = local(stream, bytes, worker), *wide = extra > 0 ? logits + step * kPanel : nullptr;
            const int64_t p = task / parts, n0 = p * kPanel, n1 = min64(a.V, n0 + kPanel);
            const int64_t part = task % parts;
            const int64_t first = chunk_begin(rows, parts, part, kRowUnit),
                          end = chunk_begin(rows, parts, part + 1, kRowUnit);
            dot_block(stream, map, prepared, first, end, n0, n1, wide, logits, kPanel);
            for (int64_t r = first; r < end; ++r, logits += kPanel) {
                sums[p * rows + r] = panel_sums(logits, n1 - n0, false);
                const int64_t target = a.targets[m0 + r];
                if (target >= n0 && target < n1) targets[r] = logits[target - n0];
            }
        });
        each_row(stream, rows, kJoinRows, [&](int64_t r, int32_t) {
            if (a.targets[m0 + r] < 0) targets[r] = 0.0f;  // no panel wrote it
            float top = -__builtin_inff();
            double sum = 0.0, total = 0.0;
            for (int64_t p = 0; p < panels; ++p) top = sums[p * rows + r].max > top ? sums[p * rows + r].max : top;
            for (int64_t p = 0; p < panels; ++p) {
                const PanelSums &s = sums[p * rows + r];
                sum += scaled(s.sum, s.max, top);
                total += static_cast<double>(s.total);
            }
            const double lse = static_cast<double>(top) + log_of(sum);
            row_loss(a, q, m0 + r, lse, static_cast<double>(targets[r]), total);
        });
    }
    return XF_OK;
}

// Maximum, sum of e^(z - maximum), and sum of z for each row of the chunk (a column of z), over n rows of the
// vocabulary.
static void tile_stats(const float *z, int64_t n, int64_t rows, float *out) {
    for (int64_t r = 0; r < rows; r += kW) {
        VF best = splat(-__builtin_inff()), total{}, sum{};
        for (int64_t i = 0; i < n; ++i) {
            const VF x = load(z + i * rows + r);
            best = vmax(x, best);
            total += x;
        }
        for (int64_t i = 0; i < n; ++i) sum += vexp(load(z + i * rows + r) - best);
        store(out + r, best);
        store(out + rows + r, sum);
        store(out + 2 * rows + r, total);
    }
}

// Computes the loss of a chunk and replaces its logits by their gradient, stored as T at the beginning of each row of
// z. rows is a multiple of kW; the first `real` rows exist.
template <class T>
static void loss_chunk(const xf_stream *stream, const xf_loss &a, int64_t m0, int64_t real, int64_t rows, float *z,
                       float *stats, float *lse) {
    const Smoothing q = smoothing_of(a);
    const int64_t tiles = ceil_div(a.V, kLossTile);
    parallel(stream, tiles, [&](int64_t t, int32_t) {
        const int64_t count = min64(kLossTile, a.V - t * kLossTile);
        float *tile = z + t * kLossTile * rows;
        for (int64_t i = 0; a.bias && i < count; ++i)
            for (int64_t r = 0; r < rows; r += kW) {
                float *x = tile + i * rows + r;
                store(x, load(x) + a.bias[t * kLossTile + i]);
            }
        for (int64_t i = 0; i < count; ++i)
            for (int64_t r = real; r < rows; ++r) tile[i * rows + r] = 0.0f;
        tile_stats(tile, count, rows, stats + t * 3 * rows);
    });
    each_row(stream, real, kJoinRows, [&](int64_t r, int32_t) {
        float top = -__builtin_inff();
        double sum = 0.0, total = 0.0;
        for (int64_t t = 0; t < tiles; ++t) top = stats[t * 3 * rows + r] > top ? stats[t * 3 * rows + r] : top;
        for (int64_t t = 0; t < tiles; ++t) {
            const float *s = stats + t * 3 * rows + r;
            sum += scaled(s[rows], s[0], top);
            total += static_cast<double>(s[2 * rows]);
        }
        const double log_sum = static_cast<double>(top) + log_of(sum);
        lse[r] = static_cast<float>(log_sum);
        const int64_t target = max64(0, a.targets[m0 + r]);
        row_loss(a, q, m0 + r, log_sum, static_cast<double>(z[target * rows + r]), total);
    });
    for (int64_t r = real; r < rows; ++r) lse[r] = 0.0f;
    parallel(stream, tiles, [&](int64_t t, int32_t) {
        const int64_t end = min64(a.V, (t + 1) * kLossTile);
        for (int64_t i = t * kLossTile; i < end; ++i)
            for (int64_t r = 0; r < rows; r += kW) {
                float *x = z + i * rows + r;
                store(x, vexp(load(x) - load(lse + r)) - q.base);
            }
        for (int64_t r = 0; r < real; ++r) {
            const int64_t target = a.targets[m0 + r];
            if (target >= t * kLossTile && target < end) z[target * rows + r] -= q.extra;
            if (target < 0)
                for (int64_t i = t * kLossTile; i < end; ++i) z[i * rows + r] = 0.0f;
        }
        for (int64_t i = t * kLossTile; a.diff_bias && i < end; ++i) {
            Lanes sum{};
            each_part(real, [&](int64_t r, int64_t n, int part) { sum.part[part] += get(z + i * rows + r, n); });
            a.diff_bias[i] += hsum(sum);
        }
        for (int64_t i = t * kLossTile; i < end; ++i)
            write_row(reinterpret_cast<T *>(z + i * rows), z + i * rows, rows);
    });
}

// The three products of a chunk and their memory.
struct LossPlan {
    GemmPlan logits, weights, data;
    int64_t shared, local;
};
template <class T>
static LossPlan loss_plan(const xf_stream *stream, const xf_loss &a, int64_t rows) {
    LossPlan p{gemm_plan<T, float>(stream, a.V, rows, a.D), gemm_plan<T, float>(stream, a.V, a.D, rows),
               gemm_plan<T, T>(stream, rows, a.D, a.V), 0, 0};
    p.shared = max64(p.logits.shared, max64(p.weights.shared, p.data.shared));
    p.local = max64(p.logits.local, max64(p.weights.local, p.data.local));
    return p;
}

template <class T>
static int32_t loss(xf_stream *stream, const xf_loss *args, xf_error *err) {
    const xf_loss a = *args;
    if (a.M <= 0) return XF_OK;
    if (!a.diff_src) return loss_only<T>(stream, a, err);
    // About 32 Mi logits at a time. In bf16, which is chosen to save memory, 20 Mi, in chunks of equal size.
    const int64_t logits_held = sizeof(T) == 4 ? int64_t{1} << 25 : int64_t{5} << 22;
    const int64_t most = max64(256, min64(1024, logits_held / max64(1, a.V) / 32 * 32));
    const int64_t even = round_up(ceil_div(a.M, ceil_div(a.M, most)), 32);
    const int64_t chunk = min64(sizeof(T) == 4 ? most : even, round_up(a.M, kW)), tiles = ceil_div(a.V, kLossTile);
    const int64_t stats_at = padded(a.V * chunk * 4), lse_at = stats_at + padded(tiles * 3 * chunk * 4);
    const int64_t packed_at = lse_at + padded(chunk * 4);
    // The last chunk may be smaller than the others.
    const LossPlan first = loss_plan<T>(stream, a, min64(chunk, a.M));
    const LossPlan last = a.M % chunk > 0 ? loss_plan<T>(stream, a, a.M % chunk) : first;
    const int64_t packed = max64(first.shared, last.shared);
    if (const int32_t rc = reserve_local(stream, max64(first.local, last.local), err)) return rc;
    if (const int32_t rc = reserve(stream, &stream->shared, static_cast<uint64_t>(packed_at + packed), err)) return rc;
    float *z = shared(stream), *stats = z + stats_at / 4, *lse = z + lse_at / 4, *panels = z + packed_at / 4;
    for (int64_t m0 = 0; m0 < a.M; m0 += chunk) {
        const int64_t real = min64(chunk, a.M - m0), rows = round_up(real, kW);
        const T *src = num<T>(a.src) + m0 * a.D;
        const LossPlan &plan = real == chunk ? first : last;
        Product<T, float> logits{};
        logits.M = a.V, logits.N = real, logits.K = a.D;
        logits.a = num<T>(a.weights), logits.a_row = a.D, logits.a_col = 1;
        logits.b = src, logits.b_row = 1, logits.b_col = a.D;
        logits.c = z, logits.ldc = rows;
        gemm(stream, logits, plan.logits, panels);
        loss_chunk<T>(stream, a, m0, real, rows, z, stats, lse);
        const T *diff = reinterpret_cast<const T *>(z);
        // NOLINTNEXTLINE(bugprone-sizeof-expression): T is float, too
        const int64_t step = rows * static_cast<int64_t>(sizeof(float) / sizeof(T));
        Product<T, float> weights{};
        weights.M = a.V, weights.N = a.D, weights.K = real;
        weights.a = diff, weights.a_row = step, weights.a_col = 1;
        weights.b = src, weights.b_row = a.D, weights.b_col = 1;
        weights.c = a.diff_weights, weights.ldc = a.D, weights.accumulate = true;
        gemm(stream, weights, plan.weights, panels);
        Product<T> data{};
        data.M = real, data.N = a.D, data.K = a.V;
        data.a = diff, data.a_row = 1, data.a_col = step;
        data.b = num<T>(a.weights), data.b_row = a.D, data.b_col = 1;
        data.c = num<T>(a.diff_src) + m0 * a.D, data.ldc = a.D;
        gemm(stream, data, plan.data, panels);
    }
    return XF_OK;
}
