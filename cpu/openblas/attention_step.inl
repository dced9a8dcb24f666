// One decoding step of self-attention over a cache of cells.
//
// No cell is copied when hypotheses are reordered: row r reads its key of step u from cell cells[slot][u], where slot
// is that of row r. A task owns a few (row, head) pairs. Scores are dot products of kLanes partial sums with a fixed
// reduction tree; the weighted sum of values runs in order of increasing u. Rows read steps < t from the cache and step
// t from the arguments, so storing step t causes no data race. If rows may read what other rows store (multi_step), all
// rows are stored before the first one is read.
//
// SPDX-License-Identifier: Apache-2.0

// Stores the key and the value of row r and head h.
template <class T>
static void store_pair(const xf_attention_step &a, int64_t r, int64_t h) {
    const int64_t cell = a.cells[a.slot_of_row[r] * a.ld_cells + a.steps[r]];
    copy_row(num<T>(a.k_cache) + (cell * a.H + h) * a.dk, num<T>(a.k) + r * a.ld_k + h * a.dk, a.dk);
    copy_row(num<T>(a.v_cache) + (cell * a.H + h) * a.dv, num<T>(a.v) + r * a.ld_v + h * a.dv, a.dv);
}

// dst[0 .. width) = factor times the sum of p[j] value(j)[0 .. width), where value(j) is a row; width <= V * kW.
template <int V, class T, class Value>
XF_INLINE void weighted_sum(const float *p, int64_t n, const Value &value, int64_t width, float factor, T *dst) {
    VF sum[V] = {};
    if (width == V * kW) {
        for (int64_t j = 0; j < n; ++j) {
            const T *row = value(j);
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v) sum[v] = fma(splat(p[j]), load(row + v * kW), sum[v]);
        }
    } else {
        for (int64_t j = 0; j < n; ++j) {
            const T *row = value(j);
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v)
                sum[v] = fma(splat(p[j]), load_n(row + v * kW, max64(0, width - v * kW)), sum[v]);
        }
    }
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store_n(dst + v * kW, sum[v] * factor, max64(0, width - v * kW));
}

template <class T>
static void attention_step_pair(const xf_attention_step &a, int64_t r, int64_t h, float *scores) {
    const int64_t slot = a.slot_of_row[r], t = a.steps[r], cell_k = a.H * a.dk, cell_v = a.H * a.dv;
    const int64_t begin = a.window > 0 ? max64(0, t - a.window / 2) : 0, n = t + 1 - begin;
    const int32_t *cells = a.cells + slot * a.ld_cells;
    const T *q = num<T>(a.q) + r * a.ld_q + h * a.dk, *k = num<T>(a.k) + r * a.ld_k + h * a.dk;
    const T *v = num<T>(a.v) + r * a.ld_v + h * a.dv;
    const T *const k_cache = num<T>(a.k_cache), *const v_cache = num<T>(a.v_cache);
    if (a.multi_step == 0) store_pair<T>(a, r, h);
    for (int64_t j = 0; j < n; j += 4) {
        const T *key[4];
        for (int64_t i = 0; i < 4; ++i) {
            const int64_t u = min64(begin + j + i, t);
            key[i] = u < t ? k_cache + cells[u] * cell_k + h * a.dk : k;
        }
        Lanes sum[4] = {};
        each_part(a.dk, [&](int64_t i, int64_t count, int part) {
            const VF x = get(q + i, count);
            for (int c = 0; c < 4; ++c) sum[c].part[part] = fma(x, get(key[c] + i, count), sum[c].part[part]);
        });
        *reinterpret_cast<V4Mem *>(scores + j) = hsum4(sum[0], sum[1], sum[2], sum[3]);
    }
    float top, total;
    softmax_row(scores, n, a.scale, &top, &total);
    const float inverse = 1.0f / total;
    T *dst = num<T>(a.dst) + r * a.ld_dst + h * a.dv;
    int64_t i = 0;
    const auto value = [&](int64_t j) {
        const int64_t u = begin + j;
        return (u < t ? v_cache + cells[u] * cell_v + h * a.dv : v) + i;
    };
    for (; i + kWideVecs * kW <= a.dv; i += kWideVecs * kW)
        weighted_sum<kWideVecs>(scores, n, value, kWideVecs * kW, inverse, dst + i);
    for (; i < a.dv; i += kKeys) weighted_sum<kTileVecs>(scores, n, value, min64(kKeys, a.dv - i), inverse, dst + i);
}

template <class T>
static int32_t attention_step(xf_stream *stream, const xf_attention_step *args, xf_error *err) {
    const xf_attention_step a = *args;
    if (a.rows <= 0) return XF_OK;
    const int64_t bytes = (round_up(a.max_step + 1, 4) + kW) * 4;
    if (const int32_t rc = reserve_local(stream, bytes, err)) return rc;
    if (a.multi_step != 0)
        parallel(stream, a.rows, [&](int64_t r, int32_t) {
            for (int64_t h = 0; h < a.H; ++h) store_pair<T>(a, r, h);
        });
    const int64_t pairs = a.rows * a.H;
    const int64_t group = max64(1, min64(pairs, 65536 / max64(1, (a.max_step + 1) * (a.dk + a.dv) / 2)));
    parallel(stream, ceil_div(pairs, group), [&](int64_t task, int32_t worker) {
        for (int64_t p = task * group; p < min64(pairs, (task + 1) * group); ++p)
            attention_step_pair<T>(a, p / a.H, p % a.H, local(stream, bytes, worker));
    });
    return XF_OK;
}
