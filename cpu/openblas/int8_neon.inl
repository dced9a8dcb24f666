// Kernels for NEON of the products in int8.inl. All read the same packed weights: a vector has 4 columns x 4 steps of
// K. isa_neon.cpp, int8_dot.cpp, and int8_i8mm.cpp compile this file for their instructions.
//     neon:       two products are added in 16 bits, which hold them because |p| <= 127 and |q| <= 128.
//     neon-dot:   SDOT adds four signed products.
//     neon-i8mm:  SMMLA multiplies 2 rows x 8 steps by 8 steps x 2 columns. Two vectors of weights are interleaved for
//                 it when they are read, which is worthwhile from three rows on.
//
// SPDX-License-Identifier: Apache-2.0

struct NeonDot {
    XF_INLINE VI add(VI sum, int8x16_t weights, int8x16_t row) {
        const int16x8_t low = vmull_s8(vget_low_s8(weights), vget_low_s8(row)), high = vmull_high_s8(weights, row);
        return vpadalq_s16(sum, vpaddq_s16(low, high));
    }
};

#if defined(__ARM_FEATURE_DOTPROD)
struct SdotDot {
    XF_INLINE VI add(VI sum, int8x16_t weights, int8x16_t row) { return vdotq_s32(sum, weights, row); }
};
#endif

// R rows x C registers of 16 columns. The registers of a step are `stride` bytes after those of the step before.
template <class Dot, int R, int C>
static void int8_pass(const int8_t *rows, int64_t ld, const int8_t *weights, int64_t stride, int64_t steps,
                      int32_t *sums) {
    VI sum[R][4 * C];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
        for (int c = 0; c < 4 * C; ++c) sum[r][c] = VI{};
    }
    for (int64_t k = 0; k < steps; ++k, weights += stride) {
        int8x16_t row[R];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
            int32_t four;
            __builtin_memcpy(&four, rows + r * ld + 4 * k, 4);
            row[r] = vreinterpretq_s8_s32(vdupq_n_s32(four));
        }
#pragma GCC unroll 16
        for (int c = 0; c < 4 * C; ++c) {
            const int8x16_t w = vld1q_s8(weights + c * 16);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) sum[r][c] = Dot::add(sum[r][c], w, row[r]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
        for (int c = 0; c < 4 * C; ++c) *reinterpret_cast<VIMem *>(sums + r * kGroup + c * 4) = sum[r][c];
    }
}

// At most 16 sums per pass.
template <class Dot, int R, int P>
static void int8_dots(const int8_t *rows, int64_t ld, const int8_t *weights, int64_t steps, int32_t *sums) {
    constexpr int kAtOnce = R > 2 ? 1 : 4 / R, kRest = P % kAtOnce;
    for (int64_t first = 0; first < P - kRest; first += kAtOnce)
        int8_pass<Dot, R, kAtOnce>(rows, ld, weights + first * 64, P * 64, steps, sums + first * kRegisterColumns);
    if constexpr (kRest > 0)
        int8_pass<Dot, R, kRest>(rows, ld, weights + (P - kRest) * 64, P * 64, steps,
                                 sums + (P - kRest) * kRegisterColumns);
}
template <int R, int P>
static void int8_neon(const int8_t *rows, int64_t ld, const int8_t *weights, int64_t steps, int32_t *sums) {
    int8_dots<NeonDot, R, P>(rows, ld, weights, steps, sums);
}

#if defined(__ARM_FEATURE_DOTPROD)
template <int R, int P>
static void int8_sdot(const int8_t *rows, int64_t ld, const int8_t *weights, int64_t steps, int32_t *sums) {
    int8_dots<SdotDot, R, P>(rows, ld, weights, steps, sums);
}
#endif

#if defined(__ARM_FEATURE_MATMUL_INT8)
// One register of 16 columns at a time, two steps of 4 elements at a time. An odd row is paired with itself. Rows have
// zeros after the last step.
template <int R, int P>
static void int8_smmla(const int8_t *rows, int64_t ld, const int8_t *weights, int64_t steps, int32_t *sums) {
    constexpr int kPairs = (R + 1) / 2;
    for (int64_t first = 0; first < P; ++first) {
        const int8_t *w = weights + first * 64;
        VI sum[kPairs][8];
#pragma GCC unroll 3
        for (int i = 0; i < kPairs; ++i) {
#pragma GCC unroll 8
            for (int c = 0; c < 8; ++c) sum[i][c] = VI{};
        }
        for (int64_t k = 0; k < steps; k += 2, w += 2 * P * 64) {
            int8x16_t pair[kPairs];
#pragma GCC unroll 3
            for (int i = 0; i < kPairs; ++i) {
                const int8_t *p = rows + 2 * i * ld + 4 * k;
                pair[i] = vcombine_s8(vld1_s8(p), vld1_s8(2 * i + 1 < R ? p + ld : p));
            }
            const bool two = k + 1 < steps;
#pragma GCC unroll 4
            for (int c = 0; c < 4; ++c) {
                const VI even = *reinterpret_cast<const VIMem *>(w + c * 16);
                const VI odd = two ? *reinterpret_cast<const VIMem *>(w + P * 64 + c * 16) : VI{};
                const int8x16_t low = vreinterpretq_s8_s32(vzip1q_s32(even, odd));
                const int8x16_t high = vreinterpretq_s8_s32(vzip2q_s32(even, odd));
#pragma GCC unroll 3
                for (int i = 0; i < kPairs; ++i) {
                    sum[i][2 * c] = vmmlaq_s32(sum[i][2 * c], pair[i], low);
                    sum[i][2 * c + 1] = vmmlaq_s32(sum[i][2 * c + 1], pair[i], high);
                }
            }
        }
#pragma GCC unroll 3
        for (int i = 0; i < kPairs; ++i) {
#pragma GCC unroll 4
            for (int c = 0; c < 4; ++c) {
                int32_t *to = sums + 2 * i * kGroup + first * kRegisterColumns + c * 4;
                const VI low = sum[i][2 * c], high = sum[i][2 * c + 1];
                *reinterpret_cast<VIMem *>(to) = __builtin_shufflevector(low, high, 0, 1, 4, 5);
                if (2 * i + 1 < R)
                    *reinterpret_cast<VIMem *>(to + kGroup) = __builtin_shufflevector(low, high, 2, 3, 6, 7);
            }
        }
    }
}
#endif
