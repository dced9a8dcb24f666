// Gradients of attention on tensor cores; attention_bwd.cu has the equations.
//
// A block first processes a tile of keys and then the tile of queries with the same index, so that one launch computes
// all gradients. A sentence of at most 32 tokens on each side is read from memory once and stays in shared memory for
// both parts. Under a causal mask all blocks have about equal work, because the first keys are seen by most queries and
// the last queries see most keys. The delta of a query is recomputed for each tile of keys: this reads dst again but
// needs no scratch memory.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "attention_mma.cuh"

namespace xf::cuda {

// Tiles of 32 rows per stage of the other side; the pass over keys uses only two of them.
constexpr int kStageTiles = 3;

// Computes lse (in units of log 2) and delta of `rows` queries from query_row on, of which `valid` exist; four threads
// per query.
template <int D>
__device__ inline void compute_deltas(float *lse, float *delta, int rows, const Attention<bf16> &a, int64_t query_row,
                                      int32_t h, int valid, const bf16 *dst, const bf16 *diff_dst) {
    const int part = static_cast<int>(threadIdx.x) % 4;
    for (int row = static_cast<int>(threadIdx.x) / 4; row < rows; row += static_cast<int>(blockDim.x) / 4) {
        const uint32_t *x = reinterpret_cast<const uint32_t *>(dst + row * kPitch<D> + part * (D / 4));
        const uint32_t *y = reinterpret_cast<const uint32_t *>(diff_dst + row * kPitch<D> + part * (D / 4));
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < D / 8; ++i) sum += low_bf16(x[i]) * low_bf16(y[i]) + high_bf16(x[i]) * high_bf16(y[i]);
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 1);
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
        if (part == 0) {
            delta[row] = sum;
            lse[row] = row < valid ? a.lse[(query_row + row) * a.H + h] * kLog2E : 0.0f;
        }
    }
}

// Mask bits of 16 keys x 32 queries for a warp that owns keys. Bit 4n + 2r + e belongs to s[n][2r + e], which is key g
// + 8r, query 8n + 2c + e. Lane l computes the bits of query l.
__device__ inline uint32_t key_bits(const Attention<bf16> &a, int64_t query_row, int32_t h, int32_t key0) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const uint64_t block = drop_block(a, query_row + lane, h, key0);
    const uint32_t mine = kept8(a.dropout, block) | kept8(a.dropout, block + 1) << 8;
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const uint32_t query = __shfl_sync(0xFFFFFFFFu, mine, i / 2 * 8 + lane % 4 * 2 + i % 2) >> (lane / 4);
        bits |= (query & 1u) << (i / 2 * 4 + i % 2) | (query >> 8 & 1u) << (i / 2 * 4 + 2 + i % 2);
    }
    return bits;
}

// The accumulators of a warp that owns 16 keys: diff_k and diff_v.
template <int D>
struct KeySums {
    float k[D / 8][4], v[D / 8][4];
};

// Adds a tile of 32 queries to the gradients of keys key0 .. key0 + 15, which are the rows from row0 on of tiles k and
// v.
template <int D>
__device__ inline void add_queries(KeySums<D> &sums, const Attention<bf16> &a, const Position &p, int key0, int row0,
                                   int query0, const bf16 *k, const bf16 *v, const bf16 *q, const bf16 *diff_dst,
                                   const float *lse, const float *delta) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const bool drop = a.dropout.threshold != 0;
    const uint32_t bits = drop ? key_bits(a, p.q_row + query0, p.h, key0) : 0xFFFFFFFFu;
    float s[4][4] = {}, w[4][4];
    multiply_rows<D>(
        s, [&](uint32_t(&x)[4], int i) { load_a<D>(x, k, row0, i * 16); }, q);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int row = i / 4 * 8 + lane % 4 * 2 + i % 2, query = query0 + row, key = key0 + lane / 4 + i % 4 / 2 * 8;
        const bool seen = query < p.q_len && key < p.k_len && sees(query, key, a.before, a.after);
        s[i / 4][i % 4] = seen ? exp2f(s[i / 4][i % 4] * (a.scale * kLog2E) - lse[row]) : 0.0f;
        w[i / 4][i % 4] = (bits >> i & 1u) != 0 ? s[i / 4][i % 4] : 0.0f;
    }
    multiply_weights<D>(sums.v, w, diff_dst);
#pragma unroll
    for (int i = 0; i < 16; ++i) w[i / 4][i % 4] = 0.0f;
    multiply_rows<D>(
        w, [&](uint32_t(&x)[4], int i) { load_a<D>(x, v, row0, i * 16); }, diff_dst);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int row = i / 4 * 8 + lane % 4 * 2 + i % 2;
        const float factor = drop ? ((bits >> i & 1u) != 0 ? a.dropout.scale : 0.0f) : 1.0f;
        s[i / 4][i % 4] *= factor * w[i / 4][i % 4] - delta[row];
    }
    multiply_weights<D>(sums.k, s, q);
}

// Adds a tile of 32 keys to the gradients of queries query0 .. query0 + 15, which are the rows from row0 on of tiles q
// and diff_dst.
template <int D>
__device__ inline void add_keys(float (&sums)[D / 8][4], const Attention<bf16> &a, const Position &p, int query0,
                                int row0, int key0, const bf16 *q, const bf16 *diff_dst, const bf16 *k, const bf16 *v,
                                const float *lse, const float *delta) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const bool drop = a.dropout.threshold != 0;
    const RowBits bits = drop ? query_bits(a, p.q_row + query0, p.h, key0) : RowBits{0xFFFFFFFFu, 0xFFFFFFFFu};
    float s[4][4] = {}, w[4][4] = {};
    multiply_rows<D>(
        s, [&](uint32_t(&x)[4], int i) { load_a<D>(x, q, row0, i * 16); }, k);
    multiply_rows<D>(
        w, [&](uint32_t(&x)[4], int i) { load_a<D>(x, diff_dst, row0, i * 16); }, v);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int own = lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        const bool seen =
            query0 + own < p.q_len && key0 + column < p.k_len && sees(query0 + own, key0 + column, a.before, a.after);
        const bool kept = ((i % 4 < 2 ? bits.low : bits.high) >> column & 1u) != 0;
        const float factor = drop ? (kept ? a.dropout.scale : 0.0f) : 1.0f;
        const float weight = seen ? exp2f(s[i / 4][i % 4] * (a.scale * kLog2E) - lse[row0 + own]) : 0.0f;
        s[i / 4][i % 4] = weight * (factor * w[i / 4][i % 4] - delta[row0 + own]);
    }
    multiply_weights<D>(sums, s, k);
}

// Shared memory: the block's own tiles (k, v; then q, diff_dst, dst), stages of the other side (q, diff_dst, dst; then
// k, v), and lse and delta of at most 64 queries.
template <int D>
struct Shared {
    int own;  // rows of an own tile, 16 per warp
    bf16 *own_tiles, *stage_tiles;
    float *lse, *delta;

    __device__ Shared(int stages)
        : own(static_cast<int>(blockDim.x) / 2), lse(dynamic_shared<float>()), delta(lse + 64) {
        stage_tiles = reinterpret_cast<bf16 *>(delta + 64);
        own_tiles = stage_tiles + stages * kStageTiles * kOther * kPitch<D>;
    }
    __device__ bf16 *mine(int i) const { return own_tiles + i * own * kPitch<D>; }
    __device__ bf16 *stage(int n, int i) const { return stage_tiles + (n * kStageTiles + i) * kOther * kPitch<D>; }
};
template <int D>
constexpr size_t shared_bytes(int own, int stages) {
    return 128 * sizeof(float) +
           static_cast<size_t>((3 * own + stages * kStageTiles * kOther) * kPitch<D>) * sizeof(bf16);
}

// Computes diff_k and diff_v of the block's keys.
template <int D>
__device__ inline void key_gradients(const AttentionBwd<bf16> &g, const Position &p, const Shared<D> &shared) {
    const Attention<bf16> &a = g.fwd;
    const int own0 = p.tile * shared.own, warp = static_cast<int>(threadIdx.x) / kWarp;
    const int key0 = own0 + warp * 16, valid = min(16, p.k_len - key0);
    const auto load_queries = [&](int tile, int stage) {
        const int64_t row = p.q_row + static_cast<int64_t>(tile) * kOther;
        const int rows = p.q_len - tile * kOther;
        load_tile<D>(shared.stage(stage, 0), kOther, a.q + row * a.ld_q + p.h * D, a.ld_q, rows, a.aligned);
        load_tile<D>(shared.stage(stage, 1), kOther, g.diff_dst + row * g.ld_diff_dst + p.h * D, g.ld_diff_dst, rows,
                     a.aligned);
        load_tile<D>(shared.stage(stage, 2), kOther, a.dst + row * a.ld_dst + p.h * D, a.ld_dst, rows, a.aligned);
        cp_async_commit();
    };
    const Tiles tiles = seen_tiles(own0, min(own0 + shared.own, p.k_len) - 1, a.after, a.before, p.q_len);
    if (tiles.begin < tiles.end) {
        const int64_t row = p.k_row + own0;
        load_tile<D>(shared.mine(0), shared.own, a.k + row * a.ld_k + p.h * D, a.ld_k, p.k_len - own0, a.aligned);
        load_tile<D>(shared.mine(1), shared.own, a.v + row * a.ld_v + p.h * D, a.ld_v, p.k_len - own0, a.aligned);
        load_queries(tiles.begin, 0);
    }
    KeySums<D> sums = {};
    for (int tile = tiles.begin; tile < tiles.end; ++tile) {
        const int stage = (tile - tiles.begin) % 2;
        if (tile + 1 < tiles.end) {
            load_queries(tile + 1, 1 - stage);
            cp_async_wait<1>();
        } else {
            cp_async_wait<0>();
        }
        __syncthreads();
        compute_deltas<D>(shared.lse, shared.delta, kOther, a, p.q_row + tile * kOther, p.h, p.q_len - tile * kOther,
                          shared.stage(stage, 2), shared.stage(stage, 1));
        __syncthreads();
        if (valid > 0)
            add_queries<D>(sums, a, p, key0, warp * 16, tile * kOther, shared.mine(0), shared.mine(1),
                           shared.stage(stage, 0), shared.stage(stage, 1), shared.lse, shared.delta);
        __syncthreads();
    }
    if (valid <= 0) return;
    // The tiles of dst are no longer needed; each has space for the results of two warps.
    bf16 *const rows = shared.stage(warp / 2, 2) + warp % 2 * 16 * kPitch<D>;
    const float scale = a.dropout.threshold != 0 ? a.dropout.scale : 1.0f;
    put_rows<D>(rows, sums.v, scale, scale);
    __syncwarp();
    store_rows<D>(rows, g.diff_v + (p.k_row + key0) * g.ld_diff_v + p.h * D, g.ld_diff_v, valid, a.aligned);
    __syncwarp();
    put_rows<D>(rows, sums.k, a.scale, a.scale);
    __syncwarp();
    store_rows<D>(rows, g.diff_k + (p.k_row + key0) * g.ld_diff_k + p.h * D, g.ld_diff_k, valid, a.aligned);
}

// Computes diff_q of the block's queries. resident: the sentence has one tile on each side, and both are in shared
// memory already.
template <int D>
__device__ inline void query_gradients(const AttentionBwd<bf16> &g, const Position &p, const Shared<D> &shared,
                                       bool resident) {
    const Attention<bf16> &a = g.fwd;
    const int own0 = p.tile * shared.own, row0 = static_cast<int>(threadIdx.x) / kWarp * 16;
    const int query0 = own0 + row0, valid = min(16, p.q_len - query0);
    bf16 *const q = resident ? shared.stage(0, 0) : shared.mine(0);
    bf16 *const diff_dst = resident ? shared.stage(0, 1) : shared.mine(1);
    const auto load_keys = [&](int tile, int stage) {
        const int64_t row = p.k_row + static_cast<int64_t>(tile) * kOther;
        const int rows = p.k_len - tile * kOther;
        load_tile<D>(shared.stage(stage, 0), kOther, a.k + row * a.ld_k + p.h * D, a.ld_k, rows, a.aligned);
        load_tile<D>(shared.stage(stage, 1), kOther, a.v + row * a.ld_v + p.h * D, a.ld_v, rows, a.aligned);
        cp_async_commit();
    };
    const Tiles tiles = seen_tiles(own0, min(own0 + shared.own, p.q_len) - 1, a.before, a.after, p.k_len);
    if (!resident && tiles.begin < tiles.end) {
        const int64_t row = p.q_row + own0;
        const int rows = p.q_len - own0;
        load_tile<D>(q, shared.own, a.q + row * a.ld_q + p.h * D, a.ld_q, rows, a.aligned);
        load_tile<D>(diff_dst, shared.own, g.diff_dst + row * g.ld_diff_dst + p.h * D, g.ld_diff_dst, rows, a.aligned);
        load_tile<D>(shared.mine(2), shared.own, a.dst + row * a.ld_dst + p.h * D, a.ld_dst, rows, a.aligned);
        load_keys(tiles.begin, 0);
    }
    float sums[D / 8][4] = {};
    for (int tile = tiles.begin; tile < tiles.end; ++tile) {
        const int stage = (tile - tiles.begin) % 2;
        if (tile + 1 < tiles.end) {
            load_keys(tile + 1, 1 - stage);
            cp_async_wait<1>();
        } else {
            cp_async_wait<0>();
        }
        __syncthreads();
        if (!resident && tile == tiles.begin) {
            compute_deltas<D>(shared.lse, shared.delta, shared.own, a, p.q_row + own0, p.h, p.q_len - own0,
                              shared.mine(2), diff_dst);
            __syncthreads();
        }
        if (valid > 0)
            add_keys<D>(sums, a, p, query0, row0, tile * kOther, q, diff_dst,
                        resident ? shared.mine(0) : shared.stage(stage, 0),
                        resident ? shared.mine(1) : shared.stage(stage, 1), shared.lse, shared.delta);
        __syncthreads();
    }
    if (valid <= 0) return;
    bf16 *const rows = q + row0 * kPitch<D>;  // only this warp has read them
    put_rows<D>(rows, sums, a.scale, a.scale);
    __syncwarp();
    store_rows<D>(rows, g.diff_q + (p.q_row + query0) * g.ld_diff_q + p.h * D, g.ld_diff_q, valid, a.aligned);
}

template <int D>
__global__ void __launch_bounds__(128, D == 128 ? 2 : 3) backward_mma(AttentionBwd<bf16> g, int stages) {
    const Position p = block_position(g.fwd);
    const Shared<D> shared(stages);
    const int own0 = p.tile * shared.own;
    const bool resident = p.q_len > 0 && p.q_len <= kOther && p.k_len > 0 && p.k_len <= kOther;
    if (own0 < p.k_len) key_gradients(g, p, shared);
    __syncthreads();  // redundant: orders only instructions; without it, nvcc 13.0 spills registers on sm_90
    if (own0 < p.q_len) query_gradients(g, p, shared, resident);
}

}  // namespace xf::cuda
