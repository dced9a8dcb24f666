// Quantizes the rows of a source for products with XF_WEIGHTS_INT8. plugin_abi.h defines the quantization; int8.inl
// uses the result.
//
// SPDX-License-Identifier: Apache-2.0

#if defined(XF_ISA_AVX2) || defined(XF_ISA_AVX512)
constexpr uint8_t kSignBit = 0x80;  // flipped in packed weights, which makes them unsigned: q + 128
#else
constexpr uint8_t kSignBit = 0;
#endif
// Returns whether the kernels add two products in 16 bits, which the rows must then allow; see int8.inl.
XF_INLINE bool adds_pairs(const xf_stream *stream) { return kSignBit != 0 && !stream->device->vnni; }

// Quantized rows of a source.
struct Int8Rows {
    // [rows, ld]: int8_length() numbers p, zeros from K on. If adds_pairs(), p is the sum of these and of a second
    // array of int8_length() numbers, of which only the steps (4 numbers) exist whose bits are set in the array that
    // follows.
    const int8_t *numbers;
    int64_t ld;
    const float *scales;     // [rows]
    const int32_t *offsets;  // [rows], to be subtracted from the sums of the kernels
};

XF_INLINE int64_t int8_length(int64_t K) { return round_up(K, 64); }
XF_INLINE int64_t int8_ld(const xf_stream *stream, int64_t K) {
    const int64_t length = int8_length(K);
    return adds_pairs(stream) ? 2 * length + ceil_div(length, 256) * 8 : length;
}
XF_INLINE int64_t int8_rows_bytes(const xf_stream *stream, int64_t M, int64_t K) {
    return M * (int8_ld(stream, K) + 8);
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

#if defined(XF_ISA_AVX2) || defined(XF_ISA_AVX512)
// Limits the sum of each pair in 32 numbers to -128 .. 128 by moving half of both numbers to `excess` if needed.
// Returns a bit for each step of 4 numbers, which is set if the step has an excess.
XF_INLINE uint8_t limit_pairs(int8_t *numbers, int8_t *excess) {
    const __m256i p = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(numbers));
    const __m256i sums = _mm256_maddubs_epi16(_mm256_set1_epi8(1), p);
    const __m256i over = _mm256_cmpgt_epi16(_mm256_abs_epi16(sums), _mm256_set1_epi16(128));
    if (_mm256_testz_si256(over, over)) return 0;
    // p / 2, rounded down: AVX2 cannot shift bytes, so the sign is extended from bit 6.
    const __m256i sign = _mm256_set1_epi8(0x40),
                  shifted = _mm256_and_si256(_mm256_srli_epi16(p, 1), _mm256_set1_epi8(0x7F));
    const __m256i half = _mm256_and_si256(over, _mm256_sub_epi8(_mm256_xor_si256(shifted, sign), sign));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(numbers), _mm256_sub_epi8(p, half));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(excess), half);
    const __m256i none = _mm256_cmpeq_epi32(over, _mm256_setzero_si256());
    return static_cast<uint8_t>(~_mm256_movemask_ps(_mm256_castsi256_ps(none)));
}
#endif

// The larger of two nonnegative integers.
XF_INLINE VI larger(VI a, VI b) { return a > b ? a : b; }

static void quantize_row(const float *src, int64_t K, bool pairs, int8_t *numbers, float *scale, int32_t *offset) {
    const int64_t length = int8_length(K);
    [[maybe_unused]] int8_t *const excess = numbers + length, *const bits_of_steps = excess + length;
    if (pairs) __builtin_memset(bits_of_steps, 0, static_cast<size_t>(ceil_div(length, 256) * 8));
    // The largest magnitude, whose bits are ordered like integers.
    VI most[4] = {};
    const auto magnitude = [](VF x) { return reinterpret_cast<VI>(x) & 0x7FFFFFFF; };
    int64_t k = 0;
    for (; k + 4 * kW <= K; k += 4 * kW) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) most[j] = larger(most[j], magnitude(load(src + k + j * kW)));
    }
    for (; k < K; k += kW) most[0] = larger(most[0], magnitude(get(src + k, K - k)));
    const VI all_most = larger(larger(most[0], most[1]), larger(most[2], most[3]));
    int32_t bits = 0;
    for (int lane = 0; lane < kW; ++lane) bits = all_most[lane] > bits ? all_most[lane] : bits;
    if (bits >= 0x7F800000) {  // a NaN or an infinity
        __builtin_memset(numbers, 0, static_cast<size_t>(length));
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
    const auto quantize = [&](int64_t i, const auto &read) {
        VI q[4];
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
            // Rounds to nearest, ties to even.
            const VF x = read(i + j * kW) * factor + magic;
            q[j] = reinterpret_cast<VI>(reinterpret_cast<VU>(x) - reinterpret_cast<VU>(magic));
            total += reinterpret_cast<VU>(q[j]);
        }
        store_bytes(numbers + i, q);
#if defined(XF_ISA_AVX2) || defined(XF_ISA_AVX512)
        for (int64_t j = i; pairs && j < i + 4 * kW; j += 32)
            bits_of_steps[j / 32] = static_cast<int8_t>(limit_pairs(numbers + j, excess + j));
#endif
    };
    int64_t i = 0;
    for (; i + 4 * kW <= K; i += 4 * kW) quantize(i, [&](int64_t at) { return load(src + at); });
    for (; i < length; i += 4 * kW) quantize(i, [&](int64_t at) { return at < K ? get(src + at, K - at) : VF{}; });
    uint32_t all = 0;
    for (int lane = 0; lane < kW; ++lane) all += total[lane];
    *offset = static_cast<int32_t>(kSignBit * all);
}

// Quantizes rows 0 .. M - 1 of a source into `memory`, of int8_rows_bytes().
static Int8Rows quantize_rows(const xf_stream *stream, const float *src, int64_t ld_src, int64_t K, int64_t M,
                              void *memory) {
    const bool pairs = adds_pairs(stream);
    const int64_t ld = int8_ld(stream, K);
    int8_t *numbers = static_cast<int8_t *>(memory);
    float *scales = reinterpret_cast<float *>(numbers + M * ld);
    int32_t *offsets = reinterpret_cast<int32_t *>(scales + M);
    const int64_t tile = max64(1, 16384 / max64(1, K));
    parallel(stream, ceil_div(M, tile), [&](int64_t task, int32_t) {
        for (int64_t m = task * tile; m < min64(M, (task + 1) * tile); ++m)
            quantize_row(src + m * ld_src, K, pairs, numbers + m * ld, scales + m, offsets + m);
    });
    return {numbers, ld, scales, offsets};
}
