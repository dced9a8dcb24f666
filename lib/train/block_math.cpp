// See block_math.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/block_math.h"

#include <algorithm>

#include "core/half.h"

namespace xf {
namespace {

constexpr int64_t kTile = 1 << 14;  // numbers of one task

// Runs task(i) for each i below count on the pool.
template <class Task>
void in_parallel(ThreadPool &pool, int64_t count, const Task &task) {
    pool.run(
        count, [](void *arg, int64_t i, int32_t) { (*static_cast<const Task *>(arg))(i); },
        const_cast<void *>(static_cast<const void *>(&task)));
}

// Runs work(begin, end) over count numbers.
template <class Work>
void tiles(ThreadPool &pool, int64_t count, const Work &work) {
    in_parallel(pool, (count + kTile - 1) / kTile,
                [&](int64_t i) { work(i * kTile, std::min(count, (i + 1) * kTile)); });
}

float narrowed(float x) { return from_bf16(to_bf16(x)); }

// The order is that of xf_chunk_squares.
double sum_squares(const float *values, int64_t count) {
    double sums[8] = {};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int64_t j = 0; j < 8; ++j)
            sums[j] += static_cast<double>(values[i + j]) * static_cast<double>(values[i + j]);
    for (; i < count; ++i) sums[i % 8] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    double total = 0;
    for (const double sum : sums) total += sum;
    return total;
}

}  // namespace

BlockMath::BlockMath(Context &context, ThreadPool &pool) : pool_(pool), on_host_(context.device().host_memory()) {
    const xf_backend_v1 &ops = context.device().ops();
    XF_CHECK(on_host_ || (ops.add != nullptr && ops.to_bf16 != nullptr), XF_ERROR_UNSUPPORTED,
             "backend %s has no operations for train.shards", ops.name);
}

void BlockMath::add(Stream &stream, float *dst, const float *src, int64_t count, bool narrow) {
    if (!on_host_) return stream.run(xf_add{count, dst, src, narrow ? 1u : 0u});
    tiles(pool_, count, [&](int64_t begin, int64_t end) {
        if (narrow)
            for (int64_t i = begin; i < end; ++i) dst[i] = narrowed(dst[i]) + narrowed(src[i]);
        else
            for (int64_t i = begin; i < end; ++i) dst[i] += src[i];
    });
}

void BlockMath::copy(Stream &stream, float *dst, const float *src, int64_t count) {
    if (!on_host_) return stream.copy(dst, src, static_cast<size_t>(count) * sizeof(float));
    tiles(pool_, count, [&](int64_t begin, int64_t end) { std::copy(src + begin, src + end, dst + begin); });
}

void BlockMath::to_bf16(Stream &stream, void *dst, const float *src, int64_t count) {
    if (!on_host_) return stream.run(xf_to_bf16{count, src, dst});
    tiles(pool_, count, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) static_cast<uint16_t *>(dst)[i] = xf::to_bf16(src[i]);
    });
}

void BlockMath::from_bf16(Stream &stream, float *dst, const void *src, int64_t count) {
    if (!on_host_) return stream.run(xf_from_bf16{count, src, dst});
    tiles(pool_, count, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) dst[i] = xf::from_bf16(static_cast<const uint16_t *>(src)[i]);
    });
}

void BlockMath::chunk_squares(Stream &stream, const float *src, int64_t count, int64_t chunk, double *dst) {
    const int64_t chunks = (count + chunk - 1) / chunk;
    if (on_host_)
        return in_parallel(pool_, chunks, [&](int64_t i) {
            dst[i] = sum_squares(src + i * chunk, std::min(chunk, count - i * chunk));
        });
    const size_t bytes = static_cast<size_t>(chunks) * sizeof(double);
    sums_.reserve(stream.device(), bytes);
    stream.run(xf_chunk_squares{count, chunk, src, static_cast<double *>(sums_.data())});
    stream.download(dst, sums_.data(), bytes);
}

}  // namespace xf
