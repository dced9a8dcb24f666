// Row-invariant linear map for decoding: dst = act(src weights^T + bias) on weights as they lie, [N, K].
//
// Every number is a dot product along K: kLanes partial sums over a block of K, a fixed tree over the lanes, the
// blocks added in rising order. Rows and columns are blocked only to share loads, so a row's bits depend on that row
// and on the weights alone. Nothing is packed: at few rows the time is the time to stream the weights once, and a
// second copy of the model would cost memory. Tiles are kDotRows x 4 or a few rows x more columns.
//
// SPDX-License-Identifier: Apache-2.0

#if defined(XF_ISA_AVX512)
constexpr int kDotRows = 6;
#elif defined(XF_ISA_AVX2)
constexpr int kDotRows = 4;
#else
constexpr int kDotRows = 2;
#endif
constexpr int64_t kDotDepth = 512;  // 6 rows are 12 KiB
constexpr int64_t kDotPanel = 64;   // columns that stay in the L2 cache for all rows; twice that if K is small

// How many tiles ahead weights are fetched: the bytes of one of fp32. To the L2 cache, which has room for many more
// lines on their way than L1 (on Zen 4, one row: 1.3 times in fp32, 3 times in 16 bits).
template <class W>
constexpr int64_t kTilesAhead = 4 / sizeof(W);

// R rows x C columns of the block [0, len) of K; C is 4 or 8, of which cols are stored.
template <int R, int C, class W>
static void dot_tile(const float *src, int64_t ld_src, const W *weights, int64_t ld_weights, int64_t len, int64_t cols,
                     float *dst, int64_t ld_dst, bool load_dst, const float *bias, bool relu) {
    const W *w[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) w[c] = weights + min64(c, cols - 1) * ld_weights;
    // A pass for each part of the lanes and, with many rows, half of the columns: all at once need more registers than
    // there are.
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
            // 16 registers: up to 12 sums, the rows, and one column at a time.
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
        for (int c = 0; c < C; c += 4) {
            V4 y = hsum4(sums[r][c], sums[r][c + 1], sums[r][c + 2], sums[r][c + 3]);
            float *out = dst + r * ld_dst + c;
            if (c + 4 <= cols) {
                if (load_dst) y += *reinterpret_cast<const V4Mem *>(out);
                if (bias) y += *reinterpret_cast<const V4Mem *>(bias + c);
                if (relu) y = y < V4{} ? V4{} : y;
                *reinterpret_cast<V4Mem *>(out) = y;
                continue;
            }
            for (int64_t i = 0; i < cols - c; ++i) {
                float x = y[i];
                if (load_dst) x += out[i];
                if (bias) x += bias[c + i];
                if (relu) x = x < 0.0f ? 0.0f : x;
                out[i] = x;
            }
        }
    }
}

template <class W>
using DotFn = void (*)(const float *, int64_t, const W *, int64_t, int64_t, int64_t, float *, int64_t, bool,
                       const float *, bool);
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

// All of rows [m0, m1) x columns [n0, n1); src and bias of a are fp32 here; dst is at row m0, column n0. A panel of
// columns, a block of K deep, stays in the L2 cache while groups of rows, each in the L1 cache, pass over it: as fp32
// in wide, where that is given, else as it lies.
template <class W>
static void dot_rows(const xf_linear_fwd &a, int64_t m0, int64_t m1, int64_t n0, int64_t n1, float *wide, float *dst,
                     int64_t ld_dst) {
    const W *const weights = reinterpret_cast<const W *>(a.weights);
    constexpr int64_t kLine = 64 / sizeof(W);
    const bool relu = a.flags & XF_LINEAR_RELU;
    const int64_t groups = ceil_div(m1 - m0, kDotRows);
    const int64_t width = a.K <= 2 * kDotDepth ? 2 * kDotPanel : kDotPanel;
    for (int64_t panel = n0; panel < n1; panel += width) {
        const int64_t panel_end = min64(n1, panel + width);
        for (int64_t k = 0; k < a.K; k += kDotDepth) {
            const int64_t len = min64(kDotDepth, a.K - k);
            const bool last = k + len == a.K;
            for (int64_t n = panel; wide && n < panel_end; ++n)
                widen_row(weights + n * a.K + k, len, wide + (n - panel) * kDotDepth);
            for (int64_t group = 0; group < groups; ++group) {
                const int64_t r0 = m0 + (m1 - m0) * group / groups, r1 = m0 + (m1 - m0) * (group + 1) / groups;
                const int64_t step = kDotWidth[r1 - r0];
                // This group's share of the next panel, a few lines per tile.
                const int64_t next = panel + width + width * group / groups;
                const int64_t next_end = min64(n1, panel + width + width * (group + 1) / groups);
                const W *ahead = weights + next * a.K + k;
                int64_t line = 0;
                const int64_t lines = groups > 1 && next < next_end ? (next_end - next) * len / kLine : 0;
                const int64_t per_tile = ceil_div(lines * step, width), per_row = max64(1, len / kLine);
                for (int64_t n = panel; n < panel_end; n += step) {
                    for (int64_t i = 0; i < per_tile && line < lines; ++i, ++line)
                        __builtin_prefetch(ahead + line / per_row * a.K + line % per_row * kLine, 0, 2);
                    const float *src = num<float>(a.src) + r0 * a.ld_src + k;
                    const float *bias = a.bias && last ? num<float>(a.bias) + n : nullptr;
                    float *out = dst + (r0 - m0) * ld_dst + (n - n0);
                    const int64_t cols = min64(step, panel_end - n);
                    if (wide)
                        kDots<float>[r1 - r0](src, a.ld_src, wide + (n - panel) * kDotDepth, kDotDepth, len, cols, out,
                                              ld_dst, k > 0, bias, relu && last);
                    else
                        kDots<W>[r1 - r0](src, a.ld_src, weights + n * a.K + k, a.K, len, cols, out, ld_dst, k > 0,
                                          bias, relu && last);
                }
            }
        }
    }
}

// Room of a worker for dot_block(): a panel of 16-bit numbers is widened once for many rows, and in registers for few,
// where reading it is all the time.
XF_INLINE int64_t wide_bytes(uint32_t type, int64_t rows) {
    const bool half = type == XF_WEIGHTS_BF16 || type == XF_WEIGHTS_FP16;
    return half && rows > 2 * kDotRows ? 2 * kDotPanel * kDotDepth * 4 : 0;
}

// The same for a matrix of any type; rows: of XF_WEIGHTS_INT8, quantised before, and n0 is a multiple of kGroup then.
// wide: wide_bytes() of memory, or null.
static void dot_block(const xf_stream *stream, const xf_linear_fwd &a, const Int8Rows &rows, int64_t m0, int64_t m1,
                      int64_t n0, int64_t n1, float *wide, float *dst, int64_t ld_dst) {
    switch (a.weights_type) {
        case XF_WEIGHTS_BF16:
            return dot_rows<Bf16>(a, m0, m1, n0, n1, wide, dst, ld_dst);
        case XF_WEIGHTS_FP16:
            return dot_rows<Fp16>(a, m0, m1, n0, n1, wide, dst, ld_dst);
        case XF_WEIGHTS_INT8:
            return int8_block(stream, a, rows, m0, m1, n0, n1, dst, ld_dst);
        default:
            return dot_rows<float>(a, m0, m1, n0, n1, nullptr, dst, ld_dst);
    }
}

// Rows of bf16 as fp32, [count, K].
static void widen_rows(const xf_stream *stream, const Bf16 *src, int64_t ld_src, int64_t K, int64_t count, float *dst) {
    const int64_t tile = max64(1, 16384 / max64(1, K));
    parallel(stream, ceil_div(count, tile), [&](int64_t task, int32_t) {
        for (int64_t m = task * tile; m < min64(count, (task + 1) * tile); ++m)
            read_row(src + m * ld_src, K, dst + m * K);
    });
}

// Rows from src on as fp32, [count, K]: where they lie, or widened into memory.
XF_INLINE const float *source_rows(const xf_stream *, const float *src, int64_t, int64_t, void *) { return src; }
XF_INLINE const float *source_rows(const xf_stream *stream, const Bf16 *src, int64_t K, int64_t count, void *memory) {
    float *rows = static_cast<float *>(memory);
    widen_rows(stream, src, K, K, count, rows);
    return rows;
}

// Turns the map of a stream of bf16 into one of fp32 with bf16 weights, which dst alone is not: source and bias are
// widened into the stream's shared memory.
static int32_t widen_source(xf_stream *stream, xf_linear_fwd *a, xf_error *err) {
    const int64_t bias_at = padded(a->M * a->K * 4), all = bias_at + padded(a->N * 4);
    if (const int32_t rc = reserve(stream, &stream->shared, static_cast<size_t>(all), err)) return rc;
    float *src = shared(stream), *bias = src + bias_at / 4;
    widen_rows(stream, num<Bf16>(a->src), a->ld_src, a->K, a->M, src);
    if (a->bias) read_row(num<Bf16>(a->bias), a->N, bias);
    a->src = src, a->ld_src = a->K;
    a->bias = a->bias ? bias : nullptr;
    a->weights_type = XF_WEIGHTS_BF16;
    return XF_OK;
}

// Tasks of some ten microseconds: about half a million multiply-adds, in int8 64 KiB of weights; at most about a
// hundred across the columns.
template <class T>
static int32_t dot_linear(xf_stream *stream, const xf_linear_fwd &args, xf_error *err) {
    xf_linear_fwd a = args;
    const bool int8 = a.weights_type == XF_WEIGHTS_INT8;
    const int64_t row_tile = 192, row_tiles = ceil_div(a.M, row_tile), rows = ceil_div(a.M, row_tiles);
    Int8Rows quantised{};
    if (int8) {
        const auto all = static_cast<size_t>(int8_rows_bytes(a.M, a.K));
        if (const int32_t rc = reserve(stream, &stream->shared, all, err)) return rc;
        quantised = quantize_rows(stream, num<float>(a.src), a.ld_src, a.K, 0, a.M, stream->shared.ptr);
    }
    const int64_t work = int8 ? max64(1, a.K) * max64(1, rows / 8) : max64(1, rows * a.K);
    const int64_t unit = int8 ? kGroup : 16, want = max64(a.N / 96, ceil_div(int64_t{1} << (int8 ? 16 : 19), work));
    const int64_t col_tile = min64(round_up(a.N, int8 ? kGroup : 8), max64(unit, round_up(want, unit)));
    const int64_t col_tiles = ceil_div(a.N, col_tile);
    if constexpr (sizeof(T) == 2)
        if (const int32_t rc = widen_source(stream, &a, err)) return rc;
    const int64_t wide_size = wide_bytes(a.weights_type, rows), results = sizeof(T) == 2 ? rows * col_tile * 4 : 0;
    if (const int32_t rc = reserve_local(stream, wide_size + results, err)) return rc;
    parallel(stream, row_tiles * col_tiles, [&](int64_t task, int32_t worker) {
        float *const memory = local(stream, wide_size + results, worker);
        float *wide = wide_size > 0 ? memory + results / 4 : nullptr;
        const int64_t m0 = task / col_tiles * rows, m1 = min64(a.M, m0 + rows);
        const int64_t n0 = task % col_tiles * col_tile, n1 = min64(a.N, n0 + col_tile);
        if (m0 >= m1) return;
        T *dst = num<T>(a.dst) + m0 * a.ld_dst + n0;
        if constexpr (sizeof(T) == 2) {
            dot_block(stream, a, quantised, m0, m1, n0, n1, wide, memory, col_tile);
            for (int64_t m = 0; m < m1 - m0; ++m) write_row(dst + m * a.ld_dst, memory + m * col_tile, n1 - n0);
        } else {
            dot_block(stream, a, quantised, m0, m1, n0, n1, wide, dst, a.ld_dst);
        }
    });
    return XF_OK;
}
