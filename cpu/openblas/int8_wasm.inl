// Kernels for SIMD128 of the products in int8.inl.
//
// i32x4.dot_i16x8_s multiplies numbers of 16 bits and adds pairs. A vector of weights has 4 columns x 4 steps of K and
// is extended to two vectors of 2 columns, so each column has two sums, which are added at the end.
//
// SPDX-License-Identifier: Apache-2.0

template <int R, int P>
static void int8_simd128(const int8_t *rows, int64_t ld, const int8_t *weights, int64_t steps, int32_t *sums) {
    constexpr int kAtOnce = R == 1 ? 4 : R == 4 ? 1 : 2;  // vectors of 4 columns: engines have 16 registers
    for (int64_t first = 0; first < 4 * P; first += kAtOnce) {
        v128_t low[R][kAtOnce], high[R][kAtOnce];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
            for (int c = 0; c < kAtOnce; ++c) low[r][c] = high[r][c] = wasm_i32x4_const_splat(0);
        }
        const int8_t *w = weights + first * 16;
        for (int64_t k = 0; k < steps; ++k, w += P * 64) {
            v128_t row[R];
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r)
                row[r] = wasm_i16x8_extend_low_i8x16(wasm_v128_load32_splat(rows + r * ld + 4 * k));
#pragma GCC unroll 4
            for (int c = 0; c < kAtOnce; ++c) {
                const v128_t q = wasm_v128_load(w + c * 16);
                const v128_t q_low = wasm_i16x8_extend_low_i8x16(q), q_high = wasm_i16x8_extend_high_i8x16(q);
#pragma GCC unroll 4
                for (int r = 0; r < R; ++r) {
                    low[r][c] = wasm_i32x4_add(low[r][c], wasm_i32x4_dot_i16x8(q_low, row[r]));
                    high[r][c] = wasm_i32x4_add(high[r][c], wasm_i32x4_dot_i16x8(q_high, row[r]));
                }
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
            for (int c = 0; c < kAtOnce; ++c)
                wasm_v128_store(sums + r * kGroup + (first + c) * 4,
                                wasm_i32x4_add(wasm_i32x4_shuffle(low[r][c], high[r][c], 0, 2, 4, 6),
                                               wasm_i32x4_shuffle(low[r][c], high[r][c], 1, 3, 5, 7)));
        }
    }
}
