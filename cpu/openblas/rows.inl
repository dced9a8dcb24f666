// Row-wise operations: embedding (paper s. 3.4, 3.5), and dropout + residual + layer normalization (s. 3.1).
//
// Each row is processed in one pass and stays in the L1 cache. Parameter gradients of a norm are sums over rows: they
// are computed over tiles of kRowTile rows, and the tiles are added in increasing order for any number of workers.
//
// SPDX-License-Identifier: Apache-2.0

constexpr int64_t kRowTile = 64;

// Rows per task: about 16384 elements.
XF_INLINE int64_t rows_per_task(int64_t D) { return max64(1, 16384 / max64(1, D)); }

// Calls body(i, n) for the vectors of [0, D), where each call reads `rows` rows, as in a sum over tiles. A task takes a
// few microseconds.
template <class Body>
static void each_column_group(const xf_stream *stream, int64_t D, int64_t rows, const Body &body) {
    const int64_t group = round_up(max64(1, 16384 / max64(1, rows)), 4 * kW);
    parallel(stream, ceil_div(D, group), [&](int64_t task, int32_t) {
        const int64_t begin = task * group;
        each_vector(min64(group, D - begin), [&](int64_t i, int64_t n) { body(begin + i, n); });
    });
}

// A row of the embedding table as fp32: the table itself, or a copy in `buffer` if the table has another type.
template <class T>
static const float *table_row(const xf_stream *stream, const xf_embed_fwd &a, int64_t id, float *buffer) {
    const void *weights = a.weights;
    switch (a.weights_type) {
        case XF_WEIGHTS_BF16:
            widen_row(static_cast<const Bf16 *>(weights) + id * a.D, a.D, buffer);
            return buffer;
        case XF_WEIGHTS_FP16:
            widen_row(static_cast<const Fp16 *>(weights) + id * a.D, a.D, buffer);
            return buffer;
        case XF_WEIGHTS_INT8: {
            const int8_t *from = static_cast<const int8_t *>(weights) + int8_at(stream, a.V, a.D, id, 0);
            const int64_t step = int8_at(stream, a.V, a.D, id, 4) - int8_at(stream, a.V, a.D, id, 0);
            for (int64_t d = 0; d < a.D; ++d)
                buffer[d] = static_cast<float>(
                                static_cast<int8_t>(static_cast<uint8_t>(from[d / 4 * step + d % 4]) ^ kSignBit)) *
                            a.scales[id];
            return buffer;
        }
        default:
            return read_row(num<T>(weights) + id * a.D, a.D, buffer);
    }
}

template <class T>
static int32_t embed_fwd(xf_stream *stream, const xf_embed_fwd *args, xf_error *err) {
    const xf_embed_fwd a = *args;
    if (const int32_t rc = reserve_work<T>(stream, a.D, err)) return rc;
    const Dropout drops = make_dropout(a.dropout);
    const int64_t tile = rows_per_task(a.D);
    parallel(stream, ceil_div(a.rows, tile), [&](int64_t task, int32_t worker) {
        for (int64_t t = task * tile; t < min64(a.rows, (task + 1) * tile); ++t) {
            const float *p = a.positions + int64_t{a.pos[t]} * a.D;
            T *const to = num<T>(a.dst) + t * a.D;
            float *dst = work_row(to, work<T>(stream, a.D, worker));
            const float *w = table_row<T>(stream, a, a.ids[t], dst);
            each_vector(a.D, [&](int64_t i, int64_t n) { put(dst + i, get(w + i, n) * a.scale + get(p + i, n), n); });
            if (drops.threshold) drop(drops, static_cast<uint64_t>(t * a.D), a.D, dst);
            write_row(to, dst, a.D);
        }
    });
    return XF_OK;
}

template <class T>
static int32_t embed_bwd(xf_stream *stream, const xf_embed_bwd *args, xf_error *err) {
    const xf_embed_bwd a = *args;
    if (a.groups <= 0) return XF_OK;
    const Dropout drops = make_dropout(a.dropout);
    const int64_t bytes = 2 * round_up(a.D, kW) * 4;
    if (const int32_t rc = reserve_local(stream, bytes, err)) return rc;
    const int64_t tile = max64(1, rows_per_task(a.D) / 2);
    // A token that makes up a tenth of the batch would keep a single worker busy, so with many workers the columns are
    // split as well.
    const int64_t width = stream->workers <= kFewWorkers ? a.D : min64(a.D, 128), parts = ceil_div(a.D, width);
    parallel(stream, ceil_div(a.groups, tile) * parts, [&](int64_t task, int32_t worker) {
        float *sum = local(stream, bytes, worker), *row = sum + round_up(a.D, kW);
        const int64_t part = task / parts, first = task % parts * width, count = min64(width, a.D - first);
        for (int64_t g = part * tile; g < min64(a.groups, (part + 1) * tile); ++g) {
            each_vector(count, [&](int64_t i, int64_t n) { put(sum + i, VF{}, n); });
            for (int64_t s = a.starts[g]; s < a.starts[g + 1]; ++s) {
                const int64_t at = a.order[s] * a.D + first;
                const float *src = read_row(num<T>(a.diff_dst) + at, count, row);
                if (drops.threshold) {
                    if (src != row) copy_row(row, src, count);
                    drop(drops, static_cast<uint64_t>(at), count, row);
                    src = row;
                }
                each_vector(count, [&](int64_t i, int64_t n) { put(sum + i, get(sum + i, n) + get(src + i, n), n); });
            }
            float *dst = a.diff_weights + int64_t{a.group_ids[g]} * a.D + first;
            each_vector(count, [&](int64_t i, int64_t n) {
                put(dst + i, fma(get(sum + i, n), splat(a.scale), get(dst + i, n)), n);
            });
        }
    });
    return XF_OK;
}

template <class T>
static int32_t add_norm_fwd(xf_stream *stream, const xf_add_norm_fwd *args, xf_error *err) {
    const xf_add_norm_fwd a = *args;
    if (a.M <= 0) return XF_OK;
    const Dropout drops = make_dropout(a.dropout);
    const int64_t bytes = 2 * round_up(a.D, kW) * 4, tile = rows_per_task(a.D);
    if (const int32_t rc = reserve_local(stream, bytes, err)) return rc;
    const float count = static_cast<float>(a.D);
    parallel(stream, ceil_div(a.M, tile), [&](int64_t task, int32_t worker) {
        float *row = local(stream, bytes, worker), *buffer = row + round_up(a.D, kW);
        for (int64_t m = task * tile; m < min64(a.M, (task + 1) * tile); ++m) {
            const T *residual = num<T>(a.residual) + m * a.D;
            const float *src = a.src ? read_row(num<T>(a.src) + m * a.D, a.D, row) : nullptr;
            T *dst = num<T>(a.dst) + m * a.D, *kept = a.sum ? num<T>(a.sum) + m * a.D : nullptr;
            float *sum = kept ? work_row(kept, buffer) : buffer;
            if (src && drops.threshold) {
                if (src != row) copy_row(row, src, a.D);
                drop(drops, static_cast<uint64_t>(m * a.D), a.D, row);
                src = row;
            }
            Lanes total{}, squares{};
            each_part(a.D, [&](int64_t i, int64_t n, int part) {
                VF x = get(residual + i, n);
                if (src) x += get(src + i, n);
                x = rounded<T>(x);  // as it is stored, or would be stored
                put(sum + i, x, n);
                total.part[part] += x;
            });
            if (kept) write_row(kept, sum, a.D);
            const float mean = a.rms ? 0.0f : hsum(total) / count;
            each_part(a.D, [&](int64_t i, int64_t n, int part) {
                const VF x = keep_n(get(sum + i, n) - mean, n);
                squares.part[part] = fma(x, x, squares.part[part]);
            });
            const float rstd = 1.0f / __builtin_sqrtf(hsum(squares) / count + a.eps);
            if (a.bias)
                each_vector(a.D, [&](int64_t i, int64_t n) {
                    const VF x = (get(sum + i, n) - mean) * rstd;
                    put(dst + i, fma(x, get(a.weights + i, n), get(a.bias + i, n)), n);
                });
            else
                each_vector(a.D, [&](int64_t i, int64_t n) {
                    put(dst + i, (get(sum + i, n) - mean) * rstd * get(a.weights + i, n), n);
                });
            if (a.stats) {
                a.stats[2 * m] = mean;
                a.stats[2 * m + 1] = rstd;
            }
        }
    });
    return XF_OK;
}

// Defined in linear.inl. partial: memory for one row of sums per kRowTile rows, or more.
template <class T>
static void add_column_sums(const xf_stream *stream, const T *src, int64_t ld, int64_t M, int64_t N, float *partial,
                            float *dst);

// With g = weights * diff_dst and x = (sum - mean) * rstd: diff = rstd * (g - mean(g) - x * mean(g x)). RMSNorm omits
// mean(g).
template <class T>
static int32_t add_norm_bwd(xf_stream *stream, const xf_add_norm_bwd *args, xf_error *err) {
    const xf_add_norm_bwd a = *args;
    if (a.M <= 0) return XF_OK;
    const Dropout drops = make_dropout(a.dropout);
    const int64_t tiles = ceil_div(a.M, kRowTile), wide = round_up(a.D, kW);
    if (const int32_t rc = reserve(stream, &stream->shared, static_cast<uint64_t>(tiles * 2 * wide * 4), err))
        return rc;
    if (const int32_t rc = reserve_work<T>(stream, a.D, err)) return rc;
    float *partial = shared(stream);
    const float count = static_cast<float>(a.D);
    parallel(stream, tiles, [&](int64_t task, int32_t worker) {
        float *dw = partial + task * 2 * wide, *db = dw + wide;
        each_vector(2 * wide, [&](int64_t i, int64_t n) { put(dw + i, VF{}, n); });
        for (int64_t m = task * kRowTile; m < min64(a.M, (task + 1) * kRowTile); ++m) {
            const T *dy = num<T>(a.diff_dst) + m * a.D, *sum = num<T>(a.sum) + m * a.D;
            const float mean = a.stats[2 * m], rstd = a.stats[2 * m + 1];
            Lanes total{}, product{};
            each_part(a.D, [&](int64_t i, int64_t n, int part) {
                const VF d = get(dy + i, n), x = keep_n((get(sum + i, n) - mean) * rstd, n);
                const VF g = d * get(a.weights + i, n);
                total.part[part] += g;
                product.part[part] = fma(g, x, product.part[part]);
                put(dw + i, fma(d, x, get(dw + i, n)), n);
                put(db + i, get(db + i, n) + d, n);
            });
            const float c1 = a.rms ? 0.0f : hsum(total) / count, c2 = hsum(product) / count;
            T *const to = num<T>(a.diff_residual) + m * a.D;
            float *out = work_row(to, work<T>(stream, a.D, worker));
            const T *other = a.diff_sum ? num<T>(a.diff_sum) + m * a.D : nullptr;
            each_vector(a.D, [&](int64_t i, int64_t n) {
                const VF x = (get(sum + i, n) - mean) * rstd;
                const VF g = get(dy + i, n) * get(a.weights + i, n);
                VF d = (g - c1 - x * c2) * rstd;
                if (other) d += get(other + i, n);
                put(out + i, d, n);
            });
            write_row(to, out, a.D);
            if (!a.diff_src) continue;
            T *const masked = num<T>(a.diff_src) + m * a.D;
            float *row = work_row(masked, out);
            if (row != out) copy_row(row, out, a.D);
            if (drops.threshold) drop(drops, static_cast<uint64_t>(m * a.D), a.D, row);
            write_row(masked, row, a.D);
        }
    });
    each_column_group(stream, a.D, 2 * tiles, [&](int64_t i, int64_t n) {
        VF dw{}, db{};
        for (int64_t t = 0; t < tiles; ++t) {
            dw += load(partial + t * 2 * wide + i);
            db += load(partial + t * 2 * wide + wide + i);
        }
        put(a.diff_weights + i, get(a.diff_weights + i, n) + dw, n);
        if (a.diff_bias) put(a.diff_bias + i, get(a.diff_bias + i, n) + db, n);
    });
    if (a.diff_src_bias) add_column_sums(stream, num<T>(a.diff_src), a.D, a.M, a.D, partial, a.diff_src_bias);
    return XF_OK;
}
