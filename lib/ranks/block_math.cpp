// SPDX-License-Identifier: Apache-2.0
#include "ranks/block_math.h"

#include <algorithm>

#include "core/half.h"

namespace xf {
namespace {

constexpr int64_t kTile = 1 << 14;  // elements per task

// Runs work(begin, end) over tiles of [0, count).
template <class Work>
void for_each_tile(ThreadPool &pool, int64_t count, const Work &work) {
    parallel_for(pool, (count + kTile - 1) / kTile,
                 [&](int64_t i) { work(i * kTile, std::min(count, (i + 1) * kTile)); });
}

float round_to_bf16(float x) { return from_bf16(to_bf16(x)); }

// The order of the additions is that of xf_chunk_squares.
double sum_squares(const float *values, int64_t count) {
    double sums[8] = {};
    const auto square = [&](int64_t i) { return double{values[i]} * double{values[i]}; };
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int64_t j = 0; j < 8; ++j) sums[j] += square(i + j);
    for (; i < count; ++i) sums[i % 8] += square(i);
    double total = 0;
    for (const double sum : sums) total += sum;
    return total;
}

}  // namespace

BlockMath::BlockMath(Context &context) : pool_(context.pool()), on_host_(context.device().host_memory()) {
    const xf_backend_v1 &ops = context.device().ops();
    XF_CHECK(on_host_ || (ops.add != nullptr && ops.to_bf16 != nullptr), XF_ERROR_UNSUPPORTED,
             "train.shards is set, but backend %s has no operations for it; use train.shards=1 without ranks",
             ops.name);
}

void BlockMath::add(Stream &stream, float *dst, const float *src, int64_t count, bool bf16) {
    if (!on_host_) return stream.run(xf_add{count, dst, src, bf16 ? 1u : 0u});
    for_each_tile(pool_, count, [&](int64_t begin, int64_t end) {
        if (bf16)
            for (int64_t i = begin; i < end; ++i) dst[i] = round_to_bf16(dst[i]) + round_to_bf16(src[i]);
        else
            for (int64_t i = begin; i < end; ++i) dst[i] += src[i];
    });
}

void BlockMath::copy(Stream &stream, float *dst, const float *src, int64_t count) {
    if (!on_host_) return stream.copy(dst, src, count * sizeof(float));
    for_each_tile(pool_, count, [&](int64_t begin, int64_t end) { std::copy(src + begin, src + end, dst + begin); });
}

void BlockMath::to_bf16(Stream &stream, void *dst, const float *src, int64_t count) {
    if (!on_host_) return stream.run(xf_to_bf16{count, src, dst});
    auto *const out = static_cast<uint16_t *>(dst);
    for_each_tile(pool_, count, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = xf::to_bf16(src[i]);
    });
}

void BlockMath::from_bf16(Stream &stream, float *dst, const void *src, int64_t count) {
    if (!on_host_) return stream.run(xf_from_bf16{count, src, dst});
    const auto *const in = static_cast<const uint16_t *>(src);
    for_each_tile(pool_, count, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) dst[i] = xf::from_bf16(in[i]);
    });
}

void BlockMath::chunk_squares(Stream &stream, const float *src, int64_t count, int64_t chunk, double *dst) {
    const int64_t chunks = (count + chunk - 1) / chunk;
    if (on_host_)
        return parallel_for(pool_, chunks, [&](int64_t i) {
            dst[i] = sum_squares(src + i * chunk, std::min(chunk, count - i * chunk));
        });
    const size_t bytes = chunks * sizeof(double);
    sums_.reserve(stream.device(), bytes);
    stream.run(xf_chunk_squares{count, chunk, src, sums_.as<double>()});
    stream.download(dst, sums_.data(), bytes);
}

}  // namespace xf
