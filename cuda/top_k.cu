// Projection, log-softmax and the k best ids of each row: the tail of a decoding step (paper s. 3.4, 6.1).
//
//     x = src weights^T + bias    value[v] = x[v] - log sum exp x    the k largest that are allowed, ties by rising id
//
// Rows go in chunks: their logits are made by gemm() in fp32, then read once. The first kernel cuts a row into pieces
// of 2048 columns, so that a few rows fill the device: {top, sum} of each piece, and its best by logit, one more than
// k. The second joins a row's pieces: the logarithm of the sum, and the k best by value.
//
// The trap: ties are those of the value, and different logits may round to one value. So what a piece left out could
// win by its lower id; that is excluded when the last of a piece's k + 1 has a lower value than the k-th of the row.
// Else, and when k is large, the second kernel chooses among all columns of the row. Both ways give the same answer.
//
// Choosing is done without sorting: of the bests of 256 threads the R-th is a threshold that at least R columns reach
// and few others; those are gathered and ranked by comparing all pairs. Only ranks leave, so their order in the
// gathered list doesn't matter.
//
// Floor: weights once, V * D numbers, and for many rows the logits, written and read: rows * V * 8 bytes.
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
constexpr int64_t kMostRows = 65408;                // what grid.y takes, in whole tiles of a product
constexpr int64_t kChunkLogits = int64_t{1} << 25;  // 128 MiB: 896 rows of V = 37000

// A row's pieces joined; writes the row's values and ids.
__global__ void __launch_bounds__(kChoiceThreads)
    join_pieces(const TopRow r, int64_t k, const Piece *pieces, int count, const uint64_t *lists, int listed,
                float *values, int32_t *ids) {
    begin_after_previous();
    __shared__ Choice choice;
    __shared__ float partial[kChoiceThreads / kWarp];
    const int64_t row = blockIdx.x;
    const int tid = static_cast<int>(threadIdx.x);
    const Piece *mine = pieces + row * count;
    float top = -INFINITY, sum = 0.0f;
    for (int i = tid; i < count; i += kChoiceThreads) top = fmaxf(top, mine[i].top);
    top = block_max<kChoiceThreads / kWarp>(top, partial);
    for (int i = tid; i < count; i += kChoiceThreads) sum = fmaf(mine[i].sum, expf(mine[i].top - top), sum);
    const float lse = top + logf(block_sum<kChoiceThreads / kWarp>(sum, partial));

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
        // last is the k-th of them, or none when there are fewer.
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
    int64_t chunk, ld, pieces, listed;
    size_t logits, partial, lists, banned, values, ids, bytes;  // where each begins
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
    p.pieces = ceil_div<int64_t>(a.V, kPiece);
    p.listed = a.k <= kMostListed ? a.k + 1 : 0;
    p.logits = take(static_cast<size_t>(p.chunk * p.ld) * sizeof(float));
    p.partial = take(static_cast<size_t>(p.chunk * p.pieces) * sizeof(Piece));
    p.lists = take(static_cast<size_t>(p.chunk * p.pieces * p.listed) * sizeof(uint64_t));
    p.banned = take(static_cast<size_t>(a.banned_count > kFewBanned ? a.banned_count : 0) * sizeof(int32_t));
    const auto results = static_cast<size_t>(a.on_device ? 0 : a.rows * a.k);
    p.values = take(results * (sizeof(float) + sizeof(int32_t)));  // ids right behind, for one copy
    p.ids = p.values + results * sizeof(float);
    return p;
}

// values and ids, contiguous on the device, to the caller's memory.
int32_t deliver(xf_stream *stream, const xf_top_k &a, const void *results, xf_error *err) {
    const size_t half = static_cast<size_t>(a.rows * a.k) * 4;
    const bool small = 2 * half <= kPinnedBytes;
    char *const to = static_cast<char *>(stream->pinned);
    const char *const from = static_cast<const char *>(results);
    cudaError_t code;
    if (small) {
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
    const bool fits = a.on_device && a.banned_count <= kFewBanned;  // into a recording
    int32_t status = fits ? enter(stream, err) : enter_unrecorded(stream, "top_k with host memory", err);
    if (status != XF_OK || a.rows == 0 || a.k <= 0) return status;
    const Layout p = plan(a);
    char *const base = static_cast<char *>(scratch(stream, p.bytes, err));
    if (!base) return err ? err->status : XF_ERROR_NO_MEMORY;
    float *const logits = reinterpret_cast<float *>(base + p.logits);
    Piece *const pieces = reinterpret_cast<Piece *>(base + p.partial);
    uint64_t *const lists = reinterpret_cast<uint64_t *>(base + p.lists);
    float *const values = a.on_device ? a.values : reinterpret_cast<float *>(base + p.values);
    int32_t *const ids = a.on_device ? a.ids : reinterpret_cast<int32_t *>(base + p.ids);

    Banned banned{static_cast<int32_t>(a.banned_count), nullptr, {}, nullptr, ceil_div<int64_t>(a.V, 32)};
    if (a.banned_count <= kFewBanned) {
        std::copy(a.banned, a.banned + a.banned_count, banned.few);
    } else {
        status =
            mem_upload(stream, base + p.banned, a.banned, static_cast<size_t>(a.banned_count) * sizeof(int32_t), err);
        if (status != XF_OK) return status;
        banned.many = reinterpret_cast<const int32_t *>(base + p.banned);
    }
    const auto cut = p.listed == 0 ? cut_row<0> : p.listed <= 17 ? cut_row<kWarp> : cut_row<kPieceThreads>;
    const int64_t number = stream->dtype == XF_BF16 ? 2 : 4;  // bytes of one in src
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
                                      dim3(static_cast<unsigned>(p.pieces), static_cast<unsigned>(rows)), kPieceThreads,
                                      0, row, banned, pieces, lists, static_cast<int>(p.listed));
        if (status == XF_OK)
            status = launch_dependent(stream, err, "top_k", join_pieces, static_cast<unsigned>(rows), kChoiceThreads, 0,
                                      row, a.k, pieces, static_cast<int>(p.pieces), lists, static_cast<int>(p.listed),
                                      values + begin * a.k, ids + begin * a.k);
        if (status != XF_OK) return status;
    }
    return a.on_device ? XF_OK : deliver(stream, a, values, err);
}

}  // namespace xf::cuda
