// Products with XF_WEIGHTS_INT8, which plugin_abi.h defines bit by bit.
//
// Packed weights are stored in groups of 64 columns, each of 4 registers of 16 columns x 4 steps of K; the steps of the
// registers are interleaved, except with AVX2. A group is read as one contiguous stream. Four steps of the quantized
// source are broadcast at a time, so that no sum crosses lanes. The int32 sums are exact, so all kernels give the same
// result:
//     x86:          vpdpbusd and vpmaddubsw need one unsigned factor. Packed weights have their sign bit flipped, which
//                   adds 128 and makes them unsigned; 128 times the sum of the source row is subtracted from the
//                   result.
//     AVX-512 VNNI: vpdpbusd adds four products in 32 bits.
//     AVX2:         vpmaddubsw adds two products in 16 bits. They fit if |p0 + p1| <= 128, because weights are at most
//                   255. quantize_row() moves half of the few larger pairs to a second array.
//     NEON:         int8_neon.inl.
//     SIMD128:      int8_wasm.inl.
//     otherwise:    plain loops.
//
// SPDX-License-Identifier: Apache-2.0

#if !defined(__wasm_simd128__)
template <int R, int P>
static void int8_plain(const int8_t *rows, int64_t ld, const int8_t *weights, int64_t steps, int32_t *sums) {
    for (int r = 0; r < R; ++r)
        for (int64_t c = 0; c < P * kRegisterColumns; ++c) sums[r * kGroup + c] = 0;
    for (int64_t k = 0; k < steps; ++k, weights += P * 64)
        for (int r = 0; r < R; ++r) {
            const int8_t *p = rows + r * ld + 4 * k;
            for (int64_t c = 0; c < P * kRegisterColumns; ++c)
                sums[r * kGroup + c] += p[0] * weights[4 * c] + p[1] * weights[4 * c + 1] + p[2] * weights[4 * c + 2] +
                                        p[3] * weights[4 * c + 3];
        }
}
#endif

#if defined(XF_ISA_AVX2) || defined(XF_ISA_AVX512)
XF_INLINE __m256i broadcast4(const int8_t *p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return _mm256_set1_epi32(four);
}

// sum += the products of four steps: `row`, broadcast, and the steps of 8 columns.
XF_INLINE __m256i add_steps(__m256i sum, __m256i weights, __m256i row) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(weights, row), _mm256_set1_epi16(1)));
}

// The products of R rows with one register of 16 columns, which is two vectors. The prefetch reaches into the next
// register and is as far ahead as one row needs.
template <int R>
XF_INLINE void int8_pass(const int8_t *rows, int64_t ld, const int8_t *weights, int64_t steps, int32_t *sums) {
    __m256i sum[R][2];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
    for (int64_t k = 0; k < steps; ++k, weights += 64) {
        const __m256i *const w = reinterpret_cast<const __m256i *>(weights);
        const __m256i first = _mm256_loadu_si256(w), second = _mm256_loadu_si256(w + 1);
        __builtin_prefetch(weights + 4096);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
            const __m256i row = broadcast4(rows + r * ld + 4 * k);
            sum[r][0] = add_steps(sum[r][0], first, row);
            sum[r][1] = add_steps(sum[r][1], second, row);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
        _mm256_store_si256(reinterpret_cast<__m256i *>(sums + r * kGroup), sum[r][0]);
        _mm256_store_si256(reinterpret_cast<__m256i *>(sums + r * kGroup + 8), sum[r][1]);
    }
}

// The registers of a group are stored in sequence. The products of the rows' second arrays (Int8Rows) are added
// for all columns at once, because the number of their steps is hard to predict.
template <int R, int P>
static void int8_avx2(const int8_t *rows, int64_t ld, const int8_t *weights, int64_t steps, int32_t *sums) {
    for (int p = 0; p < P; ++p) int8_pass<R>(rows, ld, weights + p * steps * 64, steps, sums + p * kRegisterColumns);
    const int64_t length = round_up(4 * steps, 64);
    for (int r = 0; r < R; ++r, rows += ld, sums += kGroup) {
        __m256i *const to = reinterpret_cast<__m256i *>(sums);
        __m256i sum[2 * P];
#pragma GCC unroll 8
        for (int c = 0; c < 2 * P; ++c) sum[c] = _mm256_load_si256(to + c);
        for (int64_t at = 0; at < length; at += 256) {
            uint64_t bits;
            __builtin_memcpy(&bits, rows + 2 * length + at / 32, sizeof bits);
            for (; bits; bits &= bits - 1) {
                const int64_t k = at / 4 + __builtin_ctzll(bits);
                const __m256i excess = broadcast4(rows + length + 4 * k);
#pragma GCC unroll 8
                for (int c = 0; c < 2 * P; ++c) {
                    const int8_t *const w = weights + (c / 2 * steps + k) * 64 + c % 2 * 32;
                    sum[c] = add_steps(sum[c], _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w)), excess);
                }
            }
        }
#pragma GCC unroll 8
        for (int c = 0; c < 2 * P; ++c) _mm256_store_si256(to + c, sum[c]);
    }
}
#endif

#if defined(XF_ISA_AVX512)
// vpdpbusd as inline assembly, because this file is also compiled for CPUs without it and so that each sum stays in its
// register.
XF_INLINE void dot4(VI *sum, VI weights, VI row) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(weights), "v"(row));
}

template <int R, int P>
static void int8_vnni(const int8_t *rows, int64_t ld, const int8_t *weights, int64_t steps, int32_t *sums) {
    VI sum[R][P];
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < P; ++c) sum[r][c] = VI{};
    }
    for (int64_t k = 0; k < steps; ++k, weights += P * 64) {
        VI w[P];
#pragma GCC unroll 4
        for (int c = 0; c < P; ++c) {
            w[c] = *reinterpret_cast<const VIMem *>(weights + c * 64);
            if (R <= 4) __builtin_prefetch(weights + c * 64 + 4096);
        }
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
            int32_t four;
            __builtin_memcpy(&four, rows + r * ld + 4 * k, 4);
            const VI p = four - VI{};
#pragma GCC unroll 4
            for (int c = 0; c < P; ++c) dot4(&sum[r][c], w[c], p);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < P; ++c) *reinterpret_cast<VIMem *>(sums + r * kGroup + c * kRegisterColumns) = sum[r][c];
    }
}
constexpr int kInt8Rows = 6;
#elif defined(XF_ISA_NEON)
#include "int8_neon.inl"
constexpr int kInt8Rows = kArmInt8Rows;
#else
#if defined(__wasm_simd128__)
#include "int8_wasm.inl"
#endif
constexpr int kInt8Rows = 4;
#endif
using Int8Kernels = Int8Table<kInt8Rows>;
#if defined(XF_ISA_AVX512)
constexpr Int8Kernels kInt8Vnni = {{{},
                                    XF_INT8_ROWS(int8_vnni, 1),
                                    XF_INT8_ROWS(int8_vnni, 2),
                                    XF_INT8_ROWS(int8_vnni, 3),
                                    XF_INT8_ROWS(int8_vnni, 4),
                                    XF_INT8_ROWS(int8_vnni, 5),
                                    XF_INT8_ROWS(int8_vnni, 6)}};
#endif
#if defined(XF_ISA_AVX2) || defined(XF_ISA_AVX512)
#define XF_INT8_OTHER int8_avx2
#elif defined(XF_ISA_NEON)
#define XF_INT8_OTHER int8_neon
#elif defined(__wasm_simd128__)
#define XF_INT8_OTHER int8_simd128
#else
#define XF_INT8_OTHER int8_plain
#endif
constexpr int kOtherRows = 4;
constexpr Int8Kernels kInt8Other = {{{},
                                     XF_INT8_ROWS(XF_INT8_OTHER, 1),
                                     XF_INT8_ROWS(XF_INT8_OTHER, 2),
                                     XF_INT8_ROWS(XF_INT8_OTHER, 3),
                                     XF_INT8_ROWS(XF_INT8_OTHER, 4)}};
#undef XF_INT8_OTHER

// Computes rows [m0, m1) x columns [n0, n1). n0 is a multiple of kGroup; dst points to row m0, column n0. A group of
// columns stays in the cache while all rows pass over it.
static void int8_block([[maybe_unused]] const xf_stream *stream, const xf_linear_fwd &a, const Int8Rows &rows,
                       int64_t m0, int64_t m1, int64_t n0, int64_t n1, float *dst, int64_t ld_dst) {
    const bool relu = a.flags & XF_LINEAR_RELU;
    const float *const bias = num<float>(a.bias);
    const int64_t steps = ceil_div(a.K, 4);
#if defined(XF_ISA_AVX512)
    const bool vnni = stream->device->vnni;
    const int64_t tallest = vnni ? kInt8Rows : kOtherRows;
    const Int8Kernels &kernels = vnni ? kInt8Vnni : kInt8Other;
#elif defined(XF_ISA_NEON)
    const xf_device &device = *stream->device;
    const int64_t tallest = device.i8mm ? kInt8Rows : kOtherRows;
    const Int8Kernels &kernels = device.i8mm ? kInt8Smmla : device.dot ? kInt8Sdot : kInt8Other;
#else
    const int64_t tallest = kOtherRows;
    const Int8Kernels &kernels = kInt8Other;
#endif
    const int64_t parts = ceil_div(m1 - m0, tallest);
    const int8_t *const weights = reinterpret_cast<const int8_t *>(a.weights);
    int32_t sums[kInt8Rows * kGroup] __attribute__((aligned(64)));
    for (int64_t n = n0; n < n1; n += kGroup) {
        const int64_t registers = min64(kGroup, round_up(a.N, kRegisterColumns) - n) / kRegisterColumns,
                      width = min64(kGroup, n1 - n);
        const int8_t *group = weights + n * 4 * steps;
        for (int64_t part = 0; part < parts; ++part) {
            const int64_t r0 = m0 + (m1 - m0) * part / parts, r1 = m0 + (m1 - m0) * (part + 1) / parts;
            kernels.of[r1 - r0][registers](rows.numbers + r0 * rows.ld, rows.ld, group, steps, sums);
            each_vector(width, [&](int64_t i, int64_t count) {
                const VF scales = get(a.scales + n + i, count), added = bias ? get(bias + n + i, count) : VF{};
                float *out = dst + (r0 - m0) * ld_dst + (n - n0) + i;
                for (int64_t r = r0; r < r1; ++r, out += ld_dst) {
                    const VU sum = *reinterpret_cast<const VUMem *>(sums + (r - r0) * kGroup + i) -
                                   uint32_t(rows.offsets[r]);  // modulo 2^32, as the products were added
                    VF y = __builtin_convertvector(VI(sum), VF) * (rows.scales[r] * scales);
                    if (bias) y += added;
                    if (relu) y = vrelu(y);
                    put(out, y, count);
                }
            });
        }
    }
}

// The columns whose steps are interleaved in the packed matrix. vpmaddubsw leaves registers for the sums of 16.
XF_INLINE int64_t int8_interleaved(const xf_stream *stream) { return adds_pairs(stream) ? kRegisterColumns : kGroup; }

// Offset of element (n, k) in the packed matrix.
XF_INLINE int64_t int8_at(const xf_stream *stream, int64_t N, int64_t K, int64_t n, int64_t k) {
    const int64_t columns = int8_interleaved(stream), steps = ceil_div(K, 4), group = n / columns * columns;
    const int64_t width = min64(columns, round_up(N, kRegisterColumns) - group);
    return group * 4 * steps + k / 4 * width * 4 + (n - group) * 4 + k % 4;
}

// Restores row n of a packed matrix.
static void int8_unpack_row(const xf_stream *stream, const int8_t *weights, int64_t N, int64_t K, int64_t n,
                            int8_t *dst) {
    const int8_t *from = weights + int8_at(stream, N, K, n, 0);
    const int64_t step = int8_at(stream, N, K, n, 4) - int8_at(stream, N, K, n, 0);
    for (int64_t k = 0; k < K; ++k)
        dst[k] = static_cast<int8_t>(static_cast<uint8_t>(from[k / 4 * step + k % 4]) ^ kSignBit);
}

static int32_t unpack_int8(xf_stream *stream, const xf_unpack_int8 *a, xf_error *) {
    for (int64_t i = 0; i < a->count; ++i)
        int8_unpack_row(stream, a->weights, a->N, a->K, a->first + i, a->dst + i * a->K);
    return XF_OK;
}

// Packs in place. The last group goes first, because the packed group never begins before its rows.
static int32_t pack_int8(xf_stream *stream, const xf_pack_int8 *a, xf_error *err) {
    const int64_t depth = round_up(a->K, 4), columns = int8_interleaved(stream);
    if (a->N <= 0 || a->K <= 0) return XF_OK;
    if (const int32_t rc = reserve(stream, &stream->shared, static_cast<uint64_t>(columns * a->K), err)) return rc;
    int8_t *rows = static_cast<int8_t *>(stream->shared.ptr);
    constexpr uint32_t kSignBits = 0x01010101u * kSignBit;
    for (int64_t n0 = (a->N - 1) / columns * columns; n0 >= 0; n0 -= columns) {
        const int64_t count = min64(columns, a->N - n0), width = round_up(count, kRegisterColumns);
        __builtin_memcpy(rows, a->weights + n0 * a->K, static_cast<size_t>(count * a->K));
        int8_t *out = a->weights + n0 * depth;
        for (int64_t k = 0; k < depth; k += 4)
            for (int64_t c = 0; c < width; ++c, out += 4) {
                uint32_t four = 0;
                if (c < count && k + 4 <= a->K)
                    __builtin_memcpy(&four, rows + c * a->K + k, 4);
                else if (c < count)
                    __builtin_memcpy(&four, rows + c * a->K + k, static_cast<size_t>(a->K - k));
                four ^= kSignBits;
                __builtin_memcpy(out, &four, 4);
            }
    }
    return XF_OK;
}
