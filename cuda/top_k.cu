// Projection, log-softmax, and the k best ids of each row: the last part of a decoding step (paper s. 3.4, 6.1).
//
//     x = src weights^T + bias    value[v] = x[v] - log sum exp x    the k largest allowed ones, ties by increasing id
//
// Rows are processed in chunks: gemm() computes their logits in fp32, which are then read once. The first kernel
// divides a row into tiles of 2048 columns, so that a few rows fill the device; it computes {top, sum} of each tile and
// its k + 1 best logits. The second kernel combines the tiles of a row: the log-sum-exp, and the k best by value.
//
// Ties are compared in the value, and different logits may round to one value. A logit that a tile dropped could
// therefore win by its lower id. This is impossible if the last of a tile's k + 1 candidates has a lower value than the
// k-th of the row. Otherwise, and if k is large, the second kernel selects among all columns of the row. Both ways give
// the same result.
//
// Selection does not sort: of the maxima of 256 threads the R-th largest is a threshold that at least R columns reach
// and few others. These columns are gathered and ranked by comparing all pairs. Only ranks are used, so the order of
// the gathered list does not matter.
//
// Lower bound: the weights once, V * D elements, and for many rows writing and reading the logits: rows * V * 8 bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include "dependent.cuh"
#include "top_k.cuh"

#include <algorithm>
#include <cstring>

#include "gemm.h"
#include "ops.h"
#include "plugin.h"

namespace xf::cuda {
namespace {

constexpr int64_t kMostListed = 64;
constexpr int64_t kMostRows = 65408;                // limit of grid.y, in whole tiles of a matrix product
constexpr int64_t kChunkLogits = int64_t{1} << 25;  // 128 MiB: 896 rows of V = 37000

// Combines the tiles of a row; writes its values and ids.
__global__ void __launch_bounds__(kChoiceThreads)
    merge_tiles(const TopRow r, int64_t k, const TileSums *tiles, int count, const uint64_t *lists, int listed,
                float *values, int32_t *ids, float *all_values) {
    begin_after_previous();
    __shared__ Choice choice;
    __shared__ float partial[kChoiceThreads / kWarp];
    const int64_t row = blockIdx.x;
    const int tid = static_cast<int>(threadIdx.x);
    const TileSums *mine = tiles + row * count;
    float top = -INFINITY, sum = 0.0f;
    for (int i = tid; i < count; i += kChoiceThreads) top = fmaxf(top, mine[i].top);
    top = block_max<kChoiceThreads / kWarp>(top, partial);
    for (int i = tid; i < count; i += kChoiceThreads) sum = fmaf(mine[i].sum, expf(mine[i].top - top), sum);
    const float lse = top + logf(block_sum<kChoiceThreads / kWarp>(sum, partial));

    for (int64_t v = tid; all_values != nullptr && v < r.V; v += kChoiceThreads)
        all_values[row * r.V + v] = log_p(r.logits[row * r.ld + v], lse);
    const auto emit = [&](int64_t at, uint64_t key) {
        values[row * k + at] = key_value(key);
        ids[row * k + at] = key_id(key);
    };
    bool complete = false;
    if (listed > 0) {
        const uint64_t *list = lists + row * count * listed;
        const uint64_t last = choose(
            choice, count * static_cast<int64_t>(listed), k,
            [&](int64_t i) {
                const uint64_t key = list[i];
                return key == kNoKey || key == kTooMany ? kNoKey : make_key(log_p(key_value(key), lse), key_id(key));
            },
            emit);
        // `last` is the k-th candidate, or kNoKey if there are fewer.
        bool doubt = last == kNoKey || !(key_value(last) > -INFINITY);
        for (int i = tid; i < count && !doubt; i += kChoiceThreads) {
            const uint64_t least = list[static_cast<int64_t>(i) * listed + listed - 1];
            doubt = list[static_cast<int64_t>(i) * listed] == kTooMany ||
                    (least != kNoKey && log_p(key_value(least), lse) >= key_value(last));
        }
        complete = __syncthreads_or(doubt) == 0;
    }
    if (complete) return;
    const float *x = r.logits + row * r.ld;
    choose(
        choice, r.V, k,
        [&](int64_t v) { return x[v] != x[v] ? kNoKey : make_key(log_p(x[v], lse), static_cast<int32_t>(v)); }, emit);
}

struct Layout {
    int64_t chunk, ld, tiles, listed;
    size_t logits, partial, lists, banned, values, ids, all_values, bytes;  // offsets of the parts, and the total size
};

Layout plan(const xf_top_k &a) {
    Layout p{};
    const auto take = [&](size_t bytes) {
        const size_t at = p.bytes;
        p.bytes += ceil_div<size_t>(bytes, 256) * 256;
        return at;
    };
    p.ld = ceil_div<int64_t>(a.V, 4) * 4;
    p.chunk = std::min(a.rows, std::clamp<int64_t>(kChunkLogits / p.ld / 128 * 128, 16, kMostRows));
    p.tiles = ceil_div<int64_t>(a.V, kTileColumns);
    p.listed = a.k <= kMostListed ? a.k + 1 : 0;
    p.logits = take(static_cast<size_t>(p.chunk * p.ld) * sizeof(float));
    p.partial = take(static_cast<size_t>(p.chunk * p.tiles) * sizeof(TileSums));
    p.lists = take(static_cast<size_t>(p.chunk * p.tiles * p.listed) * sizeof(uint64_t));
    p.banned = take(static_cast<size_t>(a.banned_count > kFewBanned ? a.banned_count : 0) * sizeof(int32_t));
    const auto results = static_cast<size_t>(a.on_device ? 0 : a.rows * a.k);
    p.values = take(results * (sizeof(float) + sizeof(int32_t)));  // followed by ids, so that one copy transfers both
    p.ids = p.values + results * sizeof(float);
    p.all_values = take(static_cast<size_t>(a.all_values ? a.rows * a.V : 0) * sizeof(float));
    return p;
}

// Copies values and ids, which are contiguous on the device, and all_values, if requested, to the caller's memory.
int32_t deliver(xf_stream *stream, const xf_top_k &a, const void *results, const void *all_values, xf_error *err) {
    const size_t half = static_cast<size_t>(a.rows * a.k) * 4;
    const bool small = 2 * half <= kPinnedBytes;
    char *const to = static_cast<char *>(stream->pinned);
    const char *const from = static_cast<const char *>(results);
    cudaError_t code = cudaSuccess;
    if (a.all_values)
        code = cudaMemcpyAsync(a.all_values, all_values, static_cast<size_t>(a.rows * a.V) * 4, cudaMemcpyDeviceToHost,
                               stream->stream);
    if (code != cudaSuccess) {
        // Nothing else is copied.
    } else if (small) {
        code = cudaMemcpyAsync(to, from, 2 * half, cudaMemcpyDeviceToHost, stream->stream);
    } else {
        code = cudaMemcpyAsync(a.values, from, half, cudaMemcpyDeviceToHost, stream->stream);
        if (code == cudaSuccess)
            code = cudaMemcpyAsync(a.ids, from + half, half, cudaMemcpyDeviceToHost, stream->stream);
    }
    int32_t status = check(stream->device, code, "top_k", err);
    if (status == XF_OK) status = stream_sync(stream, err);
    if (status == XF_OK && small) {
        std::memcpy(a.values, to, half);
        std::memcpy(a.ids, to + half, half);
    }
    return status;
}

}  // namespace

int32_t top_k(xf_stream *stream, const xf_top_k *args, xf_error *err) {
    const xf_top_k &a = *args;
    const bool fits = a.on_device && a.banned_count <= kFewBanned;  // can be recorded
    int32_t status = fits ? enter(stream, err) : enter_unrecorded(stream, "top_k with results in host memory", err);
    if (status != XF_OK || a.rows == 0 || a.k <= 0) return status;
    const Layout p = plan(a);
    char *const base = static_cast<char *>(scratch(stream, p.bytes, err));
    if (!base) return err ? err->status : XF_ERROR_NO_MEMORY;
    float *const logits = reinterpret_cast<float *>(base + p.logits);
    TileSums *const tiles = reinterpret_cast<TileSums *>(base + p.partial);
    uint64_t *const lists = reinterpret_cast<uint64_t *>(base + p.lists);
    float *const values = a.on_device ? a.values : reinterpret_cast<float *>(base + p.values);
    int32_t *const ids = a.on_device ? a.ids : reinterpret_cast<int32_t *>(base + p.ids);
    float *const all_values = a.all_values ? reinterpret_cast<float *>(base + p.all_values) : nullptr;

    Banned banned{static_cast<int32_t>(a.banned_count), nullptr, {}, nullptr, ceil_div<int64_t>(a.V, 32)};
    if (a.banned_count <= kFewBanned) {
        std::copy(a.banned, a.banned + a.banned_count, banned.few);
    } else {
        status =
            mem_upload(stream, base + p.banned, a.banned, static_cast<size_t>(a.banned_count) * sizeof(int32_t), err);
        if (status != XF_OK) return status;
        banned.many = reinterpret_cast<const int32_t *>(base + p.banned);
    }
    const auto cut = p.listed == 0 ? reduce_tile<0> : p.listed <= 17 ? reduce_tile<kWarp> : reduce_tile<kTileThreads>;
    const int64_t number = stream->dtype == XF_BF16 ? 2 : 4;  // bytes per element of src
    const TopRow row{logits, a.V, p.ld};
    for (int64_t begin = 0; begin < a.rows; begin += p.chunk) {
        const int64_t rows = std::min(p.chunk, a.rows - begin);
        if (a.allowed != nullptr) banned.allowed = a.allowed + begin * banned.words;
        Gemm product{};
        product.M = rows, product.N = a.V, product.K = a.D;
        product.a = static_cast<const char *>(a.src) + begin * a.D * number, product.lda = a.D;
        product.b = a.weights, product.ldb = a.D, product.b_transposed = true;
        product.c = logits, product.ldc = p.ld;
        product.bias = a.bias;
        product.operand_type = stream->dtype;
        product.result_type = XF_FP32;
        product.row_invariant = true;
        status = gemm(stream, product, err);
        if (status == XF_OK)
            status = launch_dependent(stream, err, "top_k", cut,
                                      dim3(static_cast<unsigned>(p.tiles), static_cast<unsigned>(rows)), kTileThreads,
                                      0, row, banned, tiles, lists, static_cast<int>(p.listed));
        if (status == XF_OK)
            status = launch_dependent(stream, err, "top_k", merge_tiles, static_cast<unsigned>(rows), kChoiceThreads, 0,
                                      row, a.k, tiles, static_cast<int>(p.tiles), lists, static_cast<int>(p.listed),
                                      values + begin * a.k, ids + begin * a.k,
                                      all_values ? all_values + begin * a.V : nullptr);
        if (status != XF_OK) return status;
    }
    return a.on_device ? XF_OK : deliver(stream, a, values, all_values, err);
}

}  // namespace xf::cuda
