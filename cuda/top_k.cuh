// Selection of the largest of many numbers without sorting: the device side of top_k.cu.
//
// A number and its id form one 64-bit key. Keys are ordered by larger number, then lower id, so no two are equal. Take
// the maximum of each of G groups of columns; the R-th largest of these maxima is a threshold. At least R columns reach
// it, and only columns of R groups can. These columns are gathered in any order, and the rank of each is the number of
// larger ones. About G ln(G / (G - R)) columns are gathered if the numbers are in random order.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dependent.cuh"
#include "rows.cuh"

namespace xf::cuda {

constexpr int kTileThreads = 128;   // threads per block
constexpr int kThreadColumns = 16;  // columns per thread
constexpr int kTileColumns = kTileThreads * kThreadColumns;
constexpr int kTileCandidates = 1024;
constexpr int kChoiceThreads = 256;
constexpr int kChoiceGathered = 4096;
constexpr int kFewBanned = 8;

struct TopRow {
    float *logits;  // [rows, ld]; after reduce_tile: NaN logits are minus infinity, excluded ids are NaN
    int64_t V, ld;  // ld: a multiple of 4
};
struct TileSums {
    float top, sum;  // maximum of x and sum of exp(x - top), including banned ids
};
struct Banned {
    int32_t count;
    const int32_t *many;  // device memory, or NULL
    int32_t few[kFewBanned];
    const uint32_t *allowed;  // [rows, words], one bit per id; or NULL
    int64_t words;
};

constexpr uint64_t kNoKey = 0;               // below every key
constexpr uint64_t kTooMany = ~uint64_t{0};  // above every key; a list filled with it had too many ties to be computed

__device__ inline uint64_t make_key(float value, int32_t id) {
    const uint32_t bits = __float_as_uint(__fadd_rn(value, 0.0f));  // converts -0 to 0
    const uint32_t rising = bits >> 31 ? ~bits : bits | 0x80000000u;
    return static_cast<uint64_t>(rising) << 32 | ~static_cast<uint32_t>(id);
}
__device__ inline float key_value(uint64_t key) {
    const auto rising = static_cast<uint32_t>(key >> 32);
    return __uint_as_float(rising >> 31 ? rising & 0x7FFFFFFFu : ~rising);
}
__device__ inline int32_t key_id(uint64_t key) { return static_cast<int32_t>(~static_cast<uint32_t>(key)); }

__device__ inline float log_p(float x, float lse) {
    const float value = x - lse;
    return value == value ? value : -INFINITY;
}

// The maximum over the block; see block_sum(). No thread may still read shared.
template <int kWarps>
__device__ inline float block_max(float x, float *shared) {
    x = warp_max(x);
    if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = x;
    __syncthreads();
    for (int w = 0; w < kWarps; ++w) x = fmaxf(x, shared[w]);
    return x;
}

// Exclusive prefix sum: returns the sum of n over the threads before this one; *total is the sum over all. All threads
// call it; shared has kWarps elements, which no thread may still read.
template <int kWarps>
__device__ inline int block_offset(int n, int *shared, int *total) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
    int through = n;  // including this thread
#pragma unroll
    for (int offset = 1; offset < kWarp; offset *= 2) {
        const int lower = __shfl_up_sync(0xFFFFFFFFu, through, offset);
        if (lane >= offset) through += lower;
    }
    if (lane == kWarp - 1) shared[warp] = through;
    __syncthreads();
    int before = through - n;
    *total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
        if (w < warp) before += shared[w];
        *total += shared[w];
    }
    return before;
}

// Reduces one tile of a row: its part of the normalization and, with kGroups > 0, the `listed` best logits that are not
// excluded (at most kGroups) as decreasing keys, filled with kNoKey if fewer are above minus infinity. grid [tiles,
// rows].
template <int kGroups>
__global__ void __launch_bounds__(kTileThreads)
    reduce_tile(const TopRow r, const Banned banned, TileSums *tiles, uint64_t *lists, int listed) {
    begin_after_previous();
    constexpr int kWarps = kTileThreads / kWarp;
    __shared__ float partial[kWarps];
    const int tid = static_cast<int>(threadIdx.x);
    const int64_t begin = static_cast<int64_t>(blockIdx.x) * kTileColumns,
                  at = blockIdx.y * int64_t{gridDim.x} + blockIdx.x;
    float *const row = r.logits + blockIdx.y * r.ld;
    const auto column = [&](int e) { return begin + e / 4 * (4 * kTileThreads) + 4 * tid + e % 4; };
    float x[kThreadColumns];
#pragma unroll
    for (int e = 0; e < kThreadColumns; e += 4) {
        if (column(e) + 4 <= r.V) {
            const float4 four = *reinterpret_cast<const float4 *>(row + column(e));
            x[e] = four.x, x[e + 1] = four.y, x[e + 2] = four.z, x[e + 3] = four.w;
        } else {  // nothing has been written after column V
#pragma unroll
            for (int i = 0; i < 4; ++i) x[e + i] = column(e) + i < r.V ? row[column(e) + i] : 0.0f;
        }
    }
    uint32_t excluded = 0;  // bit e: column e is excluded
    const auto exclude = [&](int64_t id) {
        const int64_t offset = id - begin;
        if (offset >= 0 && offset < kTileColumns && offset / 4 % kTileThreads == tid)
            excluded |= 1u << (offset / (4 * kTileThreads) * 4 + offset % 4);
    };
    if (banned.many != nullptr) {
        for (int i = 0; i < banned.count; ++i) exclude(banned.many[i]);
    } else {
#pragma unroll
        for (int i = 0; i < kFewBanned; ++i)
            if (i < banned.count) exclude(banned.few[i]);
    }
    if (banned.allowed != nullptr) {
        const uint32_t *const allowed = banned.allowed + blockIdx.y * banned.words;
#pragma unroll
        for (int e = 0; e < kThreadColumns; e += 4)  // four neighbors share a word
            if (column(e) < r.V) excluded |= (~(allowed[column(e) / 32] >> (column(e) % 32)) & 0xFu) << e;
    }
    float top = -INFINITY, best = -INFINITY;
#pragma unroll
    for (int e = 0; e < kThreadColumns; ++e) {
        const bool inside = column(e) < r.V, lost = x[e] != x[e], taken = (excluded >> e & 1u) != 0;
        if (!inside || lost) x[e] = -INFINITY;
        if (inside && (lost || taken)) row[column(e)] = taken ? NAN : -INFINITY;
        top = fmaxf(top, x[e]);
        if (!taken) best = fmaxf(best, x[e]);
    }
    top = block_max<kWarps>(top, partial);
    float sum = 0.0f;
#pragma unroll
    for (int e = 0; e < kThreadColumns; ++e) sum += top > -INFINITY ? expf(x[e] - top) : 0.0f;
    sum = block_sum<kWarps>(sum, partial);
    if (tid == 0) tiles[at] = {top, sum};

    if constexpr (kGroups > 0) {
        constexpr int kGroupThreads = kTileThreads / kGroups;  // neighboring threads that form a group
        __shared__ float bests[kGroups], threshold;
        __shared__ int offsets[kWarps];
        __shared__ uint64_t gathered[kTileCandidates];
        float group = best;
#pragma unroll
        for (int offset = kGroupThreads / 2; offset > 0; offset /= 2)
            group = fmaxf(group, __shfl_xor_sync(0xFFFFFFFFu, group, offset));
        if (tid % kGroupThreads == 0) bests[tid / kGroupThreads] = group;
        __syncthreads();
        if (tid < kGroups) {
            const float mine = bests[tid];
            int rank = 0;
#pragma unroll 8
            for (int j = 0; j < kGroups; ++j) rank += bests[j] > mine || (bests[j] == mine && j < tid);
            if (rank == listed - 1) threshold = mine;
        }
        __syncthreads();
        uint32_t chosen = 0;
#pragma unroll
        for (int e = 0; e < kThreadColumns; ++e)
            if (x[e] >= threshold && x[e] > -INFINITY) chosen |= 1u << e;
        chosen &= ~excluded;
        int count, slot = block_offset<kWarps>(__popc(chosen), offsets, &count);
#pragma unroll
        for (int e = 0; e < kThreadColumns; ++e) {
            if ((chosen >> e & 1u) == 0) continue;
            if (slot < kTileCandidates) gathered[slot] = make_key(x[e], static_cast<int32_t>(column(e)));
            ++slot;
        }
        __syncthreads();
        uint64_t *const list = lists + at * listed;
        if (count > kTileCandidates) {
            for (int i = tid; i < listed; i += kTileThreads) list[i] = kTooMany;
        } else {
            for (int i = tid; i < count; i += kTileThreads) {
                int rank = 0;
                for (int j = 0; j < count; ++j) rank += gathered[j] > gathered[i];
                if (rank < listed) list[rank] = gathered[i];
            }
            for (int i = count + tid; i < listed; i += kTileThreads) list[i] = kNoKey;
        }
    }
}

struct Choice {
    uint64_t best[kChoiceThreads], gathered[kChoiceGathered], threshold, last;
    int offsets[kChoiceThreads / kWarp];
};

// Selects the k largest of key(0) .. key(n - 1), which are kNoKey or distinct. Calls emit(rank, key) for each, then
// with {-inf, -1} for the remaining ranks. Returns the k-th key to every thread, or kNoKey if there are fewer. All
// threads call it.
template <class Key, class Emit>
__device__ inline uint64_t choose(Choice &s, int64_t n, int64_t k, const Key &key, const Emit &emit) {
    const int tid = static_cast<int>(threadIdx.x);
    const int64_t each = (n + kChoiceThreads - 1) / kChoiceThreads;
    const int64_t most = min(int64_t{kChoiceThreads},
                             1 + (kChoiceGathered - 1) / each);  // a number of keys that always fits in `gathered`
    uint64_t before = kTooMany;
    for (int64_t done = 0; done < k;) {
        const int wanted = static_cast<int>(min(most, k - done));
        uint64_t best = kNoKey;
#pragma unroll 4
        for (int64_t i = tid; i < n; i += kChoiceThreads) {
            const uint64_t candidate = key(i);
            if (candidate < before && candidate > best) best = candidate;
        }
        s.best[tid] = best;
        if (tid == 0) s.threshold = kNoKey + 1;
        __syncthreads();
        int rank = 0;
#pragma unroll 8
        for (int j = 0; j < kChoiceThreads; ++j) rank += s.best[j] > best;
        if (rank == wanted - 1 && best != kNoKey) s.threshold = best;
        __syncthreads();
        const uint64_t threshold = s.threshold;
        const auto among = [&](uint64_t candidate) { return candidate < before && candidate >= threshold; };
        int mine = 0, count;
        for (int64_t i = best >= threshold ? tid : n; i < n; i += kChoiceThreads) mine += among(key(i));
        int slot = block_offset<kChoiceThreads / kWarp>(mine, s.offsets, &count);
        if (mine == 1) {
            s.gathered[slot] = best;
        } else if (mine > 1) {
            for (int64_t i = tid; i < n; i += kChoiceThreads)
                if (among(key(i))) s.gathered[slot++] = key(i);
        }
        __syncthreads();
        for (int i = tid; i < count; i += kChoiceThreads) {
            const uint64_t candidate = s.gathered[i];
            rank = 0;
            for (int j = 0; j < count; ++j) rank += s.gathered[j] > candidate;
            if (rank < wanted) emit(done + rank, candidate);
            if (rank == wanted - 1) s.last = candidate;
        }
        __syncthreads();
        if (count < wanted) {
            for (int64_t at = done + count + tid; at < k; at += kChoiceThreads) emit(at, make_key(-INFINITY, -1));
            return kNoKey;
        }
        before = s.last;
        done += wanted;
    }
    return before;
}

}  // namespace xf::cuda
