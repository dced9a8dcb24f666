// The activation of a feed-forward sub-layer, plain or gated, with dropout (paper s. 3.3, eq. 2; s. 5.4).
//
//     dst = dropout(act(x) y)      y = 1, or the other half of the row if gated
//     diff_x = d act'(x) y         diff_y = d act(x)         d = mask * diff_dst
//
// GELU computes Phi(x) as 1 - Q or Q, where Q(t) = e^(-t^2 / 2) R(t) for t = |x| and R is a polynomial in w = 1 / (t +
// 2.5). The rounding error of t^2 is corrected, so the tail is accurate in its last digits, too. Where the other factor
// vanishes, x is limited to +-20 (GELU) or +-100 (swish), beyond which the result is 0 or x; so minus infinity gives 0.
// NaN stays NaN, because every comparison with it is false.
//
// diff_bias: sums over tiles of kRowTile rows; the tiles are added in increasing order.
//
// SPDX-License-Identifier: Apache-2.0

XF_INLINE VF magnitude(VF x) { return reinterpret_cast<VF>(reinterpret_cast<VU>(x) & 0x7FFFFFFFu); }
XF_INLINE VF at_most(VF x, float most) { return x > splat(most) ? splat(most) : x; }
XF_INLINE VF at_least(VF x, float least) { return x < splat(least) ? splat(least) : x; }

// Q(t), the upper tail of the normal distribution, and e^(-t^2 / 2), for 0 <= t <= 20.
struct Normal {
    VF tail, bell;
};
XF_INLINE Normal normal_of(VF t) {
    const VF square = t * t, e = vexp(square * -0.5f);
    const VF bell = fma(e, fma(t, t, -square) * -0.5f, e);
    const VF w = 1.0f / (t + 2.5f);
    VF p = splat(304.266876f);
    p = fma(p, w, splat(-668.081909f));
    p = fma(p, w, splat(577.331055f));
    p = fma(p, w, splat(-225.085709f));
    p = fma(p, w, splat(28.1098347f));
    p = fma(p, w, splat(-2.39490342f));
    p = fma(p, w, splat(3.53694582f));
    p = fma(p, w, splat(2.08288455f));
    p = fma(p, w, splat(0.997552574f));
    p = fma(p, w, splat(0.398942053f));
    return {bell * (p * w), bell};
}

// act(x) and act'(x).
struct Activated {
    VF value, slope;
};

struct Relu {
    XF_INLINE VF value(VF x) { return vrelu(x); }
    XF_INLINE Activated both(VF x) { return {vrelu(x), x <= VF{} ? VF{} : splat(1.0f)}; }
};

struct Gelu {
    XF_INLINE Activated both(VF x) {
        const VF t = at_most(magnitude(x), 20.0f);
        const Normal normal = normal_of(t);
        const VF phi = x < VF{} ? normal.tail : 1.0f - normal.tail, clamped = x < VF{} ? -t : t;
        return {at_least(x, -20.0f) * phi, fma(clamped * normal.bell, splat(0.398942280f), phi)};
    }
    XF_INLINE VF value(VF x) { return both(x).value; }
};

struct Swish {
    XF_INLINE Activated both(VF x) {
        const VF t = at_most(magnitude(x), 100.0f);
        const VF e = vexp(-t), large = 1.0f / (1.0f + e), small = e * large;
        const VF s = x < VF{} ? small : large, other = x < VF{} ? large : small, clamped = x < VF{} ? -t : t;
        return {at_least(x, -100.0f) * s, fma(s * clamped, other, s)};
    }
    XF_INLINE VF value(VF x) { return both(x).value; }
};

template <class Act, class T>
static int32_t activate(xf_stream *stream, const xf_activation_fwd &a, xf_error *err) {
    if (const int32_t rc = reserve_work<T>(stream, a.F, err)) return rc;
    const Dropout drops = make_dropout(a.dropout);
    const int64_t width = a.gated ? 2 * a.F : a.F, tile = rows_per_task(a.F);
    parallel(stream, ceil_div(a.M, tile), [&](int64_t task, int32_t worker) {
        for (int64_t m = task * tile; m < min64(a.M, (task + 1) * tile); ++m) {
            const T *src = num<T>(a.src) + m * width, *gate = src + a.F;
            T *const to = num<T>(a.dst) + m * a.F;
            float *dst = work_row(to, work<T>(stream, a.F, worker));
            if (a.gated)
                each_vector(a.F, [&](int64_t i, int64_t n) {
                    put(dst + i, Act::value(get(src + i, n)) * get(gate + i, n), n);
                });
            else
                each_vector(a.F, [&](int64_t i, int64_t n) { put(dst + i, Act::value(get(src + i, n)), n); });
            if (drops.threshold) drop(drops, static_cast<uint64_t>(m * a.F), a.F, dst);
            write_row(to, dst, a.F);
        }
    });
    return XF_OK;
}

// The gradient of one row. The stored values are also added to `sums` unless it is NULL. D: the element type of
// diff_dst after masking.
template <class Act, class T, class D>
static void activate_back(const xf_activation_bwd &a, const T *src, const D *diff, T *diff_src, float *sums) {
    const auto keep = [&](int64_t at, VF x, int64_t n) {
        put(diff_src + at, x, n);
        if (sums) put(sums + at, get(sums + at, n) + rounded<T>(x), n);
    };
    if (a.gated)
        each_vector(a.F, [&](int64_t i, int64_t n) {
            const Activated y = Act::both(get(src + i, n));
            const VF d = get(diff + i, n);
            keep(i, d * y.slope * get(src + a.F + i, n), n);
            keep(a.F + i, d * y.value, n);
        });
    else
        each_vector(a.F,
                    [&](int64_t i, int64_t n) { keep(i, get(diff + i, n) * Act::both(get(src + i, n)).slope, n); });
}

template <class Act, class T>
static int32_t activate_bwd(xf_stream *stream, const xf_activation_bwd &a, xf_error *err) {
    if (a.M <= 0) return XF_OK;
    const Dropout drops = make_dropout(a.dropout);
    const int64_t width = a.gated ? 2 * a.F : a.F, wide = round_up(width, kW), tiles = ceil_div(a.M, kRowTile);
    if (a.diff_bias)
        if (const int32_t rc = reserve(stream, &stream->shared, static_cast<uint64_t>(tiles * wide * 4), err))
            return rc;
    const int64_t bytes = round_up(a.F, kW) * 4;
    if (const int32_t rc = reserve_local(stream, bytes, err)) return rc;
    float *partial = shared(stream);
    parallel(stream, tiles, [&](int64_t task, int32_t worker) {
        float *sums = a.diff_bias ? partial + task * wide : nullptr, *room = local(stream, bytes, worker);
        if (sums) each_vector(width, [&](int64_t i, int64_t n) { put(sums + i, VF{}, n); });
        for (int64_t m = task * kRowTile; m < min64(a.M, (task + 1) * kRowTile); ++m) {
            const T *src = num<T>(a.src) + m * width, *diff = num<T>(a.diff_dst) + m * a.F;
            T *diff_src = num<T>(a.diff_src) + m * width;
            if (drops.threshold) {
                const float *row = read_row(diff, a.F, room);
                if (row != room) copy_row(room, row, a.F);
                drop(drops, static_cast<uint64_t>(m * a.F), a.F, room);
                activate_back<Act, T, float>(a, src, room, diff_src, sums);
            } else {
                activate_back<Act, T, T>(a, src, diff, diff_src, sums);
            }
        }
    });
    if (a.diff_bias)
        each_column_group(stream, width, tiles, [&](int64_t i, int64_t n) {
            VF sum{};
            for (int64_t t = 0; t < tiles; ++t) sum += get(partial + t * wide + i, n);
            put(a.diff_bias + i, get(a.diff_bias + i, n) + sum, n);
        });
    return XF_OK;
}

// Calls f(Act()) with the activation of the call.
template <class F>
XF_INLINE int32_t with_kind(uint32_t kind, F &&f) {
    switch (kind) {
        case XF_ACTIVATION_GELU:
            return f(Gelu());
        case XF_ACTIVATION_SWISH:
            return f(Swish());
        default:
            return f(Relu());
    }
}

template <class T>
static int32_t activation_fwd(xf_stream *stream, const xf_activation_fwd *a, xf_error *err) {
    return with_kind(a->kind, [&](auto act) { return activate<decltype(act), T>(stream, *a, err); });
}

template <class T>
static int32_t activation_bwd(xf_stream *stream, const xf_activation_bwd *a, xf_error *err) {
    return with_kind(a->kind, [&](auto act) { return activate_bwd<decltype(act), T>(stream, *a, err); });
}
