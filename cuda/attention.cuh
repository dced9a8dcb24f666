// Shared parts of the attention kernels: arguments, the block's position, visible keys, and masks.
//
// A block works on one tile of rows (queries or keys) of one head of one sentence. It processes the rows of the other
// side in tiles of 32 that begin at multiples of 32 within the sentence, so the order of every sum depends only on the
// sentence and not on the block's own tile. There are two implementations:
//
//     tensor cores   bf16, dk == dv in {16, 32, 64, 128}: attention_mma.cuh
//     CUDA cores     everything else, in fp32: attention_core.cuh
//
// The choice depends on types and shapes, never on addresses: memory that is not 16-byte aligned is copied to shared
// memory element by element, and the arithmetic is the same.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "mma.cuh"

namespace xf::cuda {

constexpr int kOther = 32;  // rows per tile of the other side
constexpr float kLog2E = 1.4426950408889634f;

// xf_attention in the form that the kernels use. Query i attends to keys i - before .. i + after.
template <class T>
struct Attention {
    const int32_t *q_begin, *q_len, *k_begin, *k_len;
    const T *q, *k, *v;
    T *dst;
    float *lse;
    int64_t ld_q, ld_k, ld_v, ld_dst, drop_stride;
    int32_t H, dk, dv, before, after;
    int32_t tiles, jobs;  // tiles per sentence; blocks (jobs) per tile
    float scale;
    bool aligned;  // every row of every head is aligned for vector access
    Dropout dropout;
};

template <class T>
struct AttentionBwd {
    Attention<T> fwd;
    const T *diff_dst;
    T *diff_q, *diff_k, *diff_v;
    int64_t ld_diff_dst, ld_diff_q, ld_diff_k, ld_diff_v;
};

// A vector access has 16 bytes on tensor cores and 4 elements on CUDA cores.
inline bool rows_aligned(const void *ptr, int64_t ld, int64_t columns, size_t size, int64_t vector) {
    return reinterpret_cast<uintptr_t>(ptr) % (static_cast<size_t>(vector) * size) == 0 && ld % vector == 0 &&
           columns % vector == 0;
}

template <class T>
Attention<T> make_attention(const xf_attention &a, int64_t vector) {
    constexpr int64_t kAll = INT32_MAX / 2;
    const int64_t before = a.window > 0 ? std::min(a.window / 2, kAll) : kAll;
    return {a.q_begin,
            a.q_len,
            a.k_begin,
            a.k_len,
            static_cast<const T *>(a.q),
            static_cast<const T *>(a.k),
            static_cast<const T *>(a.v),
            static_cast<T *>(a.dst),
            a.lse,
            a.ld_q,
            a.ld_k,
            a.ld_v,
            a.ld_dst,
            a.drop_stride,
            static_cast<int32_t>(a.H),
            static_cast<int32_t>(a.dk),
            static_cast<int32_t>(a.dv),
            static_cast<int32_t>(before),
            static_cast<int32_t>(a.causal ? 0 : before),
            1,
            1,
            a.scale,
            rows_aligned(a.q, a.ld_q, a.dk, sizeof(T), vector) && rows_aligned(a.k, a.ld_k, a.dk, sizeof(T), vector) &&
                rows_aligned(a.v, a.ld_v, a.dv, sizeof(T), vector) &&
                rows_aligned(a.dst, a.ld_dst, a.dv, sizeof(T), vector),
            make_dropout(a.dropout)};
}

// Returns whether the tensor-core kernels support these arguments.
inline bool uses_tensor_cores(const xf_stream *stream, const xf_attention &a) {
    return stream->dtype == XF_BF16 && has_tensor_cores(stream->device) && a.dk == a.dv &&
           (a.dk == 16 || a.dk == 32 || a.dk == 64 || a.dk == 128);
}

// The B * tiles * H * jobs blocks are numbered in grid.x, the only dimension whose limit is large enough.
struct Position {
    int64_t q_row, k_row;
    int32_t q_len, k_len, tile, h, job;
};

template <class T>
__device__ inline Position block_position(const Attention<T> &a) {
    uint32_t x = blockIdx.x;
    Position p;
    p.job = static_cast<int32_t>(x % static_cast<uint32_t>(a.jobs)), x /= static_cast<uint32_t>(a.jobs);
    p.h = static_cast<int32_t>(x % static_cast<uint32_t>(a.H)), x /= static_cast<uint32_t>(a.H);
    p.tile = static_cast<int32_t>(x % static_cast<uint32_t>(a.tiles)), x /= static_cast<uint32_t>(a.tiles);
    p.q_row = a.q_begin[x], p.q_len = a.q_len[x], p.k_row = a.k_begin[x], p.k_len = a.k_len[x];
    return p;
}

// The range of tiles of the other side, begin <= tile < end, that contain a row visible to rows first .. last. If the
// own rows are keys, the caller exchanges `before` and `after`, because key j is visible to queries j - after .. j +
// before.
struct Tiles {
    int32_t begin, end;
};
__device__ inline Tiles seen_tiles(int32_t first, int32_t last, int32_t before, int32_t after, int32_t other_len) {
    const int32_t end = min(other_len, last + after + 1);
    return {max(0, first - before) / kOther, (end + kOther - 1) / kOther};
}
__device__ inline bool sees(int32_t i, int32_t j, int32_t before, int32_t after) {
    return (j >= i - before) & (j <= i + after);  // & instead of &&, which would be a branch for each pair
}

// Bit n is set if the dropout mask keeps element 8 * block + n.
__device__ inline uint32_t kept8(const Dropout &d, uint64_t block) {
    const Philox r = philox(d.seed, static_cast<uint32_t>(block),
                            static_cast<uint32_t>(block >> 32) ^ (d.when[1] << 16), d.site, d.when[0]);
    uint32_t bits = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const uint32_t word = r.word[j];
        const uint32_t low = (word & 0xFFFFu) >= d.threshold, high = (word >> 16) >= d.threshold;
        bits |= (low | high << 1) << (2 * j);
    }
    return bits;
}
// The block of the mask that contains keys j0 .. j0 + 7 of a query; j0 is a multiple of 8.
template <class T>
__device__ inline uint64_t drop_block(const Attention<T> &a, int64_t query_row, int32_t h, int32_t j0) {
    return static_cast<uint64_t>((query_row * a.H + h) * a.drop_stride + j0) / 8;
}

}  // namespace xf::cuda
