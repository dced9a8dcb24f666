// One decoding step of self-attention over a cache of cells (paper eq. 1 for a single query).
//
//     dst = sum over u of p[u] v_u,    p = softmax over u of scale * q . k_u,    u = first .. t
//
// One block of four warps per row and head. The steps are distributed over several streams of an online softmax by
// their distance from `first`, so the order of every sum depends only on the row. Each stream keeps {top, sum, acc}; a
// fixed tree combines them at the end. Key and value of step u come from the arguments for u = t and otherwise from the
// cell in `cells`, so no block waits for the cache to be written. If rows may read what other rows store (multi_step),
// a separate kernel stores all rows first. t is read on the device, not on the host, so that a recorded graph serves
// every step.
//
// Heads of 64 columns: eight lanes share a key, a block has 16 keys in flight in each of four unrolled rounds, and the
// only dependent loads are steps -> cells -> keys and values. Other head sizes: one lane per key.
//
// Tensors may have any alignment: vector and scalar accesses add the same numbers in the same order. Multiply-adds are
// written as fmaf(), so the compiler has no choice of contraction.
//
// Lower bound: rows * H * (t + 1) * (dk + dv) elements from the caches. Hypotheses of a sentence share most of them in
// the L2 cache.
//
// SPDX-License-Identifier: Apache-2.0
#include "dependent.cuh"
#include "ops.h"
#include "rows.cuh"

namespace xf::cuda {
namespace {

constexpr int kStepWarps = 4;
constexpr int kStepThreads = kStepWarps * kWarp;
constexpr int kStepBlocks = 4;  // minimum per multiprocessor: allows 128 registers per thread
constexpr int kHead = 64;
constexpr int kLanes = kHead / kEight;        // lanes that share a key
constexpr int kKeys = kStepThreads / kLanes;  // keys of a block per round
constexpr int kRounds = 4;                    // rounds whose loads are in flight together
static_assert(2 * kHead == kStepThreads, "a thread for each column of the key and the value that are stored");

// The row and head of a block, and the addresses of its data.
template <class T>
struct Position {
    const xf_attention_step &a;
    int64_t row, head;
    const int32_t *cells;  // of the row
    int32_t first, t;

    __device__ explicit Position(const xf_attention_step &args) : a(args) {
        row = blockIdx.x / static_cast<uint32_t>(a.H);
        head = blockIdx.x % static_cast<uint32_t>(a.H);
        cells = a.cells + a.slot_of_row[row] * a.ld_cells;
        t = a.steps[row];
        first = a.window > 0 && t > a.window / 2 ? static_cast<int32_t>(t - a.window / 2) : 0;
    }
    __device__ const T *query() const { return static_cast<const T *>(a.q) + row * a.ld_q + head * a.dk; }
    __device__ T *dst() const { return static_cast<T *>(a.dst) + row * a.ld_dst + head * a.dv; }
    __device__ const T *new_key() const { return static_cast<const T *>(a.k) + row * a.ld_k + head * a.dk; }
    __device__ const T *new_value() const { return static_cast<const T *>(a.v) + row * a.ld_v + head * a.dv; }
    // From t on, the cell of step t.
    __device__ int64_t cell(int32_t u) const { return cells[min(u, t)]; }
    __device__ T *cached_key(int64_t cell) const { return static_cast<T *>(a.k_cache) + (cell * a.H + head) * a.dk; }
    __device__ T *cached_value(int64_t cell) const { return static_cast<T *>(a.v_cache) + (cell * a.H + head) * a.dv; }
    __device__ const T *key(int32_t u, int64_t cell) const {
        const T *const cached = cached_key(cell);
        return u < t ? cached : new_key();
    }
    __device__ const T *value(int32_t u, int64_t cell) const {
        const T *const cached = cached_value(cell);
        return u < t ? cached : new_value();
    }
};

// exp(x - top), or 0 for a stream that has processed no key (both are -inf).
__device__ inline float weight(float x, float top) { return top > -INFINITY || x != x ? expf(x - top) : 0.0f; }

// Combines the results of the warps, acc [kStepWarps, dv] with one top and sum each, into dst of the row. Called after
// a barrier.
template <class T>
__device__ void join_warps(const Position<T> &p, const float *tops, const float *sums, const float *acc) {
    float top = tops[0], sum = 0.0f, factor[kStepWarps];
#pragma unroll
    for (int w = 1; w < kStepWarps; ++w) top = fmaxf(top, tops[w]);
#pragma unroll
    for (int w = 0; w < kStepWarps; ++w) {
        factor[w] = weight(tops[w], top);
        sum = fmaf(factor[w], sums[w], sum);
    }
    for (int64_t c = threadIdx.x; c < p.a.dv; c += kStepThreads) {
        float out = 0.0f;
#pragma unroll
        for (int w = 0; w < kStepWarps; ++w) out = fmaf(factor[w], acc[w * p.a.dv + c], out);
        p.dst()[c] = from_float<T>(out / sum);
    }
}

// Stores the key and the value of the row and head of this block.
template <class T>
__device__ void store(const Position<T> &p) {
    const int64_t cell = p.cell(p.t);
    for (int64_t c = threadIdx.x; c < p.a.dk; c += kStepThreads) p.cached_key(cell)[c] = p.new_key()[c];
    for (int64_t c = threadIdx.x; c < p.a.dv; c += kStepThreads) p.cached_value(cell)[c] = p.new_value()[c];
}

template <class T>
__global__ void __launch_bounds__(kStepThreads) attention_step_store(const xf_attention_step a) {
    begin_after_previous();
    store(Position<T>(a));
}

// dk = dv = 64. Lane l of eight holds columns 8l .. 8l + 7 of q, of its keys, and of the sum of values.
template <class T, bool kVector>
__global__ void __launch_bounds__(kStepThreads, kStepBlocks) attention_step_64(const xf_attention_step a) {
    begin_after_previous();
    __shared__ float tops[kStepWarps], sums[kStepWarps], all[kStepWarps * kHead];
    const Position<T> p(a);
    const int tid = static_cast<int>(threadIdx.x), warp = tid / kWarp, lane = tid % kWarp;
    const int column = tid % kLanes * kEight;
    const T stored = tid < kHead ? p.new_key()[tid] : p.new_value()[tid - kHead];
    const Eight<T> q = load8<kVector>(p.query(), column, kHead);

    float top = -INFINITY, sum = 0.0f, acc[kEight] = {};
    for (int32_t begin = p.first + tid / kLanes; begin - tid / kLanes <= p.t; begin += kRounds * kKeys) {
        // Past t a lane reads the row's own key and value again with weight 0, so that no branch separates the loads.
        int64_t cells[kRounds];
#pragma unroll
        for (int i = 0; i < kRounds; ++i) cells[i] = p.cell(begin + i * kKeys);
        Eight<T> keys[kRounds], values[kRounds];
#pragma unroll
        for (int i = 0; i < kRounds; ++i) keys[i] = load8<kVector>(p.key(begin + i * kKeys, cells[i]), column, kHead);
#pragma unroll
        for (int i = 0; i < kRounds; ++i)
            values[i] = load8<kVector>(p.value(begin + i * kKeys, cells[i]), column, kHead);
        float score[kRounds], larger = top;
#pragma unroll
        for (int i = 0; i < kRounds; ++i) {
            float dot = 0.0f;
#pragma unroll
            for (int c = 0; c < kEight; ++c) dot = fmaf(q[c], keys[i][c], dot);
#pragma unroll
            for (int offset = kLanes / 2; offset > 0; offset /= 2) dot += __shfl_xor_sync(0xFFFFFFFFu, dot, offset);
            score[i] = begin + i * kKeys <= p.t ? __fmul_rn(a.scale, dot) : -INFINITY;
            larger = fmaxf(larger, score[i]);
        }
        const float shrink = weight(top, larger);
        top = larger;
        sum = __fmul_rn(sum, shrink);
#pragma unroll
        for (int c = 0; c < kEight; ++c) acc[c] = __fmul_rn(acc[c], shrink);
#pragma unroll
        for (int i = 0; i < kRounds; ++i) {
            const float w = weight(score[i], top);
            sum += w;
#pragma unroll
            for (int c = 0; c < kEight; ++c) acc[c] = fmaf(w, begin + i * kKeys <= p.t ? values[i][c] : 0.0f, acc[c]);
        }
    }

    // Stored after the loop, because a store waits for its operand and would delay the loads that follow it.
    if (a.multi_step == 0) {
        if (tid < kHead)
            p.cached_key(p.cell(p.t))[tid] = stored;
        else
            p.cached_value(p.cell(p.t))[tid - kHead] = stored;
    }

    float warp_top = top;
#pragma unroll
    for (int offset = kLanes; offset < kWarp; offset *= 2)
        warp_top = fmaxf(warp_top, __shfl_xor_sync(0xFFFFFFFFu, warp_top, offset));
    const float shrink = weight(top, warp_top);
    sum = __fmul_rn(sum, shrink);
#pragma unroll
    for (int c = 0; c < kEight; ++c) acc[c] = __fmul_rn(acc[c], shrink);
#pragma unroll
    for (int offset = kLanes; offset < kWarp; offset *= 2) {
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
#pragma unroll
        for (int c = 0; c < kEight; ++c) acc[c] += __shfl_xor_sync(0xFFFFFFFFu, acc[c], offset);
    }
    if (lane == 0) tops[warp] = warp_top, sums[warp] = sum;
    if (lane < kLanes) {
#pragma unroll
        for (int c = 0; c < kEight; ++c) all[warp * kHead + column + c] = acc[c];
    }
    __syncthreads();
    join_warps(p, tops, sums, all);
}

// Any dk and dv. A warp processes 32 steps at a time: one lane per step for the scores, then the lanes divide the
// columns.
template <class T>
__global__ void __launch_bounds__(kStepThreads, kStepBlocks) attention_step_any(const xf_attention_step a) {
    begin_after_previous();
    int64_t *const cells = dynamic_shared<int64_t>();
    float *const weights = reinterpret_cast<float *>(cells + kStepThreads), *const tops = weights + kStepThreads;
    float *const sums = tops + kStepWarps, *const q = sums + kStepWarps, *const all = q + a.dk;
    const Position<T> p(a);
    const int tid = static_cast<int>(threadIdx.x), warp = tid / kWarp, lane = tid % kWarp;
    float *const acc = all + warp * a.dv;
    for (int64_t c = tid; c < a.dk; c += kStepThreads) q[c] = to_float(p.query()[c]);
    if (a.multi_step == 0) store(p);
    for (int64_t c = lane; c < a.dv; c += kWarp) acc[c] = 0.0f;
    __syncthreads();

    float top = -INFINITY, sum = 0.0f;
    for (int32_t begin = p.first + warp * kWarp; begin <= p.t; begin += kStepThreads) {
        const int32_t u = begin + lane;
        float score = -INFINITY;
        if (u <= p.t) {
            cells[tid] = p.cell(u);
            const T *key = p.key(u, cells[tid]);
            float dot = 0.0f;
            for (int64_t c = 0; c < a.dk; ++c) dot = fmaf(q[c], to_float(key[c]), dot);
            score = a.scale * dot;
        }
        const float larger = fmaxf(top, warp_max(score)), shrink = weight(top, larger);
        top = larger;
        weights[tid] = weight(score, top);
        sum = fmaf(sum, shrink, weights[tid]);
        __syncwarp();
        const int count = min(kWarp, p.t - begin + 1);
        for (int64_t c = lane; c < a.dv; c += kWarp) {
            float out = acc[c] * shrink;
            for (int j = 0; j < count; ++j)
                out = fmaf(weights[warp * kWarp + j], to_float(p.value(begin + j, cells[warp * kWarp + j])[c]), out);
            acc[c] = out;
        }
        __syncwarp();
    }
    sum = warp_sum(sum);
    if (lane == 0) tops[warp] = top, sums[warp] = sum;
    __syncthreads();
    join_warps(p, tops, sums, all);
}

}  // namespace

int32_t attention_step(xf_stream *stream, const xf_attention_step *args, xf_error *err) {
    const xf_attention_step &a = *args;
    if (const int32_t status = enter(stream, err)) return status;
    return dispatch(stream, [&](auto zero) {
        using T = decltype(zero);
        const dim3 grid(static_cast<unsigned>(a.rows * a.H));
        if (a.multi_step != 0) {
            const int32_t status =
                launch_dependent(stream, err, "attention_step", attention_step_store<T>, grid, kStepThreads, 0, a);
            if (status != XF_OK) return status;
        }
        if (a.dk != kHead || a.dv != kHead) {
            const size_t shared =
                kStepThreads * sizeof(int64_t) +
                static_cast<size_t>(kStepThreads + 2 * kStepWarps + a.dk + kStepWarps * a.dv) * sizeof(float);
            return launch_dependent(stream, err, "attention_step", attention_step_any<T>, grid, kStepThreads, shared,
                                    a);
        }
        constexpr int64_t kWhole = Vector<T>::kSize;
        const auto at = [](const xf_num *p) { return static_cast<const T *>(p); };
        const bool vector = aligned(at(a.q), at(a.k), at(a.v), at(a.k_cache), at(a.v_cache)) && a.ld_q % kWhole == 0 &&
                            a.ld_k % kWhole == 0 && a.ld_v % kWhole == 0;
        return launch_dependent(stream, err, "attention_step",
                                vector ? attention_step_64<T, true> : attention_step_64<T, false>, grid, kStepThreads,
                                0, a);
    });
}

}  // namespace xf::cuda
