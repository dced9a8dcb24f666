// Packed matrix product for training: C (+)= A B with bias, ReLU or a ReLU's gradient on the way out.
//
// The scheme is Goto's (Goto & van de Geijn 2008, "Anatomy of high-performance matrix multiplication"): a block of
// the depth K (at most kDepth) of B is packed once into panels of kCols columns, shared by all workers; each task
// owns a range of rows of C and packs its rows of A into panels of up to kRows rows; a kernel keeps a
// kRows x kCols tile of C in registers. Tasks are tiles of C, so they need no sums across tasks. For many workers
// columns are cut as well, and then A is packed before, for all tasks of a range of rows: see cut_for().
// The trap: the blocks of K depend on K alone and are added in rising order, so that a number of C never depends on
// M, on the worker count or on where it stands.
//
// SPDX-License-Identifier: Apache-2.0

constexpr int64_t kPackedFloats = 4 << 20;  // of B packed at a time: about what the last-level cache likes
constexpr int64_t kFewWorkers = 4;          // up to so many share the large cut
constexpr int64_t kTallest = 18 * 14;       // rows of A that stay in the L2 cache, packed

// A is [M, K] at a + m * a_row + k * a_col, B is [K, N] at b + k * b_row + n * b_col; one step of each pair is 1.
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
using Gemm = Product<float>;  // of bf16: gemm_bf16.inl

// The part [begin, end) of n that falls to piece i of count, in steps of unit.
XF_INLINE int64_t piece(int64_t n, int64_t count, int64_t i, int64_t unit) {
    return min64(n, ceil_div(n, unit) * i / count * unit);
}

// How C is cut into tasks. Its numbers don't depend on it.
struct Cut {
    int64_t ranges, splits;  // of rows, of columns
    bool shared;             // A is packed once for all splits of a range
};

// For few workers: 16 to 18 panels of A each when there is much to do, else fewer.
XF_INLINE Cut large_cut(int64_t M, int64_t N) {
    const int64_t panels = ceil_div(M, kRows), low = kTallest / kRows;
    int64_t ranges = 1;
    if (panels >= 16 * low)
        ranges = round_up(panels / low, 16);
    else
        while (ranges < 16 && ranges * 2 * 4 <= panels) ranges *= 2;
    // Few rows: split the columns as well, so that there is work for many.
    return {ranges, ranges >= 8 ? 1 : min64(16 / ranges, ceil_div(N, 4 * kCols)), false};
}

// For many workers: of the cuts that give each of them a whole number of equal tasks, the one that takes the shortest.
// The unit of time is a kernel's for kRows x kCols; to pack a panel of A and to fetch one of A or B, which other tasks
// have as well, take about so much of it.
static Cut cut_for(int64_t M, int64_t N, int64_t K, int64_t workers) {
    constexpr double kPack = 0.5, kFetchA = 0.1, kFetchB = 0.2;
    // A task for less than some microseconds is not worth waking somebody.
    const double worth = static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K) / (1 << 18);
    if (worth < static_cast<double>(workers)) workers = static_cast<int64_t>(worth);
    Cut best = large_cut(M, N);
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

// A range of rows of A, packed for all tasks, is shared at this place behind the first word of its block, words to a
// row; a vector more than its words lies between two ranges, for pack_transpose().
XF_INLINE int64_t place_of_range(int64_t m0, int64_t range, int64_t words) { return m0 * words + range * kW; }
XF_INLINE int64_t place_of_block(int64_t M, const Cut &cut, int64_t words, int64_t index) {
    return index * place_of_range(M, cut.ranges, words);
}

// What the scheme needs to know of fp32: how operands are packed, and what multiplies them.
struct Fp32Packing {
    // What depth numbers of K take.
    static int64_t words(int64_t depth) { return depth; }
    static void a(const float *a, int64_t row, int64_t col, int64_t depth, int64_t rows, int64_t valid, float *dst) {
        pack_a(a, row, col, depth, rows, valid, dst);
    }
    static void b(const float *b, int64_t row, int64_t col, int64_t depth, int64_t n, float *dst) {
        pack_b(b, row, col, depth, n, dst);
    }
    // Rows [m0, m1) and columns [n0, n1) of C for the block of depth numbers of K from k on, of which range_a has the
    // rows and b all columns. so_far: see GemmPlan.
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

// The depth of the blocks of K. Those of bf16 are as large, and even, so that no pair lies in two.
template <class T>
XF_INLINE int64_t gemm_block(int64_t K) {
    if (sizeof(T) == 4) return ceil_div(K, ceil_div(K, kDepth));
    return round_up(ceil_div(K, ceil_div(K, 2 * kDepth)), 2);
}
// How much of K is packed at a time, with how many numbers for each of it.
XF_INLINE int64_t gemm_span(int64_t wide, int64_t K, int64_t block, int64_t most) {
    return min64(round_up(K, block), max64(1, most / (wide * block)) * block);
}

// What a product needs of memory, so that a caller can put its own data in front of the shared part.
struct GemmPlan {
    Cut cut;
    int64_t block, span;
    int64_t a_at;           // where A begins behind B, if it is shared
    int64_t so_far_at;      // the sums of the blocks before, [M, N] in fp32, where C can't hold them
    int64_t shared, local;  // bytes
};
// For operands of T and a C of C.
template <class T, class C>
static GemmPlan gemm_plan(const xf_stream *stream, int64_t M, int64_t N, int64_t K) {
    GemmPlan p{cut_for(M, N, K, stream->workers), gemm_block<T>(K), 0, 0, 0, 0, 0};
    const int64_t wide = round_up(N, kCols);
    // Many processors have larger caches, and gain by meeting less often.
    const int64_t times = p.cut.shared ? max64(1, min64(4, stream->workers / 16)) : 1;
    p.span = gemm_span(wide + (p.cut.shared ? M : 0), K, p.block, times * kPackedFloats);
    p.a_at = wide * p.span + kW;
    const int64_t shared_a = p.cut.shared ? p.span / p.block * place_of_range(M, p.cut.ranges, p.block) + kW : 0;
    p.so_far_at = p.a_at + shared_a;
    p.shared = (p.so_far_at + (sizeof(C) < 4 && K > p.block ? M * N : 0)) * 4;
    p.local = p.cut.shared ? 0 : ((ceil_div(M, p.cut.ranges) + kRows) * p.block + kW) * 4;
    return p;
}

#include "gemm_blas.inl"

// A range of rows against the packed blocks of B. packed_a: room for it, or, where it is shared, all of it.
template <class Packing, class T, class C>
static void gemm_rows(const Product<T, C> &g, const GemmPlan &plan, int64_t range, int64_t n0, int64_t n1, int64_t k0,
                      int64_t k1, float *packed, float *packed_a) {
    const Cut &cut = plan.cut;
    const int64_t m0 = g.M * range / cut.ranges, m1 = g.M * (range + 1) / cut.ranges, block = plan.block;
    for (int64_t k = k0; k < k1; k += block) {
        const int64_t depth = min64(block, k1 - k), words = Packing::words(depth);
        const float *range_a = packed_a;
        if (cut.shared)
            range_a +=
                place_of_block(g.M, cut, Packing::words(block), (k - k0) / block) + place_of_range(m0, range, words);
        else
            Packing::a(g.a + m0 * g.a_row + k * g.a_col, g.a_row, g.a_col, depth, m1 - m0, g.M - m0, packed_a);
        const float *b = packed + round_up(g.N, kCols) * Packing::words(k - k0);
        Packing::multiply(g, m0, m1, n0, n1, k, depth, range_a, b, packed + plan.so_far_at);
    }
}

template <class Packing, class T, class C>
static void gemm_packed(const xf_stream *stream, const Product<T, C> &g, const GemmPlan &plan, float *packed) {
    const Cut &cut = plan.cut;
    const int64_t block = plan.block, wide = round_up(g.N, kCols);
    // Numbers of B packed per task.
    const int64_t fair = wide * plan.span / (4 * stream->workers);
    const int64_t most = stream->workers <= kFewWorkers ? 65536 : max64(8192, min64(65536, fair));
    const int64_t group = max64(1, most / (block * kCols)) * kCols, groups = ceil_div(g.N, group);  // columns
    for (int64_t k0 = 0; k0 < g.K; k0 += plan.span) {
        const int64_t k1 = min64(g.K, k0 + plan.span), blocks = ceil_div(k1 - k0, block);
        const int64_t parts = groups + (cut.shared ? cut.ranges : 0);
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
            const int64_t m0 = g.M * range / cut.ranges, m1 = g.M * (range + 1) / cut.ranges;
            float *dst = packed + plan.a_at + place_of_block(g.M, cut, Packing::words(block), index) +
                         place_of_range(m0, range, Packing::words(depth));
            Packing::a(g.a + m0 * g.a_row + k * g.a_col, g.a_row, g.a_col, depth, m1 - m0, g.M - m0, dst);
        });
        parallel(stream, cut.ranges * cut.splits, [&](int64_t task, int32_t worker) {
            const int64_t r = task / cut.splits, s = task % cut.splits;
            gemm_rows<Packing>(g, plan, r, piece(g.N, cut.splits, s, kCols), piece(g.N, cut.splits, s + 1, kCols), k0,
                               k1, packed, cut.shared ? packed + plan.a_at : local(stream, plan.local, worker));
        });
    }
}

// The caller has reserved plan.shared bytes at packed and plan.local in the stream's local memory. K > 0.
static void gemm(const xf_stream *stream, const Gemm &g, const GemmPlan &plan, float *packed) {
    if (stream->device->use_blas)
        gemm_by_blas(stream, g);
    else
        gemm_packed<Fp32Packing>(stream, g, plan, packed);
}
