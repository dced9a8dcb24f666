// 16-bit numbers are widened to fp32 in registers. Widening is exact, so a product with 16-bit weights has the bits of
// the same product with fp32 weights. The helpers for a stream's element type T (fp32 or bf16) let one kernel source
// read and write both; all arithmetic is fp32.
//
// SPDX-License-Identifier: Apache-2.0

struct Bf16 {
    uint16_t bits;
};
struct Fp16 {
    uint16_t bits;
};

typedef uint32_t VUHalfMem __attribute__((vector_size(4 * kW), aligned(2), may_alias));

// Swaps each element with its neighbor.
template <int... kLane>
XF_INLINE VH swap_pairs(VH x, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(x, x, (kLane ^ 1)...);
}

XF_INLINE VH load_half(const void *p) { return *static_cast<const VHMem *>(p); }
XF_INLINE VF widen_bf16(VH x) { return reinterpret_cast<VF>(__builtin_convertvector(x, VU) << 16); }

#if defined(XF_ISA_AVX512)
XF_INLINE VF widen_fp16(VH x) { return _mm512_cvtph_ps(reinterpret_cast<__m256i>(x)); }
#elif defined(XF_ISA_AVX2)
XF_INLINE VF widen_fp16(VH x) { return _mm256_cvtph_ps(reinterpret_cast<__m128i>(x)); }
#elif defined(XF_ISA_NEON)
XF_INLINE VF widen_fp16(VH x) { return vcvt_f32_f16(reinterpret_cast<float16x4_t>(x)); }
#else
// The exponent and mantissa, read as fp32, are too small by a factor of 2^112. The product is exact for subnormal
// numbers (below 2^-14), too. Weights contain no infinity or NaN.
XF_INLINE VF widen_fp16(VH x) {
    const VU wide = __builtin_convertvector(x, VU);
    const VF size = reinterpret_cast<VF>((wide & 0x7FFFu) << 13) * 0x1p112f;
    return reinterpret_cast<VF>(reinterpret_cast<VU>(size) | (wide & 0x8000u) << 16);
}
#endif

// Loads a vector of a bf16 or fp16 matrix as fp32; load_n() loads only the first n elements.
XF_INLINE VF load(const Bf16 *p) { return widen_bf16(load_half(p)); }
XF_INLINE VF load(const Fp16 *p) { return widen_fp16(load_half(p)); }
#if defined(XF_ISA_AVX512)
XF_INLINE VH load_half_n(const void *p, int64_t n) {
    return reinterpret_cast<VH>(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}
XF_INLINE void store_half_n(void *p, VH x, int64_t n) {
    _mm256_mask_storeu_epi16(p, first_lanes(n), reinterpret_cast<__m256i>(x));
}
#else
XF_INLINE VH load_half_n(const void *p, int64_t n) {
    VH x{};
    if (n > 0) __builtin_memcpy(&x, p, static_cast<size_t>(min64(n, kW)) * sizeof(Bf16));
    return x;
}
XF_INLINE void store_half_n(void *p, VH x, int64_t n) {
    if (n > 0) __builtin_memcpy(p, &x, static_cast<size_t>(min64(n, kW)) * sizeof(Bf16));
}
#endif
XF_INLINE VF load_n(const Bf16 *p, int64_t n) { return widen_bf16(load_half_n(p, n)); }
XF_INLINE VF load_n(const Fp16 *p, int64_t n) { return widen_fp16(load_half_n(p, n)); }

// Rounds to nearest, ties to even; NaN stays NaN.
XF_INLINE VH round_bf16(VF x) {
    const VU bits = reinterpret_cast<VU>(x), nearest = bits + 0x7FFFu + (bits >> 16 & 1u);
    // NOLINTNEXTLINE(misc-redundant-expression): a NaN is not itself
    return __builtin_convertvector((x == x ? nearest : bits | 0x400000u) >> 16, VH);
}
XF_INLINE void store(Bf16 *p, VF x) { *reinterpret_cast<VHMem *>(p) = round_bf16(x); }
XF_INLINE void store_n(Bf16 *p, VF x, int64_t n) { store_half_n(p, round_bf16(x), n); }
XF_INLINE VF get(const Bf16 *p, int64_t n) { return n >= kW ? load(p) : load_n(p, n); }
XF_INLINE void put(Bf16 *p, VF x, int64_t n) {
    if (n >= kW)
        store(p, x);
    else
        store_n(p, x, n);
}
XF_INLINE void copy_row(Bf16 *dst, const Bf16 *src, int64_t D) {
    __builtin_memmove(dst, src, static_cast<size_t>(D) * sizeof(Bf16));
}

// Casts a tensor of a stream to its element type T.
template <class T>
XF_INLINE const T *num(const void *p) {
    return static_cast<const T *>(p);
}
template <class T>
XF_INLINE T *num(void *p) {
    return static_cast<T *>(p);
}

// x rounded as if it were stored as T.
template <class T>
XF_INLINE VF rounded(VF x) {
    if constexpr (sizeof(T) == 2) return widen_bf16(round_bf16(x));
    return x;
}

// An fp32 view of a row that a kernel modifies: an fp32 row is used in place; a bf16 row is computed in `buffer` and
// stored by write_row().
XF_INLINE float *work_row(float *row, float *) { return row; }
XF_INLINE float *work_row(Bf16 *, float *buffer) { return buffer; }
XF_INLINE void write_row(float *, const float *, int64_t) {}
XF_INLINE void write_row(Bf16 *dst, const float *work, int64_t D) {
    each_vector(D, [&](int64_t i, int64_t n) { put(dst + i, get(work + i, n), n); });
}
// The same for a row that is only read.
XF_INLINE const float *read_row(const float *row, int64_t, float *) { return row; }
XF_INLINE const float *read_row(const Bf16 *row, int64_t D, float *buffer) {
    each_vector(D, [&](int64_t i, int64_t n) { put(buffer + i, get(row + i, n), n); });
    return buffer;
}

// Widens `count` elements to fp32.
template <class W>
XF_INLINE void widen_row(const W *src, int64_t count, float *dst) {
    each_vector(count, [&](int64_t i, int64_t n) { put(dst + i, n == kW ? load(src + i) : load_n(src + i, n), n); });
}

// The worker's buffer for work_row(), in the stream's local memory.
template <class T>
XF_INLINE int64_t work_bytes(int64_t D) {
    return sizeof(T) == 2 ? round_up(D, kW) * 4 : 0;
}
template <class T>
XF_INLINE int32_t reserve_work(xf_stream *stream, int64_t D, xf_error *err) {
    return sizeof(T) == 2 ? reserve_local(stream, work_bytes<T>(D), err) : XF_OK;
}
template <class T>
XF_INLINE float *work(const xf_stream *stream, int64_t D, int32_t worker) {
    return sizeof(T) == 2 ? local(stream, work_bytes<T>(D), worker) : nullptr;
}
