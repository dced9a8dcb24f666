// Packed matrix product for training: C (+)= A B, with bias, ReLU, or the gradient of a ReLU in the epilogue.
//
// The algorithm is Goto's (Goto & van de Geijn 2008, "Anatomy of high-performance matrix multiplication"). A block of
// B, at most kDepth deep in K, is packed once into panels of kCols columns that all workers share. Each task owns a
// range of rows of C and packs its rows of A into panels of up to kRows rows. A kernel accumulates a kRows x kCols tile
// of C in registers. Tasks are disjoint tiles of C, so no sum crosses tasks. With many workers the columns are split as
// well, and A is packed in advance for all tasks of a row range; see task_grid().
//
// The blocks of K depend only on K and are added in increasing order. An element of C therefore has the same bits for
// any M, any number of workers, and any position in C.
//
// SPDX-License-Identifier: Apache-2.0

constexpr int64_t kPackedFloats = 4 << 20;  // floats of B packed at a time: about the size of a last-level cache
constexpr int64_t kFewWorkers = 4;          // up to this number of workers use coarse_grid()
constexpr int64_t kTallest = 18 * 14;       // packed rows of A that fit in the L2 cache

// A is [M, K] with element (m, k) at a + m * a_row + k * a_col. B is [K, N] with element (k, n) at b + k * b_row + n *
// b_col. In each pair one stride is 1.
template <class T, class C = T>
struct Product {
    int64_t M, N, K;
    const T *a;
    int64_t a_row, a_col;
    const T *b;
    int64_t b_row, b_col;
    C *c;
    int64_t ldc;
    bool accumulate;
    const T *bias;  // [N] or NULL
    bool relu;
    const T *mask;  // [M, N] or NULL: C = 0 where it is <= 0
    int64_t ld_mask;
};
using Gemm = Product<float>;  // bf16: gemm_bf16.inl

// The begin of chunk i when n is split into `count` chunks whose sizes are multiples of `unit`; chunk i ends where
// chunk i + 1 begins.
XF_INLINE int64_t chunk_begin(int64_t n, int64_t count, int64_t i, int64_t unit) {
    return min64(n, ceil_div(n, unit) * i / count * unit);
}

// The tiling of C into tasks. It does not affect the values of C.
struct TaskGrid {
    int64_t ranges, splits;  // number of row ranges, number of column splits
    bool shared;             // A is packed once for all splits of a row range
};

// The grid for few workers: 16 to 18 panels of A per task when there is much work, otherwise fewer.
XF_INLINE TaskGrid coarse_grid(int64_t M, int64_t N) {
    const int64_t panels = ceil_div(M, kRows), low = kTallest / kRows;
    int64_t ranges = 1;
    if (panels >= 16 * low)
        ranges = round_up(panels / low, 16);
    else
        while (ranges < 16 && ranges * 2 * 4 <= panels) ranges *= 2;
    // With few rows, split the columns as well to get enough tasks.
    return {ranges, ranges >= 8 ? 1 : min64(16 / ranges, ceil_div(N, 4 * kCols)), false};
}

// The grid for many workers. Among the grids that give each worker a whole number of equal tasks, chooses the one with
// the shortest estimated time. The unit of time is one kRows x kCols kernel call per block of K; packing a panel of A,
// and fetching a packed panel of A or B that other tasks use as well, are estimated as fractions of it.
static TaskGrid task_grid(int64_t M, int64_t N, int64_t K, int64_t workers) {
    constexpr double kPack = 0.5, kFetchA = 0.1, kFetchB = 0.2;
    // A task of less than a few microseconds does not justify waking a worker.
    const double worth = static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K) / (1 << 18);
    if (worth < static_cast<double>(workers)) workers = static_cast<int64_t>(worth);
    TaskGrid best = coarse_grid(M, N);
    if (workers <= kFewWorkers) return best;
    const int64_t rows = ceil_div(M, kRows), cols = ceil_div(N, kCols), least = ceil_div(M, kTallest);
    double shortest = 1e300;
    for (int64_t splits = 1; splits <= min64(cols, workers); ++splits) {
        const int64_t waves = ceil_div(least * splits, workers);
        for (int64_t wave = waves; wave < waves + 4; ++wave) {
            const int64_t ranges = min64(rows, wave * workers / splits);
            if (ranges < least) continue;
            const double height = static_cast<double>(ceil_div(M, ranges)) / kRows;
            const double width = static_cast<double>(ceil_div(cols, splits));
            const double task = height * (width + (splits == 1 ? kPack : kFetchA)) + kFetchB * width;
            double time = task * static_cast<double>(ceil_div(ranges * splits, workers));
            if (splits > 1) time += kPack * static_cast<double>(rows) / static_cast<double>(workers);
            if (time < shortest) shortest = time, best = {ranges, splits, splits > 1};
        }
    }
    return best;
}

// Offset of a row range in a packed block of A that all tasks share, with `words` words per row. A gap of one vector
// after each range absorbs the overrun of pack_transpose(). block_offset() is the offset of a block of K.
XF_INLINE int64_t range_offset(int64_t m0, int64_t range, int64_t words) { return m0 * words + range * kW; }
XF_INLINE int64_t block_offset(int64_t M, const TaskGrid &grid, int64_t words, int64_t index) {
    return index * range_offset(M, grid.ranges, words);
}

// The fp32 policy of the algorithm: how operands are packed and multiplied.
struct Fp32Packing {
    // Words per row of A or column of B for `depth` elements of K.
    static int64_t words(int64_t depth) { return depth; }
    static void a(const float *a, int64_t row, int64_t col, int64_t depth, int64_t rows, int64_t valid, float *dst) {
        pack_a(a, row, col, depth, rows, valid, dst);
    }
    static void b(const float *b, int64_t row, int64_t col, int64_t depth, int64_t n, float *dst) {
        pack_b(b, row, col, depth, n, dst);
    }
    // Computes rows [m0, m1) and columns [n0, n1) of C for the block of K that begins at k. range_a holds these rows, b
    // all columns. The last parameter is unused: fp32 partial sums are kept in C.
    static void multiply(const Gemm &g, int64_t m0, int64_t m1, int64_t n0, int64_t n1, int64_t k, int64_t depth,
                         const float *range_a, const float *b, float *) {
        const int64_t rows = m1 - m0, panels = ceil_div(rows, kRows);
        Finish f{};
        const bool last = k + depth >= g.K;
        f.load = g.accumulate || k > 0;
        f.relu = g.relu && last;
        f.ld_mask = g.ld_mask;
        for (int64_t n = n0; n < n1; n += kCols) {
            const float *panel = b + n * depth;
            const int64_t cols = min64(kCols, g.N - n);
            f.bias = g.bias && last ? g.bias + n : nullptr;
            for (int64_t p = 0; p < panels; ++p) {
                const int64_t r0 = rows * p / panels, r1 = rows * (p + 1) / panels;
                f.mask = g.mask && last ? g.mask + (m0 + r0) * g.ld_mask + n : nullptr;
                kTiles[r1 - r0](depth, range_a + r0 * depth, panel, g.c + (m0 + r0) * g.ldc + n, g.ldc, cols, f);
            }
        }
    }
};

// The depth of the blocks of K. A bf16 block has the same size in bytes; its depth is even, so that no pair is split.
template <class T>
XF_INLINE int64_t gemm_block(int64_t K) {
    if (sizeof(T) == 4) return ceil_div(K, ceil_div(K, kDepth));
    return round_up(ceil_div(K, ceil_div(K, 2 * kDepth)), 2);
}
// How much of K is packed at a time, with `wide` elements per step of K.
XF_INLINE int64_t gemm_span(int64_t wide, int64_t K, int64_t block, int64_t most) {
    return min64(round_up(K, block), max64(1, most / (wide * block)) * block);
}

// The memory of a product. Separate from gemm() so that a caller can put its own data before the shared part.
struct GemmPlan {
    TaskGrid grid;
    int64_t block, span;
    int64_t a_at;           // offset of packed A, which follows packed B, if A is shared
    int64_t partial_at;     // offset of the sums of the previous blocks, [M, N] fp32, if C is bf16
    int64_t shared, local;  // bytes
};
// T is the element type of the operands, C that of the result.
template <class T, class C>
static GemmPlan gemm_plan(const xf_stream *stream, int64_t M, int64_t N, int64_t K) {
    GemmPlan p{task_grid(M, N, K, stream->workers), gemm_block<T>(K), 0, 0, 0, 0, 0};
    const int64_t wide = round_up(N, kCols);
    // Machines with many processors have larger caches and gain from fewer barriers.
    const int64_t times = p.grid.shared ? max64(1, min64(4, stream->workers / 16)) : 1;
    p.span = gemm_span(wide + (p.grid.shared ? M : 0), K, p.block, times * kPackedFloats);
    p.a_at = wide * p.span + kW;
    const int64_t shared_a = p.grid.shared ? p.span / p.block * range_offset(M, p.grid.ranges, p.block) + kW : 0;
    p.partial_at = p.a_at + shared_a;
    p.shared = (p.partial_at + (sizeof(C) < 4 && K > p.block ? M * N : 0)) * 4;
    p.local = p.grid.shared ? 0 : ((ceil_div(M, p.grid.ranges) + kRows) * p.block + kW) * 4;
    return p;
}

#include "gemm_blas.inl"

// Multiplies a row range with the packed blocks of B. packed_a: all of packed A if it is shared, otherwise memory for
// this range.
template <class Packing, class T, class C>
static void gemm_rows(const Product<T, C> &g, const GemmPlan &plan, int64_t range, int64_t n0, int64_t n1, int64_t k0,
                      int64_t k1, float *packed, float *packed_a) {
    const TaskGrid &grid = plan.grid;
    const int64_t m0 = g.M * range / grid.ranges, m1 = g.M * (range + 1) / grid.ranges, block = plan.block;
    for (int64_t k = k0; k < k1; k += block) {
        const int64_t depth = min64(block, k1 - k), words = Packing::words(depth);
        const float *range_a = packed_a;
        if (grid.shared)
            range_a +=
                block_offset(g.M, grid, Packing::words(block), (k - k0) / block) + range_offset(m0, range, words);
        else
            Packing::a(g.a + m0 * g.a_row + k * g.a_col, g.a_row, g.a_col, depth, m1 - m0, g.M - m0, packed_a);
        const float *b = packed + round_up(g.N, kCols) * Packing::words(k - k0);
        Packing::multiply(g, m0, m1, n0, n1, k, depth, range_a, b, packed + plan.partial_at);
    }
}

template <class Packing, class T, class C>
static void gemm_packed(const xf_stream *stream, const Product<T, C> &g, const GemmPlan &plan, float *packed) {
    const TaskGrid &grid = plan.grid;
    const int64_t block = plan.block, wide = round_up(g.N, kCols);
    // Elements of B packed per task.
    const int64_t fair = wide * plan.span / (4 * stream->workers);
    const int64_t most = stream->workers <= kFewWorkers ? 65536 : max64(8192, min64(65536, fair));
    const int64_t group = max64(1, most / (block * kCols)) * kCols, groups = ceil_div(g.N, group);  // columns
    for (int64_t k0 = 0; k0 < g.K; k0 += plan.span) {
        const int64_t k1 = min64(g.K, k0 + plan.span), blocks = ceil_div(k1 - k0, block);
        const int64_t parts = groups + (grid.shared ? grid.ranges : 0);
        parallel(stream, parts * blocks, [&](int64_t task, int32_t) {
            const int64_t index = task / parts, part = task % parts;
            const int64_t k = k0 + index * block, depth = min64(block, k1 - k);
            if (part < groups) {
                const int64_t first = part * group, end = min64(g.N, first + group);
                Packing::b(g.b + k * g.b_row + first * g.b_col, g.b_row, g.b_col, depth, end - first,
                           packed + wide * Packing::words(k - k0) + first * Packing::words(depth));
                return;
            }
            const int64_t range = part - groups;
            const int64_t m0 = g.M * range / grid.ranges, m1 = g.M * (range + 1) / grid.ranges;
            float *dst = packed + plan.a_at + block_offset(g.M, grid, Packing::words(block), index) +
                         range_offset(m0, range, Packing::words(depth));
            Packing::a(g.a + m0 * g.a_row + k * g.a_col, g.a_row, g.a_col, depth, m1 - m0, g.M - m0, dst);
        });
        parallel(stream, grid.ranges * grid.splits, [&](int64_t task, int32_t worker) {
            const int64_t r = task / grid.splits, s = task % grid.splits;
            gemm_rows<Packing>(g, plan, r, chunk_begin(g.N, grid.splits, s, kCols),
                               chunk_begin(g.N, grid.splits, s + 1, kCols), k0, k1, packed,
                               grid.shared ? packed + plan.a_at : local(stream, plan.local, worker));
        });
    }
}

// The caller has reserved plan.shared bytes at `packed` and plan.local bytes per worker in the stream's local memory.
// Requires K > 0.
static void gemm(const xf_stream *stream, const Gemm &g, const GemmPlan &plan, float *packed) {
    if (stream->device->use_blas)
        gemm_by_blas(stream, g);
    else
        gemm_packed<Fp32Packing>(stream, g, plan, packed);
}
