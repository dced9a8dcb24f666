// Numbers of 16 bits, widened in registers: exact, so that a product with them has the bits of one with fp32.
//
// SPDX-License-Identifier: Apache-2.0

struct Bf16 {
    uint16_t bits;
};
struct Fp16 {
    uint16_t bits;
};

XF_INLINE VH load_half(const void *p) { return *static_cast<const VHMem *>(p); }
XF_INLINE VF widen_bf16(VH x) { return reinterpret_cast<VF>(__builtin_convertvector(x, VU) << 16); }

#if defined(XF_ISA_AVX512)
XF_INLINE VF widen_fp16(VH x) { return _mm512_cvtph_ps(reinterpret_cast<__m256i>(x)); }
#elif defined(XF_ISA_AVX2)
XF_INLINE VF widen_fp16(VH x) { return _mm256_cvtph_ps(reinterpret_cast<__m128i>(x)); }
#else
// The exponent and what follows it, seen as fp32, are 2^112 too small; that the product is exact holds for numbers
// below 2^-14, too. No infinity and no NaN is among weights.
XF_INLINE VF widen_fp16(VH x) {
    const VU wide = __builtin_convertvector(x, VU);
    const VF size = reinterpret_cast<VF>((wide & 0x7FFFu) << 13) * 0x1p112f;
    return reinterpret_cast<VF>(reinterpret_cast<VU>(size) | (wide & 0x8000u) << 16);
}
#endif

// A vector of a matrix of either type or of fp32, and the first n numbers of one.
XF_INLINE VF load(const Bf16 *p) { return widen_bf16(load_half(p)); }
XF_INLINE VF load(const Fp16 *p) { return widen_fp16(load_half(p)); }
template <class Half>
XF_INLINE VF load_n(const Half *p, int64_t n) {
    Half few[kW] = {};
    for (int64_t i = 0; i < n && i < kW; ++i) few[i] = p[i];
    return load(few);
}

// count numbers as fp32.
template <class W>
XF_INLINE void widen_row(const W *src, int64_t count, float *dst) {
    each_vector(count, [&](int64_t i, int64_t n) { put(dst + i, n == kW ? load(src + i) : load_n(src + i, n), n); });
}
