// The linear map and its two gradients (paper s. 3.2.2 and 3.3), computed by the products of gemm.inl.
//
// SPDX-License-Identifier: Apache-2.0

// Plans a product and reserves its memory; the first `front` bytes of the shared memory belong to the caller.
template <class T, class C>
static int32_t reserve_gemm(xf_stream *stream, const Product<T, C> &g, int64_t front, GemmPlan *plan, xf_error *err) {
    *plan = gemm_plan<T, C>(stream, g.M, g.N, g.K);
    const int32_t rc = reserve(stream, &stream->shared, static_cast<uint64_t>(front + plan->shared), err);
    return rc ? rc : reserve_local(stream, plan->local, err);
}

template <class T>
static int32_t linear_fwd(xf_stream *stream, const xf_linear_fwd *a, xf_error *err) {
    if (a->M <= 0 || a->N <= 0) return XF_OK;
    if (a->flags & XF_LINEAR_ROW_INVARIANT) {
        return dot_linear<T>(stream, *a, err);
    }
    Product<T> g{};
    g.M = a->M, g.N = a->N, g.K = a->K;
    g.a = num<T>(a->src), g.a_row = a->ld_src, g.a_col = 1;
    g.b = num<T>(a->weights), g.b_row = 1, g.b_col = a->K;
    g.c = num<T>(a->dst), g.ldc = a->ld_dst;
    g.bias = num<T>(a->bias);
    g.relu = a->flags & XF_LINEAR_RELU;
    GemmPlan plan;
    if (const int32_t rc = reserve_gemm(stream, g, 0, &plan, err)) return rc;
    gemm(stream, g, plan, shared(stream));
    return XF_OK;
}

constexpr int64_t kBiasRows = 256;  // rows per partial sum of a bias gradient
static_assert(kBiasRows >= kRowTile, "add_norm_bwd() has memory for tiles of kRowTile");

// dst[n] += the sum over the rows of column n: first within tiles of kBiasRows rows, then over the tiles in increasing
// order.
template <class T>
static void add_column_sums(const xf_stream *stream, const T *src, int64_t ld, int64_t M, int64_t N, float *partial,
                            float *dst) {
    const int64_t tiles = ceil_div(M, kBiasRows);
    parallel(stream, tiles, [&](int64_t tile, int32_t) {
        const int64_t end = min64(M, (tile + 1) * kBiasRows);
        float *out = partial + tile * N;
        const int64_t begin = tile * kBiasRows;
        each_vector(N, [&](int64_t i, int64_t n) { put(out + i, get(src + begin * ld + i, n), n); });
        for (int64_t m = begin + 1; m < end; ++m)
            each_vector(N, [&](int64_t i, int64_t n) { put(out + i, get(out + i, n) + get(src + m * ld + i, n), n); });
    });
    each_column_group(stream, N, tiles, [&](int64_t n, int64_t count) {
        VF sum{};
        for (int64_t tile = 0; tile < tiles; ++tile) sum += get(partial + tile * N + n, count);
        put(dst + n, get(dst + n, count) + sum, count);
    });
}

template <class T>
static int32_t linear_bwd_data(xf_stream *stream, const xf_linear_bwd_data *a, xf_error *err) {
    if (a->M <= 0 || a->K <= 0) return XF_OK;
    const int64_t sums = a->diff_relu_bias ? padded(ceil_div(a->M, kBiasRows) * a->K * 4) : 0;
    Product<T> g{};
    g.M = a->M, g.N = a->K, g.K = a->N;
    g.a = num<T>(a->diff_dst), g.a_row = a->ld_diff_dst, g.a_col = 1;
    g.b = num<T>(a->weights), g.b_row = a->K, g.b_col = 1;
    g.c = num<T>(a->diff_src), g.ldc = a->ld_diff_src;
    g.accumulate = a->accumulate;
    g.mask = num<T>(a->relu_dst), g.ld_mask = a->K;
    GemmPlan plan;
    if (const int32_t rc = reserve_gemm(stream, g, sums, &plan, err)) return rc;
    float *partial = shared(stream);
    gemm(stream, g, plan, partial + sums / 4);
    if (a->diff_relu_bias)
        add_column_sums(stream, num<T>(a->diff_src), a->ld_diff_src, a->M, a->K, partial, a->diff_relu_bias);
    return XF_OK;
}

template <class T>
static int32_t linear_bwd_weights(xf_stream *stream, const xf_linear_bwd_weights *a, xf_error *err) {
    if (a->M <= 0 || a->N <= 0) return XF_OK;
    const int64_t sums = a->diff_bias ? padded(ceil_div(a->M, kBiasRows) * a->N * 4) : 0;
    Product<T, float> g{};
    g.M = a->N, g.N = a->K, g.K = a->M;
    g.a = num<T>(a->diff_dst), g.a_row = 1, g.a_col = a->ld_diff_dst;
    g.b = num<T>(a->src), g.b_row = a->ld_src, g.b_col = 1;
    g.c = a->diff_weights, g.ldc = a->K;
    g.accumulate = true;
    GemmPlan plan;
    if (const int32_t rc = reserve_gemm(stream, g, sums, &plan, err)) return rc;
    float *partial = shared(stream);
    if (a->diff_bias) add_column_sums(stream, num<T>(a->diff_dst), a->ld_diff_dst, a->M, a->N, partial, a->diff_bias);
    if (a->K > 0) gemm(stream, g, plan, partial + sums / 4);
    return XF_OK;
}
