// Vectors of kW floats for the instruction set that the including file is compiled for.
//
// Plain arithmetic uses the vector extension of GCC and clang, so that one source serves SSE2, AVX2, AVX-512, and other
// machines. Operations that the extension lacks (fused multiply-add, masked loads, horizontal sums) are written once
// per instruction set.
//
// Two rules keep results reproducible. First, -ffp-contract stays off and fma() is called by name, so that every copy
// of a formula (main loop, tail, another tile height) rounds in the same way; row invariance depends on this. Second, a
// sum along a row uses kLanes partial sums for every kW and one reduction tree, so that AVX2, AVX-512, and NEON give
// the same bits. For the same reason exp_of and log_of replace the functions of the C library, whose rounding is
// unspecified.
//
// SPDX-License-Identifier: Apache-2.0

#define XF_INLINE static inline __attribute__((always_inline))

#if defined(XF_ISA_AVX512)
constexpr int kW = 16;
#elif defined(XF_ISA_AVX2)
constexpr int kW = 8;
#else
constexpr int kW = 4;
#endif

constexpr int kLanes = 16;           // partial sums along a row
constexpr int kParts = kLanes / kW;  // vectors that hold the partial sums

typedef float VF __attribute__((vector_size(4 * kW)));
typedef int32_t VI __attribute__((vector_size(4 * kW)));
typedef uint32_t VU __attribute__((vector_size(4 * kW)));
typedef uint64_t VU64 __attribute__((vector_size(4 * kW)));
typedef uint16_t VH __attribute__((vector_size(2 * kW)));
typedef double VD __attribute__((vector_size(8 * kW)));
typedef float V4 __attribute__((vector_size(16)));
typedef float V4Mem __attribute__((vector_size(16), aligned(4), may_alias));
typedef float VFMem __attribute__((vector_size(4 * kW), aligned(4), may_alias));
typedef int32_t VIMem __attribute__((vector_size(4 * kW), aligned(4), may_alias));
typedef uint32_t VUMem __attribute__((vector_size(4 * kW), aligned(4), may_alias));
typedef uint16_t VHMem __attribute__((vector_size(2 * kW), aligned(2), may_alias));

XF_INLINE VF load(const float *p) { return *reinterpret_cast<const VFMem *>(p); }
XF_INLINE void store(float *p, VF x) { *reinterpret_cast<VFMem *>(p) = x; }
XF_INLINE VF splat(float x) { return x - VF{}; }

#if defined(XF_ISA_AVX512)
XF_INLINE VF fma(VF a, VF b, VF c) { return _mm512_fmadd_ps(a, b, c); }
XF_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
XF_INLINE __mmask16 first_lanes(int64_t n) { return static_cast<__mmask16>(n >= 16 ? 0xFFFF : (1u << n) - 1u); }
XF_INLINE VF load_n(const float *p, int64_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
XF_INLINE void store_n(float *p, VF x, int64_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), x); }
XF_INLINE VF vmax(VF a, VF b) { return _mm512_max_ps(a, b); }
XF_INLINE VF vsqrt(VF a) { return _mm512_sqrt_ps(a); }
XF_INLINE VU64 mul_even(VU a, VU b) {
    return reinterpret_cast<VU64>(_mm512_mul_epu32(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
XF_INLINE V4 hsum4(VF a, VF b, VF c, VF d) {
    const __m512 ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
    const __m512 cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xEE));
    __m512 x = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xDD));
    x = _mm512_add_ps(x, _mm512_permute_ps(x, 0x4E));
    x = _mm512_add_ps(x, _mm512_permute_ps(x, 0xB1));
    const __m512i pick = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return _mm512_castps512_ps128(_mm512_permutexvar_ps(pick, x));
}
#elif defined(XF_ISA_AVX2)
XF_INLINE VF fma(VF a, VF b, VF c) { return _mm256_fmadd_ps(a, b, c); }
XF_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
XF_INLINE __m256i first_lanes(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
XF_INLINE VF load_n(const float *p, int64_t n) { return _mm256_maskload_ps(p, first_lanes(n)); }
XF_INLINE void store_n(float *p, VF x, int64_t n) { _mm256_maskstore_ps(p, first_lanes(n), x); }
XF_INLINE VF vmax(VF a, VF b) { return _mm256_max_ps(a, b); }
XF_INLINE VF vsqrt(VF a) { return _mm256_sqrt_ps(a); }
XF_INLINE VU64 mul_even(VU a, VU b) {
    return reinterpret_cast<VU64>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
XF_INLINE V4 hsum4(VF a, VF b, VF c, VF d) {
    const __m256 ab = _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
    const __m256 cd = _mm256_add_ps(_mm256_permute2f128_ps(c, d, 0x20), _mm256_permute2f128_ps(c, d, 0x31));
    // a02 a13 c02 c13 | b02 b13 d02 d13
    const __m256 pairs = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xEE));
    const __m256 sums = _mm256_hadd_ps(pairs, pairs);  // a c a c | b d b d
    return _mm_unpacklo_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
}
#else
#if defined(XF_ISA_NEON)
XF_INLINE VF fma(VF a, VF b, VF c) { return vfmaq_f32(c, a, b); }
XF_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
XF_INLINE VF vsqrt(VF a) { return vsqrtq_f32(a); }
XF_INLINE VU64 mul_even(VU a, VU b) {
    return vmull_u32(vmovn_u64(reinterpret_cast<VU64>(a)), vmovn_u64(reinterpret_cast<VU64>(b)));
}
#else
#if defined(XF_ISA_FUSED)  // tests/golden/fused.cpp
XF_INLINE VF fma(VF a, VF b, VF c) {
    for (int i = 0; i < kW; ++i) a[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return a;
}
XF_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
XF_INLINE VF fma(VF a, VF b, VF c) { return a * b + c; }
XF_INLINE double fma(double a, double b, double c) { return a * b + c; }  // __builtin_fma would call the C library
#endif
XF_INLINE VF vsqrt(VF a) {
    for (int i = 0; i < kW; ++i) a[i] = __builtin_sqrtf(a[i]);
    return a;
}
XF_INLINE VU64 mul_even(VU a, VU b) {
    const VU64 low = VU64{} + 0xFFFFFFFFu;
    return (reinterpret_cast<VU64>(a) & low) * (reinterpret_cast<VU64>(b) & low);
}
#endif
XF_INLINE VF load_n(const float *p, int64_t n) {
    float lanes[kW] = {};
    for (int64_t i = 0; i < n && i < kW; ++i) lanes[i] = p[i];
    return load(lanes);
}
XF_INLINE void store_n(float *p, VF x, int64_t n) {
    for (int64_t i = 0; i < n && i < kW; ++i) p[i] = x[i];
}
// Like maxps: returns the second operand if either is NaN.
XF_INLINE VF vmax(VF a, VF b) { return a > b ? a : b; }
XF_INLINE V4 hsum4(VF a, VF b, VF c, VF d) {
    const VF ac = __builtin_shufflevector(a, c, 0, 4, 1, 5) + __builtin_shufflevector(a, c, 2, 6, 3, 7);
    const VF bd = __builtin_shufflevector(b, d, 0, 4, 1, 5) + __builtin_shufflevector(b, d, 2, 6, 3, 7);
    return __builtin_shufflevector(ac, bd, 0, 4, 1, 5) + __builtin_shufflevector(ac, bd, 2, 6, 3, 7);
}
#endif

// max(x, 0) that propagates NaN, so that a diverged step is detected: vmax returns its second operand for NaN. Scalar
// code writes x < 0 ? 0 : x for the same result.
XF_INLINE VF vrelu(VF x) { return vmax(VF{}, x); }

// kLanes partial sums of a row: lane j sums elements j, j + kLanes, ...
struct Lanes {
    VF part[kParts];
};

// The totals of four sets of lanes, each by the same tree: halves, quarters, then within four lanes.
XF_INLINE V4 hsum4(const Lanes &a, const Lanes &b, const Lanes &c, const Lanes &d) {
    if constexpr (kParts == 1) {
        return hsum4(a.part[0], b.part[0], c.part[0], d.part[0]);
    } else if constexpr (kParts == 2) {
        return hsum4(a.part[0] + a.part[1], b.part[0] + b.part[1], c.part[0] + c.part[1], d.part[0] + d.part[1]);
    } else {
        // The modulo avoids a clang warning about indices past the end when kParts is smaller.
        const auto join = [](const Lanes &x) {
            return (x.part[0] + x.part[2 % kParts]) + (x.part[1 % kParts] + x.part[3 % kParts]);
        };
        return hsum4(join(a), join(b), join(c), join(d));
    }
}

XF_INLINE float hsum(const Lanes &x) { return hsum4(x, Lanes{}, Lanes{}, Lanes{})[0]; }

XF_INLINE float hmax(VF x) {
    float best = x[0];
    for (int i = 1; i < kW; ++i) best = x[i] > best ? x[i] : best;
    return best;
}

// Returns whether any lane is true.
XF_INLINE bool any_lane(VI x) {
#if defined(XF_ISA_AVX512)
    return _mm512_movepi32_mask(reinterpret_cast<__m512i>(x)) != 0;
#elif defined(XF_ISA_AVX2)
    return _mm256_movemask_ps(reinterpret_cast<__m256>(x)) != 0;
#elif defined(XF_ISA_NEON)
    return vmaxvq_u32(reinterpret_cast<VU>(x)) != 0;
#else
    return (x[0] | x[1] | x[2] | x[3]) != 0;
#endif
}

// Interleaves a and b from lane kFrom on: a0 b0 a1 b1 ... __builtin_shufflevector is the built-in that GCC and clang
// share; its indices must be constants.
template <int kFrom, class V, int... kLane>
XF_INLINE V zip(V a, V b, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(a, b, (kFrom + kLane / 2 + (kLane & 1) * kW)...);
}
template <class V>
XF_INLINE V zip_low(V a, V b) {
    return zip<0>(a, b, std::make_integer_sequence<int, kW>());
}
template <class V>
XF_INLINE V zip_high(V a, V b) {
    return zip<kW / 2>(a, b, std::make_integer_sequence<int, kW>());
}

// Transposes a kW x kW matrix.
#if defined(XF_ISA_AVX2)
XF_INLINE void transpose(VF *rows) {
    __m256 pairs[8], fours[8];  // elements of two and of four rows next to each other
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const int from = i / 2 * 4 + i % 2;
        fours[2 * i] = _mm256_shuffle_ps(pairs[from], pairs[from + 2], 0x44);
        fours[2 * i + 1] = _mm256_shuffle_ps(pairs[from], pairs[from + 2], 0xEE);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        rows[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
        rows[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
    }
}
#else
// In log2(kW) rounds; each interleaves row i with row i + kW/2.
XF_INLINE void transpose(VF *rows) {
#pragma GCC unroll 4
    for (int step = 1; step < kW; step *= 2) {
        VF next[kW];
#pragma GCC unroll 8
        for (int i = 0; i < kW / 2; ++i) {
            next[2 * i] = zip_low(rows[i], rows[i + kW / 2]);
            next[2 * i + 1] = zip_high(rows[i], rows[i + kW / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kW; ++i) rows[i] = next[i];
    }
}
#endif

// e^x to about 2 ulp for x <= 88, by the formula of Cephes expf. Returns 0 below -87.3; NaN stays NaN.
XF_INLINE VF vexp(VF x) {
    const VF low = splat(-87.336544f), high = splat(88.3762626f);
    const VI under = x < low;
    x = x > high ? high : x;
    x = under ? low : x;
    const VF magic = splat(12582912.0f);
    const VF shifted = fma(x, splat(1.44269504088896341f), magic);
    const VF n = shifted - magic;
    VF r = fma(n, splat(-0.693359375f), x);
    r = fma(n, splat(2.12194440e-4f), r);
    VF p = splat(1.9875691500e-4f);
    p = fma(p, r, splat(1.3981999507e-3f));
    p = fma(p, r, splat(8.3334519073e-3f));
    p = fma(p, r, splat(4.1665795894e-2f));
    p = fma(p, r, splat(1.6666665459e-1f));
    p = fma(p, r, splat(5.0000001201e-1f));
    p = fma(p, r * r, r) + 1.0f;
    const VI power = (reinterpret_cast<VI>(shifted) - reinterpret_cast<VI>(magic) + 127) << 23;
    p = p * reinterpret_cast<VF>(power);
    return under ? VF{} : p;
}

// e^x (for finite x <= 0) and log x (for finite x > 0) in fp64, within 2 ulp, or within 1e-13 without a fused
// multiply-add. Other arguments give the result of the C library; NaN stays NaN. The series are short because each runs
// once per row and panel.
XF_INLINE double exp_of(double x) {
    if (!(x >= -708.0)) return x == x ? 0.0 : x;
    const double shifted = fma(x, 1.4426950408889634, 0x1.8p52), n = shifted - 0x1.8p52;
    const double r = fma(n, -0x1.abc9e3b39803fp-56, fma(n, -0x1.62e42fefa39efp-1, x));
    constexpr double kTerms[] = {
        1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
        1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};
    double p = 0.0;
    for (const double term : kTerms) p = fma(p, r, term);
    const int64_t power = (static_cast<int64_t>(n) + 1023) << 52;
    double scale;
    __builtin_memcpy(&scale, &power, sizeof scale);
    return p * scale;
}

XF_INLINE double log_of(double x) {
    if (!(x > 0x1p-1000 && x < 0x1p1000)) return __builtin_log(x);
    int64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    // x = m 2^e with m in [0.71, 1.42)
    const int64_t e = (bits - 0x3FE6A09E667F3BCD) >> 52;
    bits -= e << 52;
    double m;
    __builtin_memcpy(&m, &bits, sizeof m);
    const double s = (m - 1.0) / (m + 1.0), z = s * s, n = static_cast<double>(e);
    constexpr double kTerms[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                 1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
    double p = 0.0;
    for (const double term : kTerms) p = fma(p, z, term);
    const double low = fma(n, 0x1.abc9e3b39803fp-56, 2.0 * s * z * p);
    return fma(n, 0x1.62e42fefa39efp-1, fma(2.0, s, low));
}

XF_INLINE int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
XF_INLINE int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
XF_INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
XF_INLINE int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// Calls body(i, n) for each vector of [0, D): elements i .. i + n - 1, with n == kW except for the last vector.
template <class Body>
XF_INLINE void each_vector(int64_t D, const Body &body) {
    int64_t i = 0;
    for (; i + kW <= D; i += kW) body(i, int64_t{kW});
    if (i < D) body(i, D - i);
}
// The same for sums along a row: calls body(i, n, part), where `part` is the vector of Lanes that accumulates these
// elements. The last group is completed to kLanes elements by calls with n <= 0 or n < kW, whose missing elements count
// as zeros, because adding a zero can change the sign of a sum.
template <class Body>
XF_INLINE void each_part(int64_t D, const Body &body) {
    int64_t i = 0;
    for (; i + kLanes <= D; i += kLanes) {
#pragma GCC unroll 4
        for (int part = 0; part < kParts; ++part) body(i + part * kW, int64_t{kW}, part);
    }
    if (i == D) return;
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) body(i + part * kW, min64(kW, D - i - part * kW), part);
}
XF_INLINE VF get(const float *p, int64_t n) { return n >= kW ? load(p) : load_n(p, n); }
XF_INLINE void put(float *p, VF x, int64_t n) {
    if (n >= kW)
        store(p, x);
    else
        store_n(p, x, n);
}
XF_INLINE void copy_row(float *dst, const float *src, int64_t D) {
    each_vector(D, [&](int64_t i, int64_t n) { put(dst + i, get(src + i, n), n); });
}
// Sets lanes n and above to 0.
XF_INLINE VF keep_n(VF x, int64_t n) {
    if (n >= kW) return x;
    VI lane;
    for (int i = 0; i < kW; ++i) lane[i] = i;
    return lane < static_cast<int32_t>(n) ? x : VF{};
}

// Calls body(task, worker) for each task on the host's threads.
template <class Body>
void parallel(const xf_stream *stream, int64_t tasks, const Body &body) {
    if (tasks == 1) {
        body(int64_t{0}, int32_t{0});
    } else if (tasks > 1) {
        const xf_host_v1 *host = stream->device->host;
        host->parallel(
            host->user, tasks,
            [](void *arg, int64_t task, int32_t worker) { (*static_cast<const Body *>(arg))(task, worker); },
            const_cast<void *>(static_cast<const void *>(&body)));
    }
}

// Scratch memory of one worker within stream->local, `bytes` each. Call reserve_local() before the parallel region.
XF_INLINE int64_t padded(int64_t bytes) { return round_up(bytes, 128); }
XF_INLINE int32_t reserve_local(xf_stream *stream, int64_t bytes, xf_error *err) {
    return reserve(stream, &stream->local, static_cast<uint64_t>(padded(bytes) * stream->workers), err);
}
XF_INLINE float *local(const xf_stream *stream, int64_t bytes, int32_t worker) {
    return reinterpret_cast<float *>(static_cast<char *>(stream->local.ptr) + padded(bytes) * worker);
}
XF_INLINE float *shared(const xf_stream *stream) { return static_cast<float *>(stream->shared.ptr); }
