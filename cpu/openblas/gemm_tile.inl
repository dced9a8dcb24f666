// Register tiles of the fp32 product in gemm.inl: packing of the operands into panels, and the kernel that accumulates
// a kRows x kCols tile of C in registers.
//
// SPDX-License-Identifier: Apache-2.0

#if defined(XF_ISA_AVX512)
constexpr int kRows = 14, kVecs = 2;
#elif defined(XF_ISA_AVX2)
constexpr int kRows = 6, kVecs = 2;
#elif defined(XF_ISA_NEON)
constexpr int kRows = 4, kVecs = 4;
#else
constexpr int kRows = 4, kVecs = 2;
#endif
static_assert(kRows <= kW, "a panel of A is packed with one vector per step of K");
constexpr int kCols = kVecs * kW;
constexpr int64_t kDepth = 512;      // largest depth of a block of K
constexpr int64_t kMostPanels = 96;  // panels of A in one task; see coarse_grid()
constexpr int64_t kAhead = 16;       // prefetch distance of packing, in rows

// The epilogue of a tile of C at the end of a block of K.
struct Finish {
    bool load;  // add the values already in C
    bool relu;
    const float *bias;  // at the tile's first column
    const float *mask;  // at the tile's first element
    int64_t ld_mask;
};

// Copies src[k][0 .. n) to dst[k][0 .. width); elements from n on become zero.
XF_INLINE void pack_copy(const float *src, int64_t step, int64_t depth, int64_t n, int64_t width, float *dst) {
    for (int64_t k = 0; k < depth; ++k, src += step, dst += width) {
        int64_t i = 0;
        for (; i + kW <= n; i += kW) store(dst + i, load(src + i));
        if (i < n) {
            store_n(dst + i, load_n(src + i, n - i), min64(kW, width - i));
            i += kW;
        }
        for (; i < width; ++i) dst[i] = 0.0f;
    }
}

// Transposes src[0 .. n)[k] to dst[k][0 .. n), for n <= kW rows; rows of dst are `width` apart. Each store writes kW
// floats, so a row may spill into the next one, which is written later. The buffer needs kW floats of slack at its end.
template <class T>
XF_INLINE void pack_transpose(const T *src, int64_t step, int64_t depth, int64_t n, int64_t width, float *dst) {
    VF rows[kW];
    int64_t k = 0;
    for (; k < depth; k += kW) {
        const int64_t left = depth - k;
        if (left >= kW) {
            for (int i = 0; i < kW; ++i) rows[i] = i < n ? load(src + i * step + k) : VF{};
        } else {
            for (int i = 0; i < kW; ++i) rows[i] = i < n ? load_n(src + i * step + k, left) : VF{};
        }
        transpose(rows);
        if (left >= kW) {
#pragma GCC unroll 16
            for (int i = 0; i < kW; ++i) store(dst + (k + i) * width, rows[i]);
        } else {
            for (int64_t i = 0; i < left; ++i) store(dst + (k + i) * width, rows[i]);
        }
    }
}

// Packs n columns of B into panels, `depth` rows each. The last panel is filled with zeros.
static void pack_b(const float *b, int64_t row, int64_t col, int64_t depth, int64_t n, float *dst) {
    if (col == 1) {
        // Row by row across all panels, so that B is read contiguously.
        const int64_t whole = n / kCols * kCols;
        for (int64_t k = 0; k < depth; ++k)
            for (int64_t j = 0; j < whole; j += kCols) {
                const float *from = b + k * row + j;
                __builtin_prefetch(from + kAhead * row);
                __builtin_prefetch(from + kAhead * row + 16);
#pragma GCC unroll 4
                for (int v = 0; v < kVecs; ++v) store(dst + j * depth + k * kCols + v * kW, load(from + v * kW));
            }
        if (whole < n) pack_copy(b + whole, row, depth, n - whole, kCols, dst + whole * depth);
        return;
    }
    for (int64_t j = 0; j < n; j += kCols)
        for (int64_t v = 0; v < kCols; v += kW)
            pack_transpose(b + (j + v) * col, col, depth, max64(0, min64(kW, n - j - v)), kCols, dst + j * depth + v);
}

// Packs `rows` rows of A into panels; panel p holds rows [rows p / panels, rows (p + 1) / panels). If row == 1, `valid`
// consecutive elements (at least `rows`) can be read at each step of k.
static void pack_a(const float *a, int64_t row, int64_t col, int64_t depth, int64_t rows, int64_t valid, float *dst) {
    const int64_t panels = ceil_div(rows, kRows);
    if (row != 1) {
        for (int64_t p = 0; p < panels; ++p) {
            const int64_t r0 = rows * p / panels, height = rows * (p + 1) / panels - r0;
            pack_transpose(a + r0 * row, row, depth, height, height, dst + r0 * depth);
        }
        return;
    }
    // A vector store spills into the next steps of k, which are written later. At the end of the panel only `height`
    // elements may be stored.
    int64_t begin[kMostPanels + 1];
    for (int64_t p = 0; p <= panels; ++p) begin[p] = rows * p / panels;
    for (int64_t k = 0; k < depth; ++k, a += col) {
        for (int64_t i = 0; i < rows; i += 16) __builtin_prefetch(a + kAhead * col + i);
        for (int64_t p = 0; p < panels; ++p) {
            const int64_t r0 = begin[p], height = begin[p + 1] - r0;
            float *out = dst + r0 * depth + k * height;
            const VF x = r0 + kW <= valid ? load(a + r0) : load_n(a + r0, height);
            if ((depth - k) * height >= kW)
                store(out, x);
            else
                store_n(out, x, height);
        }
    }
}

template <int H>
static void gemm_tile(int64_t depth, const float *a, const float *b, float *c, int64_t ldc, int64_t cols,
                      const Finish &f) {
    VF acc[H][kVecs];
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVecs; ++v) acc[i][v] = VF{};
        __builtin_prefetch(c + i * ldc, 1);
        __builtin_prefetch(c + i * ldc + 16, 1);
    }
    for (int64_t k = 0; k < depth; ++k) {
        VF x[kVecs];
#pragma GCC unroll 4
        for (int v = 0; v < kVecs; ++v) x[v] = *reinterpret_cast<const VF *>(b + v * kW);
#pragma GCC unroll 16
        for (int i = 0; i < H; ++i) {
            const VF y = splat(a[i]);
#pragma GCC unroll 4
            for (int v = 0; v < kVecs; ++v) acc[i][v] = fma(y, x[v], acc[i][v]);
        }
        a += H;
        b += kCols;
    }
    if (cols == kCols) {
#pragma GCC unroll 16
        for (int i = 0; i < H; ++i) {
#pragma GCC unroll 4
            for (int v = 0; v < kVecs; ++v) {
                VF y = acc[i][v];
                float *out = c + i * ldc + v * kW;
                if (f.load) y += load(out);
                if (f.bias) y += load(f.bias + v * kW);
                if (f.relu) y = vrelu(y);
                if (f.mask) y = load(f.mask + i * f.ld_mask + v * kW) <= VF{} ? VF{} : y;
                store(out, y);
            }
        }
        return;
    }
    float rest[H][kCols];
#pragma GCC unroll 16
    for (int i = 0; i < H; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVecs; ++v) store(&rest[i][v * kW], acc[i][v]);
    }
    for (int i = 0; i < H; ++i) {
        for (int64_t j = 0; j < cols; ++j) {
            float y = rest[i][j];
            if (f.load) y += c[i * ldc + j];
            if (f.bias) y += f.bias[j];
            if (f.relu) y = y < 0.0f ? 0.0f : y;
            if (f.mask && f.mask[i * f.ld_mask + j] <= 0.0f) y = 0.0f;
            c[i * ldc + j] = y;
        }
    }
}

typedef void (*TileFn)(int64_t, const float *, const float *, float *, int64_t, int64_t, const Finish &);
constexpr TileFn kTiles[] = {
    nullptr,      gemm_tile<1>, gemm_tile<2>, gemm_tile<3>,  gemm_tile<4>,
#if defined(XF_ISA_AVX512) || defined(XF_ISA_AVX2)
    gemm_tile<5>, gemm_tile<6>,
#endif
#if defined(XF_ISA_AVX512)
    gemm_tile<7>, gemm_tile<8>, gemm_tile<9>, gemm_tile<10>, gemm_tile<11>, gemm_tile<12>, gemm_tile<13>, gemm_tile<14>,
#endif
};
