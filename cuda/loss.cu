// Tied projection and smoothed cross-entropy (paper s. 3.4, 5.4; Szegedy et al. 2016), in chunks of rows.
//
//     x = src weights^T + bias    p = softmax(x)    loss = -sum_v q log p    nll = -log p[target]
//     diff_x = p - q       diff_src = diff_x weights              diff_weights += diff_x^T src
//                                                                 diff_bias    += column sums of diff_x
//
// q is `peak` for the target and `rest` for every other id. Logits are computed for one tile of rows at a time, about
// kLogits elements, in fp32 on every stream: a logit of 10 rounded to bf16 would have an error of up to 0.03, and so
// would the loss. One block per row computes the maximum, the sum of exponentials, the sum of logits, and the gradient.
// If the vocabulary is not too large, it keeps the row in registers, so it reads each logit once and computes one
// exponential of it. Otherwise it reads the row a second time to write the gradient. A tile is small enough to stay in
// the L2 cache, and on a bf16 stream the next tile reuses its memory. The gradient has the stream's element type, which
// the tensor cores multiply. On an fp32 stream it replaces the logits; on a bf16 stream it has separate memory. The
// gradients of many tiles form a chunk before they are multiplied, for two reasons: each addition to diff_weights reads
// and writes the whole matrix, and the product for diff_src has few columns, so it fills a GPU only with thousands of
// rows or with a split of K. Memory traffic per logit: 6 bytes on bf16 (the gradient is written once and read by two
// products), 12 on fp32; 2 or 4 more with diff_bias, and 8 more if the cache does not hold the tile.
//
// The sums use logits relative to the first one of the row, so that a common shift does not cause cancellation in
// sum over others of (lse - x) = V (lse - x[0]) - sum (x - x[0]) - nll.
//
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "column_sums.cuh"
#include "gemm.h"
#include "ops.h"

namespace xf::cuda {
namespace {

constexpr int kThreads = 512, kWarps = kThreads / kWarp;
constexpr int kRowColumns = kThreads * kEight;
// Rows in registers: so many groups of eight logits per thread, in blocks of kThreads or of twice as many.
constexpr int kKept = 5;
constexpr int kMostKept = 2 * kRowColumns * kKept;
// tests/harness/gpu/prepare.sh builds plugins with other values for its parameter sweep.
#ifndef XF_CUDA_LOSS_LOGITS
#define XF_CUDA_LOSS_LOGITS 10485760  // per tile: 40 MiB of fp32, 256 rows of 37000; the L2 cache of an H200 has 50 MiB
#define XF_CUDA_LOSS_GATHER 8192  // approximate rows per chunk on bf16; half as many on fp32, which is the same memory
#endif
constexpr int64_t kLogits = XF_CUDA_LOSS_LOGITS;
constexpr int64_t kRowStep = 128;  // rows per tile of a matrix product
constexpr int64_t kGather = XF_CUDA_LOSS_GATHER;
constexpr int64_t kGatherWidth = 40960;  // larger vocabularies have fewer rows per chunk
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kLog2e = 1.44269504f;

struct Smoothing {
    float peak, rest;  // q of the target, q of every other id
};

Smoothing smoothing_of(const xf_loss &a) {
    const double s = a.smoothing, V = static_cast<double>(a.V);
    if (a.uniform) return {static_cast<float>(1.0 - s + s / V), static_cast<float>(s / V)};
    return {static_cast<float>(1.0 - s), static_cast<float>(a.V > 1 ? s / (V - 1.0) : 0.0)};
}

// Maximum, sum of e^(x - maximum), and sum of x - first over the logits that one thread has read.
struct RowStats {
    float top, sum, total;
};

__device__ inline void accumulate8(const Eight<float> &x, int count, float first, RowStats &stats) {
    float e[kEight], f[kEight], top = x[0];
#pragma unroll
    for (int j = 1; j < kEight; ++j)
        if (j < count) top = fmaxf(top, x[j]);
    if (top > stats.top) {
        stats.sum *= expf(stats.top - top);
        stats.top = top;
    }
#pragma unroll
    for (int j = 0; j < kEight; ++j) {
        e[j] = j < count ? expf(x[j] - stats.top) : 0.0f;
        f[j] = j < count ? x[j] - first : 0.0f;
    }
    stats.sum += sum8(e);
    stats.total += sum8(f);
}

template <int kBlockWarps>
__device__ inline float block_max(float x, float *shared) {
    x = warp_max(x);
    if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = x;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < kBlockWarps; ++w) x = fmaxf(x, shared[w]);
    return x;
}

// The arguments of both kernels. Rows of logits and gradient are ld apart, a multiple of eight; gradient may be the
// memory of logits.
template <class T>
struct Rows {
    const float *logits;
    int64_t ld;
    int V;
    const int32_t *targets;
    Smoothing q;
    float *loss, *nll;
    T *gradient;
};

// Row m without a target. Called by all threads of the block.
template <class T>
__device__ inline void write_no_loss(const Rows<T> &a, int64_t m) {
    if (threadIdx.x == 0) a.loss[m] = 0.0f, a.nll[m] = 0.0f;
    if (a.gradient == nullptr) return;
    for (int d = static_cast<int>(threadIdx.x); d < a.V; d += static_cast<int>(blockDim.x))
        a.gradient[m * a.ld + d] = from_float<T>(0.0f);
}

// Losses of row m by its statistics; first: its first logit, which total is relative to.
template <class T>
__device__ inline void write_loss(const Rows<T> &a, int64_t m, const RowStats &row, float first, float target_logit) {
    const float log_sum = logf(row.sum), target_nll = (row.top - target_logit) + log_sum;
    const double lse = static_cast<double>(row.top - first) + static_cast<double>(log_sum);
    const double others =
        static_cast<double>(a.V) * lse - static_cast<double>(row.total) - static_cast<double>(target_nll);
    a.nll[m] = target_nll;
    a.loss[m] =
        static_cast<float>(static_cast<double>(a.q.peak) * target_nll + (a.q.rest > 0.0f ? a.q.rest * others : 0.0));
}

// Rows of at most kKept * kEight * kBlock logits.
template <class T, int kBlock>
__global__ void __launch_bounds__(kBlock, 2 * kThreads / kBlock) kept_row_kernel(Rows<T> a) {
    constexpr int kBlockWarps = kBlock / kWarp;
    __shared__ float tops[kBlockWarps], sums[kBlockWarps];
    const int64_t m = blockIdx.x;
    const int target = a.targets[m], begin = static_cast<int>(threadIdx.x) * kEight;
    if (target < 0) return write_no_loss(a, m);  // uniform across the block
    const float *row = a.logits + m * a.ld;
    const float first = row[0], target_logit = row[target];
    // The last V % 8 logits are kept by one thread each, because nothing has been written after column V.
    const int last = a.V / kEight * kEight + static_cast<int>(threadIdx.x);
    float x_last = last < a.V ? row[last] : -kInfinity;
    Eight<float> x[kKept];
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
        const int at = begin + i * kBlock * kEight;
        if (at + kEight <= a.V) x[i] = load8<true>(row, at, a.V);
    }
    RowStats stats = {x_last, 0.0f, last < a.V ? x_last - first : 0.0f};
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
        if (begin + i * kBlock * kEight + kEight > a.V) continue;
        float f[kEight];
#pragma unroll
        for (int j = 0; j < kEight; ++j) stats.top = fmaxf(stats.top, x[i][j]), f[j] = x[i][j] - first;
        stats.total += sum8(f);
    }
    stats.top = block_max<kBlockWarps>(stats.top, tops);
    x_last = exp2f((x_last - stats.top) * kLog2e);
    stats.sum = x_last;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
        if (begin + i * kBlock * kEight + kEight > a.V) continue;
#pragma unroll
        for (int j = 0; j < kEight; ++j) x[i].x[j] = exp2f((x[i][j] - stats.top) * kLog2e);
        stats.sum += sum8(x[i].x);
    }
    stats.sum = block_sum<kBlockWarps>(stats.sum, sums);
    stats.total = block_sum<kBlockWarps>(stats.total, sums);
    if (threadIdx.x == 0) write_loss(a, m, stats, first, target_logit);
    const float scale = 1.0f / stats.sum;
    T *const gradient = a.gradient + m * a.ld;
    const auto difference = [&](float e, int d) {
        return from_float<T>(fmaf(e, scale, d == target ? -a.q.peak : -a.q.rest));
    };
    if (last < a.V) gradient[last] = difference(x_last, last);
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
        const int at = begin + i * kBlock * kEight;
        if (at + kEight > a.V) continue;
        Eight<T> diff;
#pragma unroll
        for (int j = 0; j < kEight; ++j) diff.x[j] = difference(x[i][j], at + j);
        store8<true>(gradient, at, a.V, diff);
    }
}

template <class T, bool kGradient>
__global__ void __launch_bounds__(kThreads, 2) row_loss_kernel(Rows<T> a) {
    __shared__ float tops[kWarps], sums[kWarps];
    const int64_t m = blockIdx.x;
    const int target = a.targets[m], V = a.V, begin = static_cast<int>(threadIdx.x) * kEight;
    const float *row = a.logits + m * a.ld;
    if (target < 0) return write_no_loss(a, m);  // uniform across the block
    const float first = row[0], target_logit = row[target];
    RowStats stats = {-kInfinity, 0.0f, 0.0f};
    int d = begin;
#pragma unroll 2
    for (; d + kEight <= V; d += kRowColumns) accumulate8(load8<true>(row, d, V), kEight, first, stats);
    if (d < V) accumulate8(load8<false>(row, d, V), V - d, first, stats);
    const float top = block_max<kWarps>(stats.top, tops);
    stats.sum = block_sum<kWarps>(stats.sum * expf(stats.top - top), sums);
    stats.total = block_sum<kWarps>(stats.total, sums);
    stats.top = top;
    if (threadIdx.x == 0) write_loss(a, m, stats, first, target_logit);
    if constexpr (kGradient) {
        const float scale = 1.0f / stats.sum;
        // Nothing has been written after column V.
        const auto load = [&](int at) { return at + kEight <= V ? load8<true>(row, at, V) : load8<false>(row, at, V); };
        for (d = begin; d < V;
             d += 2 * kRowColumns) {  // two at a time, because the compiler cannot move a load before a store
            const Eight<float> x[2] = {load(d), load(d + kRowColumns)};
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int at = d + i * kRowColumns;
                Eight<T> diff;
#pragma unroll
                for (int j = 0; j < kEight; ++j)
                    diff.x[j] =
                        from_float<T>(fmaf(expf(x[i][j] - top), scale, at + j == target ? -a.q.peak : -a.q.rest));
                store8<true>(a.gradient + m * a.ld, at, V, diff);
            }
        }
    }
}

template <class T>
int32_t launch_rows(xf_stream *stream, const Rows<T> &rows, int64_t count, xf_error *err) {
    auto *kernel = row_loss_kernel<T, false>;
    int threads = kThreads;
    if (rows.gradient != nullptr && rows.V <= kMostKept / 2)
        kernel = kept_row_kernel<T, kThreads>;
    else if (rows.gradient != nullptr && rows.V <= kMostKept)
        kernel = kept_row_kernel<T, 2 * kThreads>, threads = 2 * kThreads;
    else if (rows.gradient != nullptr)
        kernel = row_loss_kernel<T, true>;
    return launch(stream, err, "loss", kernel, dim3(static_cast<unsigned>(count)), dim3(static_cast<unsigned>(threads)),
                  0, rows);
}

// The memory layout of a call, and its rows per tile and per chunk.
struct Plan {
    int64_t ld, tile, chunk;  // tile: rows of logits, chunk: rows of gradients
    size_t logits_bytes, gradient_bytes, sums_bytes;
};

// Divides `rows` into equal parts of at most `most` rows, in whole matrix tiles if possible, so that no part is a small
// remainder.
int64_t equal_parts(int64_t rows, int64_t most) {
    const int64_t part = ceil_div(rows, ceil_div(rows, most)), whole = ceil_div(part, kRowStep) * kRowStep;
    return whole <= most && whole < rows ? whole : part;
}

Plan plan_of(const xf_loss &a, bool gradients, bool in_place, size_t size) {
    Plan p{};
    p.ld = ceil_div(a.V, int64_t{kEight}) * kEight;
    const auto rows_of = [](int64_t fit) { return fit >= kRowStep ? fit / kRowStep * kRowStep : fit > 0 ? fit : 1; };
    const int64_t tile = rows_of(kLogits / p.ld);
    int64_t gather = in_place ? kGather / 2 : kGather;
    if (p.ld > kGatherWidth) gather = gather * kGatherWidth / p.ld;
    gather += gather / 4;  // allows slightly larger chunks instead of a small last one
    p.chunk = equal_parts(a.M, !gradients || gather < tile ? tile : rows_of(gather));
    p.tile = equal_parts(p.chunk, tile);
    if (!in_place || !gradients) p.logits_bytes = static_cast<size_t>(p.tile * p.ld) * sizeof(float);
    if (gradients) p.gradient_bytes = static_cast<size_t>(p.chunk * p.ld) * size;
    if (a.diff_bias) p.sums_bytes = partial_bytes(p.chunk, a.V);
    return p;
}

template <class T>
int32_t run(xf_stream *stream, const xf_loss &a, xf_error *err) {
    constexpr bool kInPlace = std::is_same_v<T, float>;
    const bool gradients = a.diff_src || a.diff_weights;
    const Plan p = plan_of(a, gradients, kInPlace, sizeof(T));
    unsigned char *memory =
        static_cast<unsigned char *>(scratch(stream, p.logits_bytes + p.gradient_bytes + p.sums_bytes, err));
    if (!memory) return XF_ERROR_NO_MEMORY;
    float *const logits_memory = reinterpret_cast<float *>(memory);
    T *const gradient = reinterpret_cast<T *>(memory + p.logits_bytes);                         // aligned to 32 bytes
    float *const sums = reinterpret_cast<float *>(memory + p.logits_bytes + p.gradient_bytes);  // aligned to 16 bytes
    const Smoothing q = smoothing_of(a);
    const T *src = static_cast<const T *>(a.src);
    T *diff_src = static_cast<T *>(a.diff_src);
    for (int64_t begin = 0; begin < a.M; begin += p.chunk) {
        const int64_t rows = a.M - begin < p.chunk ? a.M - begin : p.chunk;
        for (int64_t at = 0; at < rows; at += p.tile) {
            const int64_t m = begin + at, count = rows - at < p.tile ? rows - at : p.tile;
            T *diff = gradient + at * p.ld;
            float *logits = logits_memory;
            if constexpr (kInPlace)
                if (gradients) logits = diff;
            Gemm project{};
            project.M = count, project.N = a.V, project.K = a.D;
            project.a = src + m * a.D, project.lda = a.D;
            project.b = a.weights, project.ldb = a.D, project.b_transposed = true;
            project.c = logits, project.ldc = p.ld;
            project.bias = a.bias;
            project.operand_type = stream->dtype, project.result_type = XF_FP32;
            project.row_invariant = !gradients;
            int32_t status = gemm(stream, project, err);
            if (status != XF_OK) return status;
            const Rows<T> of_tile = {logits,     p.ld,      static_cast<int>(a.V),     a.targets + m, q,
                                     a.loss + m, a.nll + m, gradients ? diff : nullptr};
            status = launch_rows(stream, of_tile, count, err);
            if (status != XF_OK) return status;
        }
        if (a.diff_bias) {
            const int32_t status = add_column_sums(stream, gradient, p.ld, rows, a.V, sums, a.diff_bias, err);
            if (status != XF_OK) return status;
        }
        if (diff_src) {
            Gemm data{};
            data.M = rows, data.N = a.D, data.K = a.V;
            data.a = gradient, data.lda = p.ld;
            data.b = a.weights, data.ldb = a.D;
            data.c = diff_src + begin * a.D, data.ldc = a.D;
            data.operand_type = data.result_type = stream->dtype;
            const int32_t status = gemm(stream, data, err);
            if (status != XF_OK) return status;
        }
        if (a.diff_weights) {
            Gemm weights{};
            weights.M = a.V, weights.N = a.D, weights.K = rows;
            weights.a = gradient, weights.lda = p.ld, weights.a_transposed = true;
            weights.b = src + begin * a.D, weights.ldb = a.D;
            weights.c = a.diff_weights, weights.ldc = a.D, weights.beta = 1.0f;
            weights.operand_type = stream->dtype, weights.result_type = XF_FP32;
            const int32_t status = gemm(stream, weights, err);
            if (status != XF_OK) return status;
        }
    }
    return XF_OK;
}

}  // namespace

int32_t loss(xf_stream *stream, const xf_loss *args, xf_error *err) {
    const int32_t status = enter(stream, err);
    if (status != XF_OK || args->M <= 0) return status;
    return dispatch(stream, [&](auto zero) { return run<decltype(zero)>(stream, *args, err); });
}

}  // namespace xf::cuda
