// Row-invariant linear map for decoding: dst = act(src weights^T + bias), with weights [N, K] in their stored order.
//
// Each output element is a dot product along K: kLanes partial sums over a block of K, a fixed reduction tree over the
// lanes, and the blocks added in increasing order. Rows and columns are tiled only to share loads, so the bits of a row
// depend only on that row and the weights. Weights are not packed: with few rows the run time is the time to stream the
// weights once, and a second copy of the model would cost memory. Tiles are kDotRows x 4, or fewer rows x 8. The AVX2
// kernel for many rows is in dot_packed.inl, the operation itself in dot_linear.inl.
//
// SPDX-License-Identifier: Apache-2.0

#if defined(XF_ISA_AVX512)
constexpr int kDotRows = 6;
#elif defined(XF_ISA_AVX2) || defined(XF_ISA_NEON)
constexpr int kDotRows = 4;
#else
constexpr int kDotRows = 2;
#endif
constexpr int64_t kDotDepth = 512;  // 6 rows are 12 KiB
constexpr int64_t kDotPanel =
    64;  // columns of a panel, which stays in the L2 cache for all rows; doubled if K is small

// Prefetch distance of weights in tiles, equal to one fp32 tile in bytes. The prefetch goes to the L2 cache, which
// supports many more outstanding lines than L1 (measured on Zen 4 with one row: 1.3 times faster in fp32, 3 times in 16
// bits).
template <class W>
constexpr int64_t kTilesAhead = 4 / sizeof(W);

// The destination and epilogue of a tile.
struct DotOut {
    float *dst;
    int64_t ld;
    bool load;          // add the values already in dst
    const float *bias;  // at the column of dst, or NULL
    bool relu;
    DotOut at(int64_t row, int64_t column) const {
        return {dst + row * ld + column, ld, load, bias ? bias + column : nullptr, relu};
    }
};

// Applies the epilogue to four elements of a row and stores the first `cols` of them.
XF_INLINE void finish_dots(V4 y, int64_t cols, const DotOut &out) {
    if (cols >= 4) {
        if (out.load) y += *reinterpret_cast<const V4Mem *>(out.dst);
        if (out.bias) y += *reinterpret_cast<const V4Mem *>(out.bias);
        if (out.relu) y = y < V4{} ? V4{} : y;
        *reinterpret_cast<V4Mem *>(out.dst) = y;
        return;
    }
    for (int64_t i = 0; i < cols; ++i) {
        float x = y[i];
        if (out.load) x += out.dst[i];
        if (out.bias) x += out.bias[i];
        if (out.relu) x = x < 0.0f ? 0.0f : x;
        out.dst[i] = x;
    }
}

// Computes R rows x C columns over the block [0, len) of K. C is 4 or 8; `cols` of the columns are stored.
#if defined(XF_ISA_NEON)
#include "dot_neon.inl"
#else
template <int R, int C, class W>
static void dot_tile(const float *src, int64_t ld_src, const W *weights, int64_t ld_weights, int64_t len, int64_t cols,
                     const DotOut &out) {
    const W *w[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) w[c] = weights + min64(c, cols - 1) * ld_weights;
    // One pass per part of the lanes and, with many rows, per half of the columns. A single pass would need more
    // registers than exist.
    constexpr int kAtOnce = kParts > 1 && R * C > 12 ? C / 2 : C;
    Lanes sums[R][C];
#pragma GCC unroll 8
    for (int pass = 0; pass < kParts * C / kAtOnce; ++pass) {
        const int part = pass % kParts, first = pass / kParts * kAtOnce;
        VF acc[R][kAtOnce];
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
            for (int c = 0; c < kAtOnce; ++c) acc[r][c] = VF{};
        }
        int64_t k = part * kW;
        for (; k + (kLanes - part * kW) <= len; k += kLanes) {
#if defined(XF_ISA_AVX2)
            // AVX2 has 16 registers: up to 12 sums, the rows, and one column at a time.
            VF y[R];
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) y[r] = load(src + r * ld_src + k);
#pragma GCC unroll 8
            for (int c = 0; c < kAtOnce; ++c) {
                const VF x = load(w[first + c] + k);
                if (part == 0) __builtin_prefetch(w[first + c] + k + kTilesAhead<W> * C * ld_weights, 0, 2);
#pragma GCC unroll 8
                for (int r = 0; r < R; ++r) acc[r][c] = fma(y[r], x, acc[r][c]);
            }
#else
            VF x[kAtOnce];
#pragma GCC unroll 8
            for (int c = 0; c < kAtOnce; ++c) {
                x[c] = load(w[first + c] + k);
                if (R <= 4 && (sizeof(W) == 4 || k % (2 * kW) == 0))
                    __builtin_prefetch(w[first + c] + k + kTilesAhead<W> * C * ld_weights, 0, 2);
            }
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
                const VF y = load(src + r * ld_src + k);
#pragma GCC unroll 8
                for (int c = 0; c < kAtOnce; ++c) acc[r][c] = fma(y, x[c], acc[r][c]);
            }
#endif
        }
        if (len % kLanes != 0) {
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
                const VF y = load_n(src + r * ld_src + k, len - k);
#pragma GCC unroll 8
                for (int c = 0; c < kAtOnce; ++c) acc[r][c] = fma(y, load_n(w[first + c] + k, len - k), acc[r][c]);
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
            for (int c = 0; c < kAtOnce; ++c) sums[r][first + c].part[part] = acc[r][c];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
        for (int c = 0; c < C; c += 4)
            finish_dots(hsum4(sums[r][c], sums[r][c + 1], sums[r][c + 2], sums[r][c + 3]), cols - c, out.at(r, c));
    }
}

#endif

template <class W>
using DotFn = void (*)(const float *, int64_t, const W *, int64_t, int64_t, int64_t, const DotOut &);
#if defined(XF_ISA_AVX512)
template <class W>
constexpr DotFn<W> kDots[] = {nullptr,           dot_tile<1, 8, W>, dot_tile<2, 8, W>, dot_tile<3, 8, W>,
                              dot_tile<4, 4, W>, dot_tile<5, 4, W>, dot_tile<6, 4, W>};
constexpr int kDotWidth[] = {0, 8, 8, 8, 4, 4, 4};
#else
template <class W>
constexpr DotFn<W> kDots[] = {nullptr, dot_tile<1, 4, W>, dot_tile<2, 4, W>, dot_tile<3, 4, W>, dot_tile<4, 4, W>};
constexpr int kDotWidth[] = {0, 4, 4, 4, 4};
#endif

// Prefetches the block [k, k + len) of the next panel of columns, a few cache lines per call.
template <class W>
struct PanelPrefetch {
    const W *row;
    int64_t ld, len, left, k, each;  // left: remaining columns; each: cache lines per computed column

    void fetch(int64_t columns) {
        for (int64_t i = 0; i < each * columns && left > 0; ++i) {
            __builtin_prefetch(row + k, 0, 2);
            k += 64 / sizeof(W);
            if (k >= len) k = 0, row += ld, --left;
        }
    }
};

#include "dot_packed.inl"

// Computes rows [m0, m1) x columns [n0, n1). src and bias of `a` are fp32 here; dst points to row m0, column n0. A
// panel of columns, one block of K deep, stays in the L2 cache while groups of rows that fit in the L1 cache pass over
// it. If `wide` is not NULL, the panel is widened there to fp32 first.
template <class W>
static void dot_rows(const xf_linear_fwd &a, const PackedRows &packed, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                     float *wide, float *dst, int64_t ld_dst) {
    const W *const weights = reinterpret_cast<const W *>(a.weights);
    const bool pack = packed.numbers && packs_rows(m1 - m0), relu = a.flags & XF_LINEAR_RELU;
    const int64_t groups = ceil_div(m1 - m0, pack ? kPackedGroup : kDotRows);
    const int64_t width = a.K <= 2 * kDotDepth ? 2 * kDotPanel : kDotPanel;
    for (int64_t panel = n0; panel < n1; panel += width) {
        const int64_t end = min64(n1, panel + width), after = groups > 1 ? min64(n1, end + width) : end;
        for (int64_t k = 0; k < a.K; k += kDotDepth) {
            const int64_t len = min64(kDotDepth, a.K - k);
            const bool last = k + len == a.K;
            for (int64_t n = panel; wide && n < end; ++n)
                widen_row(weights + n * a.K + k, len, wide + (n - panel) * kDotDepth);
            const int64_t lines = ceil_div(len * static_cast<int64_t>(sizeof(W)), 64);
            PanelPrefetch<W> next{weights + end * a.K + k, a.K, len, after - end, 0, ceil_div(lines, groups)};
            const DotOut out{dst + (panel - n0), ld_dst, k > 0, a.bias && last ? num<float>(a.bias) + panel : nullptr,
                             relu && last};
            if (pack && wide)
                packed_panel(packed, m0, m1, k, len, wide, kDotDepth, true, end - panel, next, out);
            else if (pack)
                packed_panel(packed, m0, m1, k, len, weights + panel * a.K + k, a.K, false, end - panel, next, out);
            for (int64_t group = 0; group < groups && !pack; ++group) {
                const int64_t r0 = m0 + (m1 - m0) * group / groups, r1 = m0 + (m1 - m0) * (group + 1) / groups;
                const int64_t step = kDotWidth[r1 - r0];
                const float *src = num<float>(a.src) + r0 * a.ld_src + k;
                for (int64_t n = panel; n < end; n += step) {
                    next.fetch(step);
                    const int64_t cols = min64(step, end - n);
                    const DotOut tile = out.at(r0 - m0, n - panel);
                    if (wide)
                        kDots<float>[r1 - r0](src, a.ld_src, wide + (n - panel) * kDotDepth, kDotDepth, len, cols,
                                              tile);
                    else
                        kDots<W>[r1 - r0](src, a.ld_src, weights + n * a.K + k, a.K, len, cols, tile);
                }
            }
        }
    }
}
