// The training products through OpenBLAS: single-threaded calls on tiles of C whose bounds depend only on the shape.
//
// OpenBLAS's own threading would change bits with the number of threads, and its small-matrix kernels change bits with
// M. With tiles fixed by the shape the result is a function of the arguments again. Bias, ReLU, and mask are applied to
// each tile while it is in the cache.
//
// SPDX-License-Identifier: Apache-2.0

constexpr int64_t kBlasRows = 256;
constexpr int64_t kBlasCols = 1024;

static void blas_tile(const Gemm &g, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
    const bool ta = g.a_row == 1 && g.a_col != 1, tb = g.b_col != 1;
    const int64_t lda = max64(ta ? g.a_col : g.a_row, ta ? m1 - m0 : g.K);
    const int64_t ldb = max64(tb ? g.b_col : g.b_row, tb ? g.K : n1 - n0);
    float *c = g.c + m0 * g.ldc + n0;
    blas_gemm(ta, tb, m1 - m0, n1 - n0, g.K, g.a + m0 * g.a_row, lda, g.b + n0 * g.b_col, ldb,
              g.accumulate ? 1.0f : 0.0f, c, max64(g.ldc, n1 - n0));
    if (!g.bias && !g.relu && !g.mask) return;
    for (int64_t m = 0; m < m1 - m0; ++m)
        each_vector(n1 - n0, [&](int64_t i, int64_t n) {
            VF y = get(c + m * g.ldc + i, n);
            if (g.bias) y += get(g.bias + n0 + i, n);
            if (g.relu) y = vrelu(y);
            if (g.mask) y = get(g.mask + (m0 + m) * g.ld_mask + n0 + i, n) <= VF{} ? VF{} : y;
            put(c + m * g.ldc + i, y, n);
        });
}

static void gemm_by_blas(const xf_stream *stream, const Gemm &g) {
    const int64_t tiles = max64(min64(4, ceil_div(g.M, 64)), ceil_div(g.M, kBlasRows)), cols = ceil_div(g.N, kBlasCols);
    parallel(stream, tiles * cols, [&](int64_t task, int32_t) {
        const int64_t r = task / cols, s = task % cols;
        blas_tile(g, g.M * r / tiles, g.M * (r + 1) / tiles, g.N * s / cols, g.N * (s + 1) / cols);
    });
}
