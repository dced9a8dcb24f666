// dot_tile() for NEON: a vector has 4 of the 16 lanes, and the 32 registers hold 16 to 24 sums per pass.
//
// SPDX-License-Identifier: Apache-2.0

template <int R, int C, class W>
static void dot_tile(const float *src, int64_t ld_src, const W *weights, int64_t ld_weights, int64_t len, int64_t cols,
                     const DotOut &out) {
    constexpr int kAtOnce = R * C <= 4 ? 4 : R * C <= 12 ? 2 : 1;  // vectors of lanes per pass
    const int64_t whole = len / kLanes * kLanes;
    const W *w[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) w[c] = weights + min64(c, cols - 1) * ld_weights;
    Lanes sums[R][C];
#pragma GCC unroll 4
    for (int part = 0; part < kParts; part += kAtOnce) {
        VF acc[kAtOnce][R][C];
#pragma GCC unroll 4
        for (int i = 0; i < kAtOnce; ++i) {
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
                for (int c = 0; c < C; ++c) acc[i][r][c] = VF{};
            }
        }
        for (int64_t k = part * kW; k < whole; k += kLanes) {
#pragma GCC unroll 4
            for (int i = 0; i < kAtOnce; ++i) {
                VF y[R];
#pragma GCC unroll 4
                for (int r = 0; r < R; ++r) y[r] = load(src + r * ld_src + k + i * kW);
#pragma GCC unroll 4
                for (int c = 0; c < C; ++c) {
                    const VF x = load(w[c] + k + i * kW);
                    if (part + i == 0) __builtin_prefetch(w[c] + k + kTilesAhead<W> * C * ld_weights, 0, 2);
#pragma GCC unroll 4
                    for (int r = 0; r < R; ++r) acc[i][r][c] = fma(y[r], x, acc[i][r][c]);
                }
            }
        }
        // Missing elements are multiplied as zeros, as with the other instruction sets: a sum of -0 becomes +0.
#pragma GCC unroll 4
        for (int i = 0; i < kAtOnce && whole < len; ++i) {
            const int64_t k = whole + (part + i) * kW, left = len - k;
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                const VF y = load_n(src + r * ld_src + k, left);
#pragma GCC unroll 4
                for (int c = 0; c < C; ++c) acc[i][r][c] = fma(y, load_n(w[c] + k, left), acc[i][r][c]);
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < kAtOnce; ++i) {
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
                for (int c = 0; c < C; ++c) sums[r][c].part[part + i] = acc[i][r][c];
            }
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) finish_dots(hsum4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]), cols, out.at(r, 0));
}
