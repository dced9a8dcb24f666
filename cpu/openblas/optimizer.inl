// Adam in one pass over the parameters (paper s. 5.3; Kingma & Ba 2015, the efficient form at the end of s. 2), the sum
// of squares for gradient clipping, and the conversion to bf16. All are limited by memory bandwidth, so each reads its
// data once, in tiles of fixed size. This file is a part of kernels.inl.
//
// SPDX-License-Identifier: Apache-2.0

constexpr int64_t kAdamTile = 65536;
constexpr int kSquares = 32;  // partial sums of a tile

// The same for every stream: all operands are fp32, so the element type of the stream is unused.
template <class>
static int32_t adam(xf_stream *stream, const xf_adam *args, xf_error *) {
    const xf_adam a = *args;
    parallel(stream, ceil_div(a.n, kAdamTile), [&](int64_t task, int32_t) {
        const int64_t begin = task * kAdamTile, size = min64(kAdamTile, a.n - begin);
        float *params = a.params + begin, *grads = a.grads + begin, *m = a.m + begin, *v = a.v + begin;
        float *ema = a.ema ? a.ema + begin : nullptr;
        Bf16 *copy = a.params_bf16 ? num<Bf16>(a.params_bf16) + begin : nullptr;
        const float rest1 = 1.0f - a.beta1, rest2 = 1.0f - a.beta2;
        each_vector(size, [&](int64_t i, int64_t n) {
            const VF g = get(grads + i, n) * a.grad_scale;
            const VF m1 = fma(get(m + i, n), splat(a.beta1), g * rest1);
            const VF v1 = fma(get(v + i, n), splat(a.beta2), g * g * rest2);
            put(m + i, m1, n);
            put(v + i, v1, n);
            VF param = get(params + i, n);
            if (a.decay != 0.0f) param = fma(param, splat(-a.decay), param);
            param = param - m1 / (vsqrt(v1) + a.eps_hat) * a.alpha;
            put(params + i, param, n);
            if (copy) put(copy + i, param, n);
            put(grads + i, VF{}, n);
            if (ema) {
                const VF average = get(ema + i, n);
                put(ema + i, fma(param - average, splat(a.ema_rate), average), n);
            }
        });
    });
    return XF_OK;
}

template <class>
static int32_t sum_squares(xf_stream *stream, const xf_sum_squares *args, xf_error *err) {
    const xf_sum_squares a = *args;
    *a.dst = 0.0;
    if (a.n <= 0) return XF_OK;
    const int64_t tiles = ceil_div(a.n, kAdamTile);
    if (const int32_t rc = reserve(stream, &stream->shared, static_cast<uint64_t>(tiles) * 8, err)) return rc;
    double *partial = static_cast<double *>(stream->shared.ptr);
    parallel(stream, tiles, [&](int64_t task, int32_t) {
        const float *src = a.src + task * kAdamTile;
        const int64_t size = min64(kAdamTile, a.n - task * kAdamTile);
        VD sums[kSquares / kW] = {};
        int64_t i = 0;
        for (; i + kSquares <= size; i += kSquares) {
#pragma GCC unroll 8
            for (int v = 0; v < kSquares / kW; ++v) {
                const VD x = __builtin_convertvector(load(src + i + v * kW), VD);
                sums[v] += x * x;
            }
        }
        for (int v = 0; i < size; i += kW, ++v) {
            const VD x = __builtin_convertvector(load_n(src + i, size - i), VD);
            sums[v] += x * x;
        }
        double sum = 0.0;
        for (int lane = 0; lane < kSquares; ++lane) sum += sums[lane / kW][lane % kW];
        partial[task] = sum;
    });
    double sum = 0.0;
    for (int64_t t = 0; t < tiles; ++t) sum += partial[t];
    *a.dst = sum;
    return XF_OK;
}

static int32_t to_bf16(xf_stream *stream, const xf_to_bf16 *args, xf_error *) {
    const xf_to_bf16 a = *args;
    parallel(stream, ceil_div(a.n, kAdamTile), [&](int64_t task, int32_t) {
        const int64_t begin = task * kAdamTile;
        write_row(num<Bf16>(a.dst) + begin, a.src + begin, min64(kAdamTile, a.n - begin));
    });
    return XF_OK;
}
