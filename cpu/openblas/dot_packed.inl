// The product of dot.inl for many rows with AVX2, whose 16 registers hold the sums of 3 rows x 4 columns for one half
// of the lanes.
//
// Rows are packed once for all columns. For each block of K and tile of 3 rows, the elements of the lower half of the
// lanes come first, then those of the upper half. A tile then reads one stream of packed rows and four streams of
// weights, which are not packed. The sums and their order are those of dot_tile().
//
// SPDX-License-Identifier: Apache-2.0

#if defined(XF_ISA_AVX2)
constexpr bool kPacksRows = true;
#else
constexpr bool kPacksRows = false;
#endif
constexpr int kPackedTile = 3;                     // rows
constexpr int kPackedWidth = 4;                    // columns
constexpr int64_t kPackedGroup = 2 * kPackedTile;  // rows that stay in the L1 cache while the columns pass

constexpr int64_t kRowUnit = kPacksRows ? kPackedTile : 1;  // row ranges begin at multiples of this

// Packed rows for packed_panel(). numbers is NULL if packing is not worthwhile. M: the number of packed rows.
struct PackedRows {
    const float *numbers;
    int64_t M;
};

XF_INLINE bool packs_rows(int64_t M) { return kPacksRows && M > kDotRows; }
XF_INLINE int64_t packed_bytes(int64_t M, int64_t K) { return packs_rows(M) ? M * round_up(K, kLanes) * 4 : 0; }
// Offset of the tile that begins with row m, in the block of len elements from k on.
XF_INLINE int64_t packed_at(int64_t M, int64_t k, int64_t len, int64_t m) { return M * k + m * round_up(len, kLanes); }

template <int R>
XF_INLINE void pack_tile(const float *src, int64_t ld, int64_t len, float *dst) {
    for (int part = 0; part < kParts; ++part)
        for (int64_t k = part * kW; k - part * kW < len; k += kLanes) {
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r, dst += kW)
                store(dst, k + kW <= len ? load(src + r * ld + k) : load_n(src + r * ld + k, len - k));
        }
}

// Packs rows 0 .. M - 1 of a source into `memory`, of packed_bytes().
static PackedRows pack_source(const xf_stream *stream, const float *src, int64_t ld, int64_t K, int64_t M,
                              void *memory) {
    float *numbers = static_cast<float *>(memory);
    const int64_t tiles = ceil_div(M, kPackedTile), each = max64(1, 16384 / max64(1, kPackedTile * K));
    parallel(stream, ceil_div(tiles, each), [&](int64_t task, int32_t) {
        for (int64_t m = task * each * kPackedTile; m < min64(M, (task + 1) * each * kPackedTile); m += kPackedTile)
            for (int64_t k = 0; k < K; k += kDotDepth) {
                const int64_t len = min64(kDotDepth, K - k);
                float *dst = numbers + packed_at(M, k, len, m);
                if (M - m >= 3)
                    pack_tile<3>(src + m * ld + k, ld, len, dst);
                else if (M - m == 2)
                    pack_tile<2>(src + m * ld + k, ld, len, dst);
                else
                    pack_tile<1>(src + m * ld + k, ld, len, dst);
            }
    });
    return {numbers, M};
}

// Computes one tile over a block of K. ahead: two columns of weights to prefetch for a later tile. near: prefetch to
// the L1 cache instead of L2.
template <int R, class W>
static void packed_tile(const float *rows, const W *weights, int64_t ld_weights, const W *ahead, bool near, int64_t len,
                        int64_t cols, const DotOut &out) {
    constexpr int C = kPackedWidth;
    const W *w[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) w[c] = weights + min64(c, cols - 1) * ld_weights;
    Lanes sums[R][C];
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) {
        VF acc[R][C];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) acc[r][c] = VF{};
        }
        int64_t k = part * kW;
        for (; k + (kLanes - part * kW) <= len; k += kLanes, rows += R * kW) {
            VF y[R];
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) y[r] = load(rows + r * kW);
            if (near)
                __builtin_prefetch(ahead + part * ld_weights + k, 0, 3);
            else
                __builtin_prefetch(ahead + part * ld_weights + k, 0, 2);
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) {
                const VF x = load(w[c] + k);
#pragma GCC unroll 4
                for (int r = 0; r < R; ++r) acc[r][c] = fma(y[r], x, acc[r][c]);
            }
        }
        if (len % kLanes != 0) {
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) {
                const VF x = load_n(w[c] + k, len - k);
#pragma GCC unroll 4
                for (int r = 0; r < R; ++r) acc[r][c] = fma(load(rows + r * kW), x, acc[r][c]);
            }
            rows += R * kW;
        }
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) sums[r][c].part[part] = acc[r][c];
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) finish_dots(hsum4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]), cols, out.at(r, 0));
}

template <class W>
constexpr void (*kPackedTiles[])(const float *, const W *, int64_t, const W *, bool, int64_t, int64_t,
                                 const DotOut &) = {nullptr, packed_tile<1, W>, packed_tile<2, W>, packed_tile<3, W>};

// Computes rows [m0, m1) x `columns` columns for the block [k, k + len). weights points to the first column; columns
// are ld_weights apart. m0 is a multiple of kPackedTile. cached: the panel is in the cache already. next: the panel
// after this one. out: at row m0 and the first column.
template <class W, class Next>
static void packed_panel(const PackedRows &rows, int64_t m0, int64_t m1, int64_t k, int64_t len, const W *weights,
                         int64_t ld_weights, bool cached, int64_t columns, PanelPrefetch<Next> &next,
                         const DotOut &out) {
    // Columns whose distance is a multiple of 4 KiB map to the same sets of the L1 cache, which has no space for more
    // of them.
    const bool crowded = ld_weights * sizeof(W) % 4096 == 0;
    for (int64_t g0 = m0; g0 < m1; g0 += kPackedGroup) {
        const int64_t g1 = min64(m1, g0 + kPackedGroup);
        const bool near = g0 > m0 || cached;  // the first group loads the columns from memory
        for (int64_t n = 0; n < columns; n += kPackedWidth) {
            next.fetch(kPackedWidth);
            int64_t then = n + 2 * kTilesAhead<W> * kPackedWidth;
            if (near) then = crowded ? n : n + kPackedWidth < columns ? n + kPackedWidth : 0;
            for (int64_t m = g0; m < g1; m += kPackedTile, then += 2)
                kPackedTiles<W>[min64(kPackedTile, m1 - m)](
                    rows.numbers + packed_at(rows.M, k, len, m), weights + n * ld_weights, ld_weights,
                    weights + then * ld_weights, near, len, min64(kPackedWidth, columns - n), out.at(m - m0, n));
        }
    }
}
