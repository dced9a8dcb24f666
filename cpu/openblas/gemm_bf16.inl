// Packed products of bf16 operands for training, accumulated in fp32: C (+)= A B, where C is fp32 or rounded to bf16
// once.
//
// Algorithm and tiling are those of gemm.inl. An element of C is a sum over pairs of K: of each pair the second product
// is added first, each by a fused multiply-add. Subnormal inputs count as 0 and subnormal sums become 0. This is
// exactly what vdpbf16ps computes: Intel's manual specifies it (SDM vol. 2, VDPBF16PS: "FP32 FMA with daz in, ftz out
// and RNE rounding. MXCSR neither consulted nor updated", the upper number of a pair first), and on an AMD Zen 4 192
// million sums of all magnitudes had these bits. Which of several NaNs results is not specified. There are two
// implementations:
//     with AVX512_BF16: A and B are packed in pairs, one word each, and gemm_bf16_tile() multiplies them;
//     otherwise:        they are packed as fp32, the second of a pair before the first, for the kernel of gemm.inl,
//                       while the floating-point unit flushes subnormals (flush.inl).
// Both give the same bits. The portable kernels ("base") have no fused multiply-add and give other bits. The blocks of
// K depend only on K and are added in increasing order, in fp32; the bias and the previous values of C are added last.
//
// SPDX-License-Identifier: Apache-2.0

#include "flush.inl"

// Number of 4-byte words that `depth` elements of K take per row of A or column of B.
template <bool kPairs>
XF_INLINE int64_t words_of(int64_t depth) {
    return kPairs ? (depth + 1) / 2 : round_up(depth, 2);
}

// Packs one vector of words from the row at p, of which n elements exist.
template <bool kPairs>
XF_INLINE VF words_along(const Bf16 *p, int64_t n) {
    if constexpr (kPairs) {
        VU words{};
        if (n >= 2 * kW)
            words = *reinterpret_cast<const VUHalfMem *>(p);
        else
            __builtin_memcpy(&words, p, static_cast<size_t>(n) * sizeof(Bf16));
        return reinterpret_cast<VF>(words);
    } else {
        const VH x = n >= kW ? load_half(p) : load_half_n(p, n);
        return widen_bf16(swap_pairs(x, std::make_integer_sequence<int, kW>()));
    }
}

// Like pack_transpose() in gemm_tile.inl, for packed words: src[0 .. n)[k] -> dst[k][0 .. n).
template <bool kPairs>
static void pack_words(const Bf16 *src, int64_t step, int64_t depth, int64_t n, int64_t width, float *dst) {
    constexpr int64_t kTaken = kPairs ? 2 * kW : kW;  // elements per vector
    VF rows[kW];
    for (int64_t k = 0; k < depth; k += kTaken, dst += kW * width) {
        for (int i = 0; i < kW; ++i) rows[i] = i < n ? words_along<kPairs>(src + i * step + k, depth - k) : VF{};
        transpose(rows);
        const int64_t words = min64(kW, words_of<kPairs>(depth - k));
        for (int64_t i = 0; i < words; ++i) store(dst + i * width, rows[i]);
    }
}

// Packs kW neighbors of an even row of K and of the odd row after it, into one row of pairs or into two fp32 rows.
template <bool kPairs>
XF_INLINE void put_words(VH even, VH odd, float *dst, int64_t width, int64_t n) {
    const VU low = __builtin_convertvector(even, VU), high = __builtin_convertvector(odd, VU) << 16;
    if constexpr (kPairs) {
        put(dst, reinterpret_cast<VF>(low | high), n);
    } else {
        put(dst, reinterpret_cast<VF>(high), n);
        put(dst + width, reinterpret_cast<VF>(low << 16), n);
    }
}

template <bool kPairs>
static void pack_b_bf16(const Bf16 *b, int64_t row, int64_t col, int64_t depth, int64_t n, float *dst) {
    const int64_t words = words_of<kPairs>(depth);
    if (col != 1) {
        for (int64_t j = 0; j < n; j += kCols)
            for (int64_t v = 0; v < kCols; v += kW)
                pack_words<kPairs>(b + (j + v) * col, col, depth, max64(0, min64(kW, n - j - v)), kCols,
                                   dst + j * words + v);
        return;
    }
    for (int64_t k = 0; k < depth; k += 2) {
        const Bf16 *even = b + k * row, *odd = even + row;
        float *out = dst + words_of<kPairs>(k) * kCols;
        const bool two = k + 1 < depth;
        for (int64_t j = 0; j < n; j += kCols) {
            __builtin_prefetch(even + kAhead * row + j);
            __builtin_prefetch(odd + kAhead * row + j);
#pragma GCC unroll 4
            for (int v = 0; v < kCols; v += kW) {
                const int64_t at = j + v, left = n - at;
                const VH x = left >= kW ? load_half(even + at) : load_half_n(even + at, max64(0, left));
                const VH y = !two ? VH{} : left >= kW ? load_half(odd + at) : load_half_n(odd + at, max64(0, left));
                put_words<kPairs>(x, y, out + j * words + v, kCols, kW);
            }
        }
    }
}

// Like pack_a() in gemm_tile.inl.
template <bool kPairs>
static void pack_a_bf16(const Bf16 *a, int64_t row, int64_t col, int64_t depth, int64_t rows, int64_t valid,
                        float *dst) {
    const int64_t panels = ceil_div(rows, kRows), words = words_of<kPairs>(depth);
    if (row != 1) {
        for (int64_t p = 0; p < panels; ++p) {
            const int64_t r0 = rows * p / panels, height = rows * (p + 1) / panels - r0;
            pack_words<kPairs>(a + r0 * row, row, depth, height, height, dst + r0 * words);
        }
        return;
    }
    int64_t begin[kMostPanels + 1];
    for (int64_t p = 0; p <= panels; ++p) begin[p] = rows * p / panels;
    for (int64_t k = 0; k < depth; k += 2) {
        const Bf16 *even = a + k * col, *odd = even + col;
        const bool two = k + 1 < depth;
        for (int64_t i = 0; i < rows; i += 32) {
            __builtin_prefetch(even + kAhead * col + i);
            __builtin_prefetch(odd + kAhead * col + i);
        }
        for (int64_t p = 0; p < panels; ++p) {
            const int64_t r0 = begin[p], height = begin[p + 1] - r0, at = words_of<kPairs>(k);
            const bool whole = r0 + kW <= valid;
            const VH x = whole ? load_half(even + r0) : load_half_n(even + r0, height);
            const VH y = !two ? VH{} : whole ? load_half(odd + r0) : load_half_n(odd + r0, height);
            // A vector store spills into the next steps of k, which are written later. At the end of the panel only
            // `height` words may be stored.
            const bool room = (words - at - (kPairs ? 0 : 1)) * height >= kW;
            put_words<kPairs>(x, y, dst + r0 * words + at * height, height, room ? kW : height);
        }
    }
}

#if defined(XF_ISA_AVX512)
// vdpbf16ps as inline assembly, because this file is also compiled for CPUs without it and so that each sum stays in
// its register.
XF_INLINE void add_pairs(VF *sum, VI a, VI b) { __asm__("vdpbf16ps %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b)); }

template <int H>
static void gemm_bf16_tile(int64_t words, const float *a, const float *b, float *c) {
    VF acc[H][kVecs];
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVecs; ++v) acc[i][v] = VF{};
    }
    for (int64_t k = 0; k < words; ++k) {
        VI x[kVecs];
#pragma GCC unroll 4
        for (int v = 0; v < kVecs; ++v) x[v] = *reinterpret_cast<const VI *>(b + v * kW);
#pragma GCC unroll 16
        for (int i = 0; i < H; ++i) {
            int32_t pair;
            __builtin_memcpy(&pair, a + i, sizeof pair);
            const VI y = pair - VI{};
#pragma GCC unroll 4
            for (int v = 0; v < kVecs; ++v) add_pairs(&acc[i][v], x[v], y);
        }
        a += H;
        b += kCols;
    }
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVecs; ++v) store(c + i * kCols + v * kW, acc[i][v]);
    }
}

typedef void (*PairsFn)(int64_t, const float *, const float *, float *);
constexpr PairsFn kPairTiles[] = {nullptr,
                                  gemm_bf16_tile<1>,
                                  gemm_bf16_tile<2>,
                                  gemm_bf16_tile<3>,
                                  gemm_bf16_tile<4>,
                                  gemm_bf16_tile<5>,
                                  gemm_bf16_tile<6>,
                                  gemm_bf16_tile<7>,
                                  gemm_bf16_tile<8>,
                                  gemm_bf16_tile<9>,
                                  gemm_bf16_tile<10>,
                                  gemm_bf16_tile<11>,
                                  gemm_bf16_tile<12>,
                                  gemm_bf16_tile<13>,
                                  gemm_bf16_tile<14>};
#endif

// The sums of a tile over one block of K, [height, kCols].
template <bool kPairs>
XF_INLINE void block_sums(int64_t height, int64_t words, const float *a, const float *b, float *sums) {
#if defined(XF_ISA_AVX512)
    if constexpr (kPairs) return kPairTiles[height](words, a, b, sums);
#endif
#if defined(XF_ISA_NEON)
    clear_underflow();
#endif
    kTiles[height](words, a, b, sums, kCols, kCols, Finish{});
#if defined(XF_ISA_NEON)
    if (underflowed()) exact_tile(height, words, a, b, sums);
#endif
}

// The epilogue of a tile at row m and column n of C. partial: the sums of the previous blocks, if C is bf16.
template <class C>
static void finish_tile(const Product<Bf16, C> &g, const float *sums, int64_t m, int64_t n, int64_t height, bool first,
                        bool last, float *partial) {
    for (int64_t i = 0; i < height; ++i)
        for (int64_t v = 0; v < kCols && n + v < g.N; v += kW) {
            const int64_t at = n + v, count = min64(kW, g.N - at);
            C *c = g.c + (m + i) * g.ldc + at;
            float *before = partial + (m + i) * g.N + at;
            VF y = load(sums + i * kCols + v);
            if constexpr (sizeof(C) == 4) {
                if (g.accumulate || !first) y += get(c, count);
            } else {
                if (!first) y += get(before, count);
                if (!last) {
                    put(before, y, count);
                    continue;
                }
                if (g.accumulate) y += get(c, count);
            }
            if (g.bias && last) y += get(g.bias + at, count);
            if (g.relu && last) y = vrelu(y);
            if (g.mask && last) y = get(g.mask + (m + i) * g.ld_mask + at, count) <= VF{} ? VF{} : y;
            put(c, y, count);
        }
}

// See Fp32Packing.
template <bool kPairs>
struct Bf16Packing {
    static int64_t words(int64_t depth) { return words_of<kPairs>(depth); }
    static void a(const Bf16 *a, int64_t row, int64_t col, int64_t depth, int64_t rows, int64_t valid, float *dst) {
        pack_a_bf16<kPairs>(a, row, col, depth, rows, valid, dst);
    }
    static void b(const Bf16 *b, int64_t row, int64_t col, int64_t depth, int64_t n, float *dst) {
        pack_b_bf16<kPairs>(b, row, col, depth, n, dst);
    }
    template <class C>
    static void multiply(const Product<Bf16, C> &g, int64_t m0, int64_t m1, int64_t n0, int64_t n1, int64_t k,
                         int64_t depth, const float *range_a, const float *b, float *partial) {
        const FlushDenormals flush;
        const int64_t rows = m1 - m0, panels = ceil_div(rows, kRows), count = words(depth);
        alignas(64) float sums[kRows * kCols];
        for (int64_t n = n0; n < n1; n += kCols)
            for (int64_t p = 0; p < panels; ++p) {
                const int64_t r0 = rows * p / panels, height = rows * (p + 1) / panels - r0;
                for (int64_t i = 0; i < height; ++i) __builtin_prefetch(g.c + (m0 + r0 + i) * g.ldc + n, 1);
                block_sums<kPairs>(height, count, range_a + r0 * count, b + n * count, sums);
                finish_tile(g, sums, m0 + r0, n, height, k == 0, k + depth >= g.K, partial);
            }
    }
};

// As for fp32.
template <class C>
static void gemm(const xf_stream *stream, const Product<Bf16, C> &g, const GemmPlan &plan, float *packed) {
#if defined(XF_ISA_AVX512)
    if (stream->device->bf16_dot) return gemm_packed<Bf16Packing<true>>(stream, g, plan, packed);
#endif
    gemm_packed<Bf16Packing<false>>(stream, g, plan, packed);
}
