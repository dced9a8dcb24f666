// Attention over packed sequences, forward (paper s. 3.2.1, eq. 1), in one pass over the keys with an online softmax:
//
//     s = scale q k^T     m' = max(m, max s)     p = exp(s - m')     f = exp(m - m')
//     l' = f l + sum p    dst' = f dst' + dropout(p) v               at the end dst = dst' / l, lse = m + log l
//
// A tile of keys that a query does not see changes nothing for it: m is unchanged, f is 1, and every p is 0 (before its
// first visible key, m is minus infinity and l and dst' are 0 and remain so). The bits of a query therefore depend
// neither on the size of the block's tile of queries nor on the other queries in it. A hidden key within a visible tile
// is multiplied by zero, so its k and v must be finite.
//
// Lower bound on an H200: q, k, and v are read and dst is written once, (3 + 1) rows D elements; with 25k tokens and D
// = 512 in bf16 0.10 GB, 24 us. The products have 4 q_len k_len D FLOP per sentence; with 27 tokens per sentence 1.4
// GFLOP in total, which is negligible.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "attention_core.cuh"
#include "attention_mma.cuh"
#include "dependent.cuh"
#include "ops.h"

namespace xf::cuda {
namespace {

constexpr float kLn2 = 0.6931471805599453f;

// ---------------------------------------------------------------------------------------------- tensor cores

// State of a warp's 16 queries between tiles of keys. Index 0 is row g of the fragments, 1 is row g + 8. Maxima are in
// units of log 2; sum is this lane's part of the sum.
template <int D>
struct Rows {
    uint32_t q[D / 16][4];
    float out[D / 8][4], top[2], sum[2];
};

// Processes one tile of keys. first: the warp's first query; key0: the first key of the tile.
template <int D>
__device__ inline void attend(Rows<D> &rows, const Attention<bf16> &a, const Position &p, int first, int key0,
                              const bf16 *k, const bf16 *v) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    float s[4][4] = {};
    multiply_rows<D>(
        s,
        [&](uint32_t(&x)[4], int i) {
#pragma unroll
            for (int n = 0; n < 4; ++n) x[n] = rows.q[i][n];
        },
        k);
    const float scale = a.scale * kLog2E;
    const bool all_seen =
        key0 + kOther <= p.k_len && key0 >= first + 15 - a.before && key0 + kOther - 1 <= first + a.after;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int key = key0 + i / 4 * 8 + lane % 4 * 2 + i % 2, query = first + lane / 4 + i % 4 / 2 * 8;
        const bool seen = all_seen | ((key < p.k_len) & sees(query, key, a.before, a.after));
        s[i / 4][i % 4] = seen ? s[i / 4][i % 4] * scale : -INFINITY;
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float top = rows.top[r], sum = 0.0f;
#pragma unroll
        for (int n = 0; n < 4; ++n) top = fmaxf(top, fmaxf(s[n][2 * r], s[n][2 * r + 1]));
        top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 2));
        const float base = top == -INFINITY ? 0.0f : top, factor = exp2f(rows.top[r] - base);
#pragma unroll
        for (int n = 0; n < 4; ++n) {
            s[n][2 * r] = exp2f(s[n][2 * r] - base);
            s[n][2 * r + 1] = exp2f(s[n][2 * r + 1] - base);
            sum += s[n][2 * r] + s[n][2 * r + 1];
        }
        rows.top[r] = top;
        rows.sum[r] = rows.sum[r] * factor + sum;
#pragma unroll
        for (int n = 0; n < D / 8; ++n) {
            rows.out[n][2 * r] *= factor;
            rows.out[n][2 * r + 1] *= factor;
        }
    }
    if (a.dropout.threshold != 0) {
        const RowBits bits = query_bits(a, p.q_row + first, p.h, key0);
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            const uint32_t row = i % 4 < 2 ? bits.low : bits.high;
            if ((row >> (i / 4 * 8 + lane % 4 * 2 + i % 2) & 1u) == 0) s[i / 4][i % 4] = 0.0f;
        }
    }
    multiply_weights<D>(rows.out, s, v);
}

// Shared memory: the block's queries, then two stages of 32 keys and 32 values (one stage if no sentence is longer).
template <int D>
__global__ void __launch_bounds__(128, D == 128 ? 2 : 4) forward_mma(Attention<bf16> a) {
    begin_after_previous();
    constexpr int kStage = 2 * kOther * kPitch<D>;
    const Position p = block_position(a);
    const int queries = static_cast<int>(blockDim.x) / 2, query0 = p.tile * queries;
    if (query0 >= p.q_len) return;
    const int lane = static_cast<int>(threadIdx.x) % kWarp, row0 = static_cast<int>(threadIdx.x) / kWarp * 16;
    const int first = query0 + row0, valid = min(16, p.q_len - first);
    bf16 *const q = dynamic_shared<bf16>(), *const stages = q + queries * kPitch<D>;
    const bf16 *const k = a.k + p.k_row * a.ld_k + p.h * D, *const v = a.v + p.k_row * a.ld_v + p.h * D;
    const auto load_keys = [&](int tile, bf16 *to) {
        const int64_t row = static_cast<int64_t>(tile) * kOther;
        const int rows = p.k_len - tile * kOther;
        load_tile<D>(to, kOther, k + row * a.ld_k, a.ld_k, rows, a.aligned);
        load_tile<D>(to + kOther * kPitch<D>, kOther, v + row * a.ld_v, a.ld_v, rows, a.aligned);
        cp_async_commit();
    };
    const Tiles tiles = seen_tiles(query0, min(query0 + queries, p.q_len) - 1, a.before, a.after, p.k_len);
    if (tiles.begin < tiles.end) {
        load_tile<D>(q, queries, a.q + (p.q_row + query0) * a.ld_q + p.h * D, a.ld_q, p.q_len - query0, a.aligned);
        load_keys(tiles.begin, stages);
    }

    Rows<D> rows = {};
    rows.top[0] = rows.top[1] = -INFINITY;
    for (int tile = tiles.begin; tile < tiles.end; ++tile) {
        bf16 *const stage = stages + (tile - tiles.begin) % 2 * kStage;
        if (tile + 1 < tiles.end) {
            load_keys(tile + 1, stages + (tile + 1 - tiles.begin) % 2 * kStage);
            cp_async_wait<1>();
        } else {
            cp_async_wait<0>();
        }
        __syncthreads();
        if (valid > 0) {
            if (tile == tiles.begin) {
#pragma unroll
                for (int i = 0; i < D / 16; ++i) load_a<D>(rows.q[i], q, row0, i * 16);
            }
            attend<D>(rows, a, p, first, tile * kOther, stage, stage + kOther * kPitch<D>);
        }
        __syncthreads();
    }
    if (valid <= 0) return;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        rows.sum[r] += __shfl_xor_sync(0xFFFFFFFFu, rows.sum[r], 1);
        rows.sum[r] += __shfl_xor_sync(0xFFFFFFFFu, rows.sum[r], 2);
        const int row = lane / 4 + 8 * r;
        if (a.lse && lane % 4 == 0 && row < valid)
            a.lse[(p.q_row + first + row) * a.H + p.h] = (rows.top[r] + log2f(rows.sum[r])) * kLn2;
    }
    const float scale = a.dropout.threshold != 0 ? a.dropout.scale : 1.0f;
    const float low = p.k_len > 0 ? scale / rows.sum[0] : 0.0f, high = p.k_len > 0 ? scale / rows.sum[1] : 0.0f;
    bf16 *const own = q + row0 * kPitch<D>;  // only this warp has read these rows
    put_rows<D>(own, rows.out, low, high);
    __syncwarp();
    store_rows<D>(own, a.dst + (p.q_row + first) * a.ld_dst + p.h * D, a.ld_dst, valid, a.aligned);
}

template <int D>
int32_t run_mma(xf_stream *stream, const xf_attention &args, xf_error *err) {
    Attention<bf16> a = make_attention<bf16>(args, 8);
    const int64_t warps = std::min<int64_t>(4, ceil_div<int64_t>(args.max_q_len, 16));
    const int64_t tiles = ceil_div<int64_t>(args.max_q_len, warps * 16), stages = args.max_k_len > kOther ? 2 : 1;
    a.tiles = static_cast<int32_t>(tiles);
    const size_t shared = static_cast<size_t>((warps * 16 + stages * 2 * kOther) * kPitch<D>) * sizeof(bf16);
    return launch_dependent(stream, err, "attention_fwd", forward_mma<D>,
                            dim3(static_cast<uint32_t>(args.B * tiles * args.H)),
                            dim3(static_cast<uint32_t>(warps * kWarp)), shared, a);
}

// ------------------------------------------------------------------------------------------------ CUDA cores

// A block computes 64 columns of the result for its queries; p.job selects the columns. Each job recomputes the scores.
template <class T>
__global__ void __launch_bounds__(kCoreThreads) forward_core(Attention<T> a) {
    begin_after_previous();
    __shared__ CoreTiles tiles;
    const Position p = block_position(a);
    const int query0 = p.tile * kOwn;
    if (query0 >= p.q_len) return;
    const int queries = min(kOwn, p.q_len - query0), column0 = p.job * kColumns,
              columns = min(kColumns, a.dv - column0);
    const int own = static_cast<int>(threadIdx.x) / 8 * 4, part = static_cast<int>(threadIdx.x) % 8 * 4;
    const T *const q = a.q + (p.q_row + query0) * a.ld_q + static_cast<int64_t>(p.h) * a.dk;
    const T *const k = a.k + p.k_row * a.ld_k + static_cast<int64_t>(p.h) * a.dk;
    const T *const v = a.v + p.k_row * a.ld_v + static_cast<int64_t>(p.h) * a.dv + column0;
    const float drop_scale = a.dropout.threshold != 0 ? a.dropout.scale : 1.0f;
    float out[4][8] = {}, top[4], sum[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) top[r] = -INFINITY, sum[r] = 0.0f;

    const Tiles seen = seen_tiles(query0, query0 + queries - 1, a.before, a.after, p.k_len);
    for (int tile = seen.begin; tile < seen.end; ++tile) {
        const int key0 = tile * kOther, keys = min(kOther, p.k_len - key0);
        if (a.dropout.threshold != 0) draw_mask(&tiles, a, p.q_row + query0, p.h, key0, queries);
        float s[4][4];
        multiply_rows(s, &tiles, q, a.ld_q, queries, k + key0 * a.ld_k, a.ld_k, keys, a.dk, a.aligned);
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            float best = top[r], total = 0.0f;
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const bool seen_key = part + c < keys && sees(query0 + own + r, key0 + part + c, a.before, a.after);
                s[r][c] = seen_key ? s[r][c] * a.scale : -INFINITY;
                best = fmaxf(best, s[r][c]);
            }
#pragma unroll
            for (int offset = 1; offset < 8; offset *= 2)
                best = fmaxf(best, __shfl_xor_sync(0xFFFFFFFFu, best, offset));
            const float base = best == -INFINITY ? 0.0f : best, factor = expf(top[r] - base);
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                s[r][c] = expf(s[r][c] - base);
                total += s[r][c];
                if (a.dropout.threshold != 0 && !(own + r < queries && kept(&tiles, own + r, part + c))) s[r][c] = 0.0f;
            }
            top[r] = best;
            sum[r] = sum[r] * factor + total;
#pragma unroll
            for (int c = 0; c < 8; ++c) out[r][c] *= factor;
        }
        multiply_weights(out, &tiles, s, v + key0 * a.ld_v, a.ld_v, keys, columns, a.aligned);
    }
    float factor[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int offset = 1; offset < 8; offset *= 2) sum[r] += __shfl_xor_sync(0xFFFFFFFFu, sum[r], offset);
        factor[r] = p.k_len > 0 ? drop_scale / sum[r] : 0.0f;
        if (a.lse && p.job == 0 && part == 0 && own + r < queries)
            a.lse[(p.q_row + query0 + own + r) * a.H + p.h] = top[r] + logf(sum[r]);
    }
    store_results(a.dst + (p.q_row + query0) * a.ld_dst + static_cast<int64_t>(p.h) * a.dv + column0, a.ld_dst, queries,
                  columns, out, factor);
}

template <class T>
int32_t run_core(xf_stream *stream, const xf_attention &args, xf_error *err) {
    Attention<T> a = make_attention<T>(args, 4);
    a.tiles = static_cast<int32_t>(ceil_div<int64_t>(args.max_q_len, kOwn));
    a.jobs = static_cast<int32_t>(ceil_div<int64_t>(args.dv, kColumns));
    return launch_dependent(stream, err, "attention_fwd", forward_core<T>,
                            dim3(static_cast<uint32_t>(args.B * a.tiles * args.H * a.jobs)), dim3(kCoreThreads), 0, a);
}

}  // namespace

int32_t attention_fwd(xf_stream *stream, const xf_attention *args, xf_error *err) {
    if (const int32_t status = enter(stream, err)) return status;
    if (args->B <= 0 || args->H <= 0 || args->max_q_len <= 0) return XF_OK;
    if (!uses_tensor_cores(stream, *args))
        return dispatch(stream, [&](auto zero) { return run_core<decltype(zero)>(stream, *args, err); });
    switch (args->dk) {
        case 16:
            return run_mma<16>(stream, *args, err);
        case 32:
            return run_mma<32>(stream, *args, err);
        case 64:
            return run_mma<64>(stream, *args, err);
        default:
            return run_mma<128>(stream, *args, err);
    }
}

}  // namespace xf::cuda
