// Gradients of attention over packed sequences (paper s. 3.2.1, eq. 1). The probabilities p are recomputed tile by tile
// from the log-sum-exp of the forward pass:
//
//     p = exp(scale q k^T - lse)       delta = sum over columns of diff_dst * dst
//     ds = p (mask * (diff_dst v^T) - delta)
//     diff_v = (mask * p)^T diff_dst     diff_k = scale ds^T q     diff_q = scale ds k
//
// A block owns rows of the results, processes the tiles of the other side in increasing order, and accumulates in
// registers, so sums need no atomics and have a fixed order. On tensor cores (attention_bwd_mma.cuh) a block computes
// all three gradients; on CUDA cores, 64 columns of one of them.
//
// Lower bound on an H200: q, k, v, dst, and diff_dst are read and three gradients written, 8 rows D elements; with 25k
// tokens and D = 512 in bf16 0.20 GB, 48 us. The seven products (the scores are computed twice) have 2 q_len k_len D
// FLOP per sentence each, which is negligible.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "attention_bwd_mma.cuh"
#include "attention_core.cuh"
#include "ops.h"

namespace xf::cuda {
namespace {

// g.fwd.aligned covers all tensors, including the gradients.
template <class T>
AttentionBwd<T> make_arguments(const xf_attention_bwd &args, int64_t vector) {
    AttentionBwd<T> g = {make_attention<T>(args.fwd, vector),
                         static_cast<const T *>(args.diff_dst),
                         static_cast<T *>(args.diff_q),
                         static_cast<T *>(args.diff_k),
                         static_cast<T *>(args.diff_v),
                         args.ld_diff_dst,
                         args.ld_diff_q,
                         args.ld_diff_k,
                         args.ld_diff_v};
    const int64_t dk = args.fwd.dk, dv = args.fwd.dv;
    g.fwd.aligned = g.fwd.aligned && rows_aligned(args.diff_dst, args.ld_diff_dst, dv, sizeof(T), vector) &&
                    rows_aligned(args.diff_q, args.ld_diff_q, dk, sizeof(T), vector) &&
                    rows_aligned(args.diff_k, args.ld_diff_k, dk, sizeof(T), vector) &&
                    rows_aligned(args.diff_v, args.ld_diff_v, dv, sizeof(T), vector);
    return g;
}

template <int D>
int32_t run_mma(xf_stream *stream, const xf_attention_bwd &args, xf_error *err) {
    AttentionBwd<bf16> g = make_arguments<bf16>(args, 8);
    const int64_t longest = std::max(args.fwd.max_q_len, args.fwd.max_k_len);
    const int stages = longest > kOther ? 2 : 1;
    // Tiles of 64 rows x 128 columns do not fit on GPUs with 99 KiB per block. The size of the own tile does not affect
    // the bits.
    const bool fits = shared_bytes<D>(64, 2) <= static_cast<size_t>(stream->device->shared_per_block);
    const int own = longest > kOther && fits ? 64 : 32;
    g.fwd.tiles = static_cast<int32_t>(ceil_div<int64_t>(longest, own));
    return launch(stream, err, "attention_bwd", backward_mma<D>,
                  dim3(static_cast<uint32_t>(args.fwd.B * g.fwd.tiles * args.fwd.H)),
                  dim3(static_cast<uint32_t>(own * 2)), shared_bytes<D>(own, stages), g, stages);
}

// ------------------------------------------------------------------------------------------------ CUDA cores

// Computes lse and delta (over `columns` columns) of a tile of queries; eight threads per query.
template <class T>
__device__ inline void compute_deltas(CoreTiles *tiles, const AttentionBwd<T> &g, int64_t query_row, int32_t h,
                                      int queries, int columns) {
    const Attention<T> &a = g.fwd;
    const int64_t column0 = static_cast<int64_t>(h) * a.dv;
    for (int row = static_cast<int>(threadIdx.x) / 8; row < kOther; row += kCoreThreads / 8) {
        const T *x = a.dst + (query_row + row) * a.ld_dst + column0;
        const T *y = g.diff_dst + (query_row + row) * g.ld_diff_dst + column0;
        float sum = 0.0f;
        for (int c = static_cast<int>(threadIdx.x) % 8 * 4; row < queries && c < columns; c += 32) {
            const float4 u = load4(x + c, a.dv - c, a.aligned), v = load4(y + c, a.dv - c, a.aligned);
            sum += u.x * v.x + u.y * v.y + (u.z * v.z + u.w * v.w);
        }
        for (int offset = 1; offset < 8; offset *= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
        if (threadIdx.x % 8 == 0) {
            tiles->delta[row] = sum;
            tiles->lse[row] = row < queries ? a.lse[(query_row + row) * a.H + h] : 0.0f;
        }
    }
}

// Jobs: first the 64-column chunks of diff_v, then those of diff_k, then those of diff_q. s and w are [own][other]
// values of the thread.
template <class T>
__global__ void __launch_bounds__(kCoreThreads, 6) backward_core(AttentionBwd<T> g) {
    __shared__ CoreTiles tiles;
    const Attention<T> &a = g.fwd;
    const Position p = block_position(a);
    const int chunks_v = (a.dv + kColumns - 1) / kColumns, chunks_k = (a.dk + kColumns - 1) / kColumns;
    const bool for_v = p.job < chunks_v, for_q = p.job >= chunks_v + chunks_k;
    const int column0 = (for_v ? p.job : (p.job - chunks_v) % chunks_k) * kColumns;
    const int columns = min(kColumns, (for_v ? a.dv : a.dk) - column0);
    const int own0 = p.tile * kOwn, own_len = for_q ? p.q_len : p.k_len, other_len = for_q ? p.k_len : p.q_len;
    if (own0 >= own_len) return;
    const int own_rows = min(kOwn, own_len - own0);
    const int own = static_cast<int>(threadIdx.x) / 8 * 4, part = static_cast<int>(threadIdx.x) % 8 * 4;
    const int64_t head_k = static_cast<int64_t>(p.h) * a.dk, head_v = static_cast<int64_t>(p.h) * a.dv;
    const bool drop = a.dropout.threshold != 0;
    float out[4][8] = {};

    const int reach_down = for_q ? a.before : a.after, reach_up = for_q ? a.after : a.before;
    const Tiles seen = seen_tiles(own0, own0 + own_rows - 1, reach_down, reach_up, other_len);
    for (int tile = seen.begin; tile < seen.end; ++tile) {
        const int other0 = tile * kOther, other_rows = min(kOther, other_len - other0);
        const int query0 = for_q ? own0 : other0, key0 = for_q ? other0 : own0, queries = for_q ? own_rows : other_rows;
        const int64_t query_row = p.q_row + query0, key_row = p.k_row + key0;
        const T *const q = a.q + query_row * a.ld_q + head_k, *const k = a.k + key_row * a.ld_k + head_k;
        const T *const v = a.v + key_row * a.ld_v + head_v;
        const T *const diff_dst = g.diff_dst + query_row * g.ld_diff_dst + head_v;
        if (!for_q || tile == seen.begin) compute_deltas(&tiles, g, query_row, p.h, queries, for_v ? 0 : a.dv);
        if (drop) draw_mask(&tiles, a, query_row, p.h, key0, queries);
        float s[4][4], w[4][4] = {};
        multiply_rows(s, &tiles, for_q ? q : k, for_q ? a.ld_q : a.ld_k, own_rows, for_q ? k : q,
                      for_q ? a.ld_k : a.ld_q, other_rows, a.dk, a.aligned);
        if (!for_v)
            multiply_rows(w, &tiles, for_q ? diff_dst : v, for_q ? g.ld_diff_dst : a.ld_v, own_rows,
                          for_q ? v : diff_dst, for_q ? a.ld_v : g.ld_diff_dst, other_rows, a.dv, a.aligned);
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            const int mine = own + i / 4, theirs = part + i % 4, query = for_q ? mine : theirs,
                      key = for_q ? theirs : mine;
            const bool seen_key =
                mine < own_rows && theirs < other_rows && sees(query0 + query, key0 + key, a.before, a.after);
            const float weight = seen_key ? expf(s[i / 4][i % 4] * a.scale - tiles.lse[query]) : 0.0f;
            const float mask = drop ? (seen_key && kept(&tiles, query, key) ? a.dropout.scale : 0.0f) : 1.0f;
            s[i / 4][i % 4] = weight * (for_v ? mask : mask * w[i / 4][i % 4] - tiles.delta[query]);
        }
        const T *const src = for_v ? diff_dst : for_q ? k : q;
        multiply_weights(out, &tiles, s, src + column0,
                         for_v   ? g.ld_diff_dst
                         : for_q ? a.ld_k
                                 : a.ld_q,
                         other_rows, columns, a.aligned);
    }
    const float scale = for_v ? 1.0f : a.scale, factor[4] = {scale, scale, scale, scale};
    T *const dst = for_v ? g.diff_v + head_v : for_q ? g.diff_q + head_k : g.diff_k + head_k;
    const int64_t ld = for_v ? g.ld_diff_v : for_q ? g.ld_diff_q : g.ld_diff_k;
    store_results(dst + ((for_q ? p.q_row : p.k_row) + own0) * ld + column0, ld, own_rows, columns, out, factor);
}

template <class T>
int32_t run_core(xf_stream *stream, const xf_attention_bwd &args, xf_error *err) {
    AttentionBwd<T> g = make_arguments<T>(args, 4);
    const xf_attention &a = args.fwd;
    g.fwd.tiles = static_cast<int32_t>(ceil_div<int64_t>(std::max(a.max_q_len, a.max_k_len), kOwn));
    g.fwd.jobs = static_cast<int32_t>(ceil_div<int64_t>(a.dv, kColumns) + 2 * ceil_div<int64_t>(a.dk, kColumns));
    return launch(stream, err, "attention_bwd", backward_core<T>,
                  dim3(static_cast<uint32_t>(a.B * g.fwd.tiles * a.H * g.fwd.jobs)), dim3(kCoreThreads), 0, g);
}

}  // namespace

int32_t attention_bwd(xf_stream *stream, const xf_attention_bwd *args, xf_error *err) {
    if (const int32_t status = enter(stream, err)) return status;
    if (args->fwd.B <= 0 || args->fwd.H <= 0 || std::max(args->fwd.max_q_len, args->fwd.max_k_len) <= 0) return XF_OK;
    if (!uses_tensor_cores(stream, args->fwd))
        return dispatch(stream, [&](auto zero) { return run_core<decltype(zero)>(stream, *args, err); });
    switch (args->fwd.dk) {
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
