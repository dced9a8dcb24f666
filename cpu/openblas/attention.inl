// Scaled dot-product attention over packed sequences, forward (paper eq. 1), and helpers for the backward pass and the
// decoding step.
//
// A task is a group of (sentence, head) pairs. K is transposed once per pair into blocks of kKeys keys, so that the
// scores and the weighted sum of V use the same register-tiled kernel. The scores of kTileRows queries are stored at a
// time, so memory is linear in the length. Blocks begin at key 0 of the sentence and do not depend on the query.
//
// The queries of a tile can see different keys (causal mask, window). Keys that all of them see are processed together,
// the others row by row, always in order of increasing key. The bits of a row therefore do not depend on its neighbors,
// and a masked key is never multiplied, not even by zero.
//
// SPDX-License-Identifier: Apache-2.0

#if defined(XF_ISA_AVX512) || defined(XF_ISA_NEON)
constexpr int kTileRows = 6, kTileVecs = 4;
#elif defined(XF_ISA_AVX2)
constexpr int kTileRows = 6, kTileVecs = 2;
#else
constexpr int kTileRows = 4, kTileVecs = 2;
#endif
constexpr int kKeys = kTileVecs * kW;  // keys in a block of transposed K
// Vectors of a tile of one row: an element is a chain of dependent operations, so a tile needs 8 chains to keep both
// units for multiply-adds busy.
#if defined(XF_ISA_AVX2)
constexpr int kWideVecs = 8;
#else
constexpr int kWideVecs = kTileVecs;
#endif

// C[R, cols] (+)= A[R, len] B[len, cols], for cols <= V * kW and any strides of A. Each element is one chain of fused
// multiply-adds in order of increasing k.
template <int R, int V = kTileVecs>
static void product_tile(const float *a, int64_t a_row, int64_t a_col, const float *b, int64_t ldb, float *c,
                         int64_t ldc, int64_t len, int64_t cols, bool add) {
    VF acc[R][V];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) acc[r][v] = add ? load_n(c + r * ldc + v * kW, max64(0, cols - v * kW)) : VF{};
    }
    if (cols == V * kW) {
        for (int64_t k = 0; k < len; ++k) {
            VF x[V];
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v) x[v] = load(b + k * ldb + v * kW);
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
                const VF y = splat(a[r * a_row + k * a_col]);
#pragma GCC unroll 8
                for (int v = 0; v < V; ++v) acc[r][v] = fma(y, x[v], acc[r][v]);
            }
        }
    } else {
        for (int64_t k = 0; k < len; ++k) {
            VF x[V];
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v) x[v] = load_n(b + k * ldb + v * kW, max64(0, cols - v * kW));
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
                const VF y = splat(a[r * a_row + k * a_col]);
#pragma GCC unroll 8
                for (int v = 0; v < V; ++v) acc[r][v] = fma(y, x[v], acc[r][v]);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) store_n(c + r * ldc + v * kW, acc[r][v], max64(0, cols - v * kW));
    }
}

typedef void (*ProductFn)(const float *, int64_t, int64_t, const float *, int64_t, float *, int64_t, int64_t, int64_t,
                          bool);
constexpr ProductFn kProducts[] = {
    nullptr,         product_tile<1>, product_tile<2>, product_tile<3>, product_tile<4>,
#if defined(XF_ISA_AVX512) || defined(XF_ISA_AVX2) || defined(XF_ISA_NEON)
    product_tile<5>, product_tile<6>,
#endif
};

// C[rows, cols] (+)= A B for any rows and cols.
static void product(const float *a, int64_t a_row, int64_t a_col, const float *b, int64_t ldb, float *c, int64_t ldc,
                    int64_t rows, int64_t cols, int64_t len, bool add) {
    int64_t n = 0;
    if constexpr (kWideVecs > kTileVecs) {
        constexpr int kHalf = kWideVecs / 2;
        for (; rows == 1 && n + kWideVecs * kW <= cols; n += kWideVecs * kW)
            product_tile<1, kWideVecs>(a, a_row, a_col, b + n, ldb, c + n, ldc, len, kWideVecs * kW, add);
        for (; rows == 1 && n + kHalf * kW <= cols; n += kHalf * kW)
            product_tile<1, kHalf>(a, a_row, a_col, b + n, ldb, c + n, ldc, len, kHalf * kW, add);
    }
    for (; n < cols; n += kKeys) {
        const int64_t width = min64(kKeys, cols - n);
        for (int64_t r = 0; r < rows; r += kTileRows)
            kProducts[min64(kTileRows, rows - r)](a + r * a_row, a_row, a_col, b + n, ldb, c + r * ldc + n, ldc, len,
                                                  width, add);
    }
}

// Transposes rows src[0 .. n) of `depth` elements into blocks of `width` columns, [depth][width] each; missing columns
// are zero. width is a multiple of kKeys.
template <class T>
static void transpose_blocks(const T *src, int64_t ld, int64_t n, int64_t depth, float *dst, int64_t width = kKeys) {
    for (int64_t block = 0; block < n; block += width, dst += depth * width)
        for (int64_t v = 0; v < width; v += kW)
            pack_transpose(src + (block + v) * ld, ld, depth, max64(0, min64(kW, n - block - v)), width, dst + v);
}

struct Range {
    int64_t begin, end;
};

// The keys that query i of a sentence attends to; empty if there are none.
XF_INLINE Range visible(const xf_attention &a, int64_t i, int64_t keys) {
    Range r{0, keys};
    if (a.window > 0) {
        r.begin = max64(0, i - a.window / 2);
        r.end = min64(r.end, i + a.window / 2 + 1);
    }
    if (a.causal) r.end = min64(r.end, i + 1);
    if (r.begin > r.end) r.begin = r.end;
    return r;
}

// x[0 .. n) = e^(scale x - max). Returns the maximum of scale x and the sum.
static void softmax_row(float *x, int64_t n, float scale, float *max_out, float *sum_out) {
    VF best = splat(-__builtin_inff());
    int64_t i = 0;
    for (; i + kW <= n; i += kW) {
        const VF y = load(x + i) * scale;
        store(x + i, y);
        best = vmax(y, best);
    }
    for (; i < n; i += kW) {
        const VF y = load_n(x + i, n - i) * scale;
        store_n(x + i, y, n - i);
        VF padded_lanes = best;
        for (int lane = 0; lane < kW; ++lane)
            if (lane < n - i) padded_lanes[lane] = y[lane];
        best = vmax(padded_lanes, best);
    }
    const float top = hmax(best);
    Lanes sum{};
    each_part(n, [&](int64_t at, int64_t count, int part) {
        const VF y = keep_n(vexp(get(x + at, count) - top), count);
        put(x + at, y, count);
        sum.part[part] += y;
    });
    *max_out = top;
    *sum_out = hsum(sum);
}

// Computes the scores of rows [0, rows) with keys [begin, end), extended to whole blocks; s points to key 0.
static void score_blocks(const float *q, int64_t ld_q, int64_t rows, int64_t depth, const float *packed, int64_t begin,
                         int64_t end, float *s, int64_t ld_s) {
    for (int64_t j = begin / kKeys * kKeys; j < end; j += kKeys)
        product(q, ld_q, 1, packed + j * depth, kKeys, s + j, ld_s, rows, kKeys, depth, false);
}

// Rows in fp32.
struct Rows {
    float *at;
    int64_t ld;
};
struct ReadRows {
    const float *at;
    int64_t ld;
};
// fp32 views of rows that are only read (read_rows) or modified (work_rows): fp32 rows are used in place; bf16 rows are
// copied to *buffer, which is advanced past them.
XF_INLINE ReadRows read_rows(const float *src, int64_t ld, int64_t, int64_t, float **) { return {src, ld}; }
XF_INLINE ReadRows read_rows(const Bf16 *src, int64_t ld, int64_t rows, int64_t columns, float **buffer) {
    float *at = *buffer;
    *buffer += round_up(rows * columns, kW);
    for (int64_t r = 0; r < rows; ++r) read_row(src + r * ld, columns, at + r * columns);
    return {at, columns};
}
XF_INLINE Rows work_rows(float *dst, int64_t ld, int64_t, int64_t, float **) { return {dst, ld}; }
XF_INLINE Rows work_rows(Bf16 *, int64_t, int64_t rows, int64_t columns, float **buffer) {
    float *at = *buffer;
    *buffer += round_up(rows * columns, kW);
    return {at, columns};
}
XF_INLINE void write_rows(float *, int64_t, int64_t, int64_t, const Rows &) {}
XF_INLINE void write_rows(Bf16 *dst, int64_t ld, int64_t rows, int64_t columns, const Rows &work) {
    for (int64_t r = 0; r < rows; ++r) write_row(dst + r * ld, work.at + r * work.ld, columns);
}
template <class T>
XF_INLINE int64_t rows_floats(int64_t rows, int64_t columns) {
    return sizeof(T) == 2 ? round_up(rows * columns, kW) : 0;
}

template <class T>
static void attention_pair(const xf_attention &a, const Dropout &drops, int64_t b, int64_t h, float *scratch) {
    const int64_t q0 = a.q_begin[b], queries = a.q_len[b], k0 = a.k_begin[b], keys = a.k_len[b];
    const int64_t wide = round_up(keys, kKeys);
    float *packed = scratch, *s = scratch + wide * a.dk + kW;
    float *buffer = s + wide * kTileRows + kW;
    const auto [v, ld_v] = read_rows(num<T>(a.v) + k0 * a.ld_v + h * a.dv, a.ld_v, keys, a.dv, &buffer);
    const T *const k = num<T>(a.k) + k0 * a.ld_k + h * a.dk;
    // With the few queries of a decoding step, each block of keys is transposed and used while it is in the L1 cache.
    const bool few = queries <= kTileRows;
    if (!few) transpose_blocks(k, a.ld_k, keys, a.dk, packed);
    for (int64_t i0 = 0; i0 < queries; i0 += kTileRows) {
        const int64_t rows = min64(kTileRows, queries - i0);
        Range seen[kTileRows], some{keys, 0}, all{0, keys};
        for (int64_t r = 0; r < rows; ++r) {
            seen[r] = visible(a, i0 + r, keys);
            some.begin = min64(some.begin, seen[r].begin), some.end = max64(some.end, seen[r].end);
            all.begin = max64(all.begin, seen[r].begin), all.end = min64(all.end, seen[r].end);
        }
        float *tile = buffer;
        const auto [q, ld_q] = read_rows(num<T>(a.q) + (q0 + i0) * a.ld_q + h * a.dk, a.ld_q, rows, a.dk, &tile);
        for (int64_t j = some.begin / kKeys * kKeys, width; few && j < some.end; j += width) {
            width = min64(rows == 1 ? kWideVecs * kW : kKeys, round_up(some.end - j, kKeys));
            transpose_blocks(k + j * a.ld_k, a.ld_k, min64(width, keys - j), a.dk, packed, width);
            product(q, ld_q, 1, packed, width, s + j, wide, rows, width, a.dk, false);
        }
        if (!few) score_blocks(q, ld_q, rows, a.dk, packed, some.begin, some.end, s, wide);
        float inverse[kTileRows];
        T *const to = num<T>(a.dst) + (q0 + i0) * a.ld_dst + h * a.dv;
        const Rows work = work_rows(to, a.ld_dst, rows, a.dv, &tile);
        float *const dst = work.at;
        const int64_t ld_dst = work.ld;
        for (int64_t r = 0; r < rows; ++r) {
            const int64_t query = (q0 + i0 + r) * a.H + h, n = seen[r].end - seen[r].begin;
            float top = 0.0f, sum = 0.0f, *row = s + r * wide + seen[r].begin;
            if (n > 0) softmax_row(row, n, a.scale, &top, &sum);
            inverse[r] = n > 0 ? 1.0f / sum : 0.0f;
            if (a.lse)
                a.lse[query] = n > 0 ? top + static_cast<float>(log_of(static_cast<double>(sum))) : -__builtin_inff();
            if (drops.threshold) drop(drops, static_cast<uint64_t>(query * a.drop_stride + seen[r].begin), n, row);
            each_vector(a.dv, [&](int64_t i, int64_t width) { put(dst + r * ld_dst + i, VF{}, width); });
        }
        const bool joint = all.begin < all.end;
        for (int64_t r = 0; r < rows; ++r) {
            const int64_t end = joint ? all.begin : seen[r].end, j = seen[r].begin;
            if (j < end)
                product(s + r * wide + j, wide, 1, v + j * ld_v, ld_v, dst + r * ld_dst, ld_dst, 1, a.dv, end - j,
                        true);
        }
        if (joint)
            product(s + all.begin, wide, 1, v + all.begin * ld_v, ld_v, dst, ld_dst, rows, a.dv, all.end - all.begin,
                    true);
        for (int64_t r = 0; r < rows; ++r) {
            if (joint && all.end < seen[r].end)
                product(s + r * wide + all.end, wide, 1, v + all.end * ld_v, ld_v, dst + r * ld_dst, ld_dst, 1, a.dv,
                        seen[r].end - all.end, true);
            float *out = dst + r * ld_dst;
            const float factor = inverse[r];
            each_vector(a.dv, [&](int64_t i, int64_t n) { put(out + i, get(out + i, n) * factor, n); });
        }
        write_rows(to, a.ld_dst, rows, a.dv, work);
    }
}

// Pairs per task: about 20 microseconds of work for the longest sentence.
XF_INLINE int64_t pairs_per_task(const xf_attention &a) {
    const int64_t work = max64(1, a.max_q_len * a.max_k_len * (a.dk + a.dv));
    return max64(1, min64(a.H, 1000000 / work));
}

template <class T>
static int32_t attention_fwd(xf_stream *stream, const xf_attention *args, xf_error *err) {
    const xf_attention a = *args;
    if (a.B <= 0 || a.max_q_len <= 0) return XF_OK;
    const Dropout drops = make_dropout(a.dropout);
    const int64_t wide = round_up(max64(1, a.max_k_len), kKeys);
    const int64_t copies =
        rows_floats<T>(a.max_k_len, a.dv) + rows_floats<T>(kTileRows, a.dk) + rows_floats<T>(kTileRows, a.dv);
    const int64_t bytes = (wide * (a.dk + kTileRows) + 2 * kW + copies) * 4;
    if (const int32_t rc = reserve_local(stream, bytes, err)) return rc;
    const int64_t pairs = a.B * a.H, group = pairs_per_task(a);
    parallel(stream, ceil_div(pairs, group), [&](int64_t task, int32_t worker) {
        for (int64_t p = task * group; p < min64(pairs, (task + 1) * group); ++p)
            attention_pair<T>(a, drops, p / a.H, p % a.H, local(stream, bytes, worker));
    });
    return XF_OK;
}
