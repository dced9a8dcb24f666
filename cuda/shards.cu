// The operations that ranks use to reduce and verify gradients: sums of gradient blocks, norms by chunk, and
// fingerprints of exchanged data.
//
//     add            dst += src, both rounded to bf16 first if requested
//     from_bf16      dst = src
//     chunk_squares  dst[c] = sum of squares of chunk c: eight interleaved sums in fp64, then their sum in order
//     fingerprint    dst += sum of mix((word i + (i << 32)) ^ seed) modulo 2^64
//
// add and from_bf16 are limited by memory bandwidth: 12 and 6 bytes per element. In chunk_squares one thread computes
// each of the eight sums of a chunk, because their order is specified: the core computes the same sums in host memory.
// The square of a float is exact in fp64, so a fused multiply-add gives the same result. Addition modulo 2^64 is
// associative and commutative, so fingerprint uses one atomic per block.
//
// SPDX-License-Identifier: Apache-2.0
#include "ops.h"
#include "rows.cuh"

namespace xf::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kFour = 4;
constexpr int kSums = 8, kChunkThreads = 64;  // eight chunks per block
constexpr int64_t kFingerprintTile = 16384;

__device__ inline float rounded_to_bf16(float x) { return to_float(from_float<bf16>(x)); }

template <bool kRoundFirst>
__device__ inline float added(float dst, float src) {
    return kRoundFirst ? __fadd_rn(rounded_to_bf16(dst), rounded_to_bf16(src)) : __fadd_rn(dst, src);
}

template <bool kVector, bool kRoundFirst>
__global__ void __launch_bounds__(kThreads) add_kernel(int64_t n, float *dst, const float *src) {
    const int64_t begin = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kFour;
    if (kVector && begin + kFour <= n) {
        using Four = Vector<float>;
        Four sum = *reinterpret_cast<const Four *>(dst + begin);
        const Four more = *reinterpret_cast<const Four *>(src + begin);
#pragma unroll
        for (int j = 0; j < kFour; ++j) sum.x[j] = added<kRoundFirst>(sum.x[j], more.x[j]);
        *reinterpret_cast<Four *>(dst + begin) = sum;
        return;
    }
    for (int64_t i = begin; i < begin + kFour && i < n; ++i) dst[i] = added<kRoundFirst>(dst[i], src[i]);
}

template <bool kVector>
__global__ void __launch_bounds__(kThreads) from_bf16_kernel(int64_t n, const bf16 *src, float *dst) {
    const int64_t begin = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kEight;
    if (begin >= n) return;
    const int64_t end = begin + kEight <= n ? begin + kEight : n;
    if (kVector && end == begin + kEight) {
        const Eight<bf16> x = load8<true>(src, begin, end);
        Eight<float> y;
#pragma unroll
        for (int j = 0; j < kEight; ++j) y.x[j] = x[j];
        return store8<true>(dst, begin, end, y);
    }
    for (int64_t i = begin; i < end; ++i) dst[i] = to_float(src[i]);
}

__global__ void __launch_bounds__(kChunkThreads)
    chunk_squares_kernel(int64_t n, int64_t chunk, const float *src, double *dst) {
    __shared__ double sums[kChunkThreads];
    const int64_t c = int64_t{blockIdx.x} * (kChunkThreads / kSums) + threadIdx.x / kSums;
    const int64_t first = c * chunk, last = first + chunk < n ? first + chunk : n;
    double sum = 0.0;
#pragma unroll 8
    for (int64_t i = first + threadIdx.x % kSums; i < last; i += kSums)
        sum = fma(static_cast<double>(src[i]), static_cast<double>(src[i]), sum);
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x % kSums != 0 || first >= n) return;
    double total = 0.0;
    for (int j = 0; j < kSums; ++j) total += sums[threadIdx.x + j];
    dst[c] = total;
}

__device__ inline uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

__device__ inline uint32_t word(const uint32_t *src, int64_t i, int64_t bytes) {
    if (4 * i + 4 <= bytes) return src[i];
    uint32_t last = 0;
    for (int64_t b = 4 * i; b < bytes; ++b)
        last |= static_cast<uint32_t>(reinterpret_cast<const unsigned char *>(src)[b]) << 8 * (b % 4);
    return last;
}

__global__ void __launch_bounds__(kThreads)
    fingerprint_kernel(int64_t bytes, const uint32_t *src, uint64_t seed, uint64_t *dst) {
    __shared__ uint64_t sums[kThreads / kWarp];
    const int64_t words = (bytes + 3) / 4;
    const int64_t first = blockIdx.x * kFingerprintTile,
                  last = first + kFingerprintTile < words ? first + kFingerprintTile : words;
    uint64_t sum = 0;
#pragma unroll 4
    for (int64_t i = first + threadIdx.x; i < last; i += kThreads)
        sum += mix((word(src, i, bytes) + (static_cast<uint64_t>(i) << 32)) ^ seed);
    for (int offset = kWarp / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
    if (threadIdx.x % kWarp == 0) sums[threadIdx.x / kWarp] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    uint64_t total = 0;
    for (int w = 0; w < kThreads / kWarp; ++w) total += sums[w];
    atomicAdd(reinterpret_cast<unsigned long long *>(dst), static_cast<unsigned long long>(total));
}

dim3 blocks_of(int64_t n, int64_t per_block) { return dim3(static_cast<unsigned>(ceil_div(n, per_block))); }

}  // namespace

int32_t add(xf_stream *stream, const xf_add *args, xf_error *err) {
    if (args->n <= 0) return XF_OK;
    const bool vector = aligned(args->dst, args->src), round_first = args->round_bf16 != 0;
    const auto kernel = vector ? (round_first ? add_kernel<true, true> : add_kernel<true, false>)
                               : (round_first ? add_kernel<false, true> : add_kernel<false, false>);
    return launch(stream, err, "add", kernel, blocks_of(args->n, kThreads * kFour), dim3(kThreads), 0, args->n,
                  args->dst, args->src);
}

int32_t from_bf16(xf_stream *stream, const xf_from_bf16 *args, xf_error *err) {
    if (args->n <= 0) return XF_OK;
    const bf16 *const src = static_cast<const bf16 *>(args->src);
    const auto kernel = aligned(src, args->dst) ? from_bf16_kernel<true> : from_bf16_kernel<false>;
    return launch(stream, err, "from_bf16", kernel, blocks_of(args->n, kThreads * kEight), dim3(kThreads), 0, args->n,
                  src, args->dst);
}

int32_t chunk_squares(xf_stream *stream, const xf_chunk_squares *args, xf_error *err) {
    if (args->n <= 0) return XF_OK;
    return launch(stream, err, "chunk_squares", chunk_squares_kernel,
                  blocks_of(ceil_div(args->n, args->chunk), kChunkThreads / kSums), dim3(kChunkThreads), 0, args->n,
                  args->chunk, args->src, args->dst);
}

int32_t fingerprint(xf_stream *stream, const xf_fingerprint *args, xf_error *err) {
    if (args->bytes <= 0) return XF_OK;
    return launch(stream, err, "fingerprint", fingerprint_kernel, blocks_of(args->bytes, 4 * kFingerprintTile),
                  dim3(kThreads), 0, args->bytes, static_cast<const uint32_t *>(args->src), args->seed, args->dst);
}

}  // namespace xf::cuda
