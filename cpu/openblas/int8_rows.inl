// Quantizes the rows of a source for products with XF_WEIGHTS_INT8. plugin_abi.h defines the quantization; int8.inl
// uses the result.
//
// SPDX-License-Identifier: Apache-2.0

// Quantized rows of a source.
struct Int8Rows {
    const int8_t *numbers;  // [rows, ld], zeros from K on; if split, |p| followed by a mask that is -1 where p < 0
    int64_t ld;
    const float *scales;     // [rows]
    const int32_t *offsets;  // [rows], to be subtracted from the sums of the kernels
};

XF_INLINE int64_t int8_ld(int64_t K) { return round_up(K, 64); }
// Returns whether the kernels take magnitudes and signs separately.
XF_INLINE bool splits_rows(const xf_stream *stream) { return kW > 4 && !stream->device->vnni; }
XF_INLINE int64_t int8_rows_bytes(const xf_stream *stream, int64_t M, int64_t K) {
    return M * ((splits_rows(stream) ? 2 : 1) * int8_ld(K) + 8);
}

typedef int8_t VB __attribute__((vector_size(kW)));
typedef int8_t VBMem __attribute__((vector_size(kW), aligned(1), may_alias));

// Stores four vectors of integers that fit in 8 bits as bytes.
XF_INLINE void store_bytes(int8_t *dst, const VI *x) {
#if defined(XF_ISA_AVX2)
    __m256i v[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) v[i] = reinterpret_cast<__m256i>(x[i]);
    const __m256i all = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // packs works within 128-bit halves
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(dst), _mm256_permutevar8x32_epi32(all, order));
#elif defined(XF_ISA_NEON)
    const int16x8_t low = vcombine_s16(vmovn_s32(x[0]), vmovn_s32(x[1]));
    const int16x8_t high = vcombine_s16(vmovn_s32(x[2]), vmovn_s32(x[3]));
    vst1q_s8(dst, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
#else
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) *reinterpret_cast<VBMem *>(dst + i * kW) = __builtin_convertvector(x[i], VB);
#endif
}

static void quantize_row(const float *src, int64_t K, bool split, int8_t *numbers, float *scale, int32_t *offset) {
    const int64_t ld = int8_ld(K);
    VU most{};
    each_vector(K, [&](int64_t i, int64_t n) {
        const VU size = reinterpret_cast<VU>(get(src + i, n)) & 0x7FFFFFFFu;
        most = size > most ? size : most;
    });
    uint32_t bits = 0;
    for (int i = 0; i < kW; ++i) bits = most[i] > bits ? most[i] : bits;
    if (bits >= 0x7F800000u) {  // a NaN or an infinity
        __builtin_memset(numbers, 0, static_cast<size_t>(split ? 2 * ld : ld));
        *scale = __builtin_nanf("");
        *offset = 0;
        return;
    }
    float a;
    __builtin_memcpy(&a, &bits, sizeof a);
    const bool zero = a < 0x1p-100f;
    *scale = zero ? 0.0f : a / 127.0f;
    const VF factor = splat(zero ? 0.0f : 127.0f / a), magic = splat(12582912.0f);
    VU total{};
    for (int64_t i = 0; i < ld; i += 4 * kW) {
        VI q[4], below[4];
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
            const int64_t at = i + j * kW;
            const VF x = at + kW <= K ? load(src + at) : at < K ? load_n(src + at, K - at) : VF{};
            // Rounds to nearest, ties to even.
            q[j] = reinterpret_cast<VI>(reinterpret_cast<VU>(x * factor + magic) - reinterpret_cast<VU>(magic));
            below[j] = q[j] < 0;
            total += reinterpret_cast<VU>(split ? q[j] & below[j] : q[j]);
            if (split) q[j] = (q[j] ^ below[j]) - below[j];
        }
        store_bytes(numbers + i, q);
        if (split) store_bytes(numbers + ld + i, below);
    }
    uint32_t all = 0;
    for (int i = 0; i < kW; ++i) all += total[i];
    *offset = static_cast<int32_t>(split ? all : 128 * all);
}

// Quantizes rows 0 .. M - 1 of a source into `memory`, of int8_rows_bytes().
static Int8Rows quantize_rows(const xf_stream *stream, const float *src, int64_t ld_src, int64_t K, int64_t M,
                              void *memory) {
    const bool split = splits_rows(stream);
    const int64_t ld = (split ? 2 : 1) * int8_ld(K);
    int8_t *numbers = static_cast<int8_t *>(memory);
    float *scales = reinterpret_cast<float *>(numbers + M * ld);
    int32_t *offsets = reinterpret_cast<int32_t *>(scales + M);
    const int64_t tile = max64(1, 16384 / max64(1, K));
    parallel(stream, ceil_div(M, tile), [&](int64_t task, int32_t) {
        for (int64_t m = task * tile; m < min64(M, (task + 1) * tile); ++m)
            quantize_row(src + m * ld_src, K, split, numbers + m * ld, scales + m, offsets + m);
    });
    return {numbers, ld, scales, offsets};
}
