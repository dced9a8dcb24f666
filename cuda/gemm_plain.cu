// Matrix products by a kernel of this plugin, for products that cuBLASLt does not support (bf16 rows of odd length, for
// example) and for K = 0. Any shape, any alignment.
//
//     c = relu(op(a) op(b) + beta c + bias)
//
// A block computes a 64 x 64 tile of c, a thread 4 x 4 elements of it; slabs of 16 of K pass through shared memory as
// fp32. Terms are added in order of increasing k into partial sums of 256 terms, which are added in order. The order of
// a sum therefore depends only on K: rows are invariant, and the bits do not depend on addresses. gemm_rows.h uses
// another number of terms.
//
// Bound: 64 * 64 * 16 multiply-adds per 2048 loads from memory, and 8 loads from shared memory per 16 multiply-adds. An
// H200 reaches about 20 TFLOP/s, a fortieth of its tensor cores.
//
// SPDX-License-Identifier: Apache-2.0
#include "common.cuh"
#include "gemm.h"

namespace xf::cuda {
namespace {

constexpr int kTile = 64, kSlab = 16, kThreads = 256, kSide = 16, kEach = kTile / kSide;
constexpr int64_t kPart = 256;
constexpr int kLoads = kTile * kSlab / kThreads;

// Element (i, k) of an operand is ptr[i * along + k * across], for i < count.
template <class T>
struct Operand {
    const T *ptr;
    int64_t count, along, across;
};

template <class R>
struct Result {
    int64_t ld;
    float beta;
    const R *bias;
    bool relu;
};

// Neighboring threads load neighboring elements: along k if the operand is contiguous in k, otherwise along i.
template <class T>
__device__ inline void load_slab(const Operand<T> &from, int64_t first, int64_t k0, int64_t K,
                                 float (&to)[kSlab][kTile + 1]) {
#pragma unroll
    for (int step = 0; step < kLoads; ++step) {
        const int n = static_cast<int>(threadIdx.x) + step * kThreads;
        const int i = from.across == 1 ? n / kSlab : n % kTile, k = from.across == 1 ? n % kSlab : n / kTile;
        const bool inside = first + i < from.count && k0 + k < K;
        to[k][i] = inside ? to_float(from.ptr[(first + i) * from.along + (k0 + k) * from.across]) : 0.0f;
    }
}

template <class T, class R>
__global__ void __launch_bounds__(kThreads) product_kernel(Operand<T> a, Operand<T> b, R *c, Result<R> result,
                                                           int64_t K, int64_t slabs_of_part, int64_t tiles_n) {
    __shared__ float slab_a[kSlab][kTile + 1], slab_b[kSlab][kTile + 1];
    const int64_t m0 = blockIdx.x / tiles_n * kTile, n0 = blockIdx.x % tiles_n * kTile;
    const int row = static_cast<int>(threadIdx.x) / kSide, column = static_cast<int>(threadIdx.x) % kSide;
    float sum[kEach][kEach] = {}, part[kEach][kEach] = {};
    int64_t left = slabs_of_part;
    for (int64_t k0 = 0; k0 < K; k0 += kSlab) {
        load_slab(a, m0, k0, K, slab_a);
        load_slab(b, n0, k0, K, slab_b);
        __syncthreads();
        const int terms = K - k0 < kSlab ? static_cast<int>(K - k0) : kSlab;
        for (int k = 0; k < terms; ++k) {
            float x[kEach], y[kEach];
#pragma unroll
            for (int i = 0; i < kEach; ++i) x[i] = slab_a[k][row + i * kSide], y[i] = slab_b[k][column + i * kSide];
#pragma unroll
            for (int i = 0; i < kEach; ++i)
#pragma unroll
                for (int j = 0; j < kEach; ++j) part[i][j] = fmaf(x[i], y[j], part[i][j]);
        }
        __syncthreads();
        if (--left > 0 && k0 + kSlab < K) continue;
        left = slabs_of_part;
#pragma unroll
        for (int i = 0; i < kEach; ++i)
#pragma unroll
            for (int j = 0; j < kEach; ++j) sum[i][j] += part[i][j], part[i][j] = 0.0f;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
            const int64_t m = m0 + row + i * kSide, n = n0 + column + j * kSide;
            if (m >= a.count || n >= b.count) continue;
            R *const out = c + m * result.ld + n;
            float value = sum[i][j];
            if (result.beta != 0.0f) value += result.beta * to_float(*out);
            if (result.bias != nullptr) value += to_float(result.bias[n]);
            if (result.relu && value < 0.0f) value = 0.0f;  // NaN stays NaN
            *out = from_float<R>(value);
        }
}

template <class T, class R>
int32_t product(xf_stream *stream, const Gemm &g, int64_t part, xf_error *err) {
    const Operand<T> a{static_cast<const T *>(g.a), g.M, g.a_transposed ? 1 : g.lda, g.a_transposed ? g.lda : 1};
    const Operand<T> b{static_cast<const T *>(g.b), g.N, g.b_transposed ? g.ldb : 1, g.b_transposed ? 1 : g.ldb};
    const int64_t tiles_n = ceil_div<int64_t>(g.N, kTile), tiles = ceil_div<int64_t>(g.M, kTile) * tiles_n;
    if (tiles > INT32_MAX)
        return fail(err, XF_ERROR_UNSUPPORTED, "a matrix product of %lld x %lld elements is too large",
                    static_cast<long long>(g.M), static_cast<long long>(g.N));
    return launch(stream, err, "gemm_plain", product_kernel<T, R>, dim3(static_cast<unsigned>(tiles)), dim3(kThreads),
                  0, a, b, static_cast<R *>(g.c), Result<R>{g.ldc, g.beta, static_cast<const R *>(g.bias), g.relu}, g.K,
                  part / kSlab, tiles_n);
}

}  // namespace

int32_t gemm_plain_in_parts(xf_stream *stream, const Gemm &args, int64_t part, xf_error *err) {
    if (args.M == 0 || args.N == 0) return XF_OK;
    if (args.operand_type == XF_FP32) return product<float, float>(stream, args, part, err);
    return args.result_type == XF_FP32 ? product<bf16, float>(stream, args, part, err)
                                       : product<bf16, bf16>(stream, args, part, err);
}

int32_t gemm_plain(xf_stream *stream, const Gemm &args, xf_error *err) {
    return gemm_plain_in_parts(stream, args, kPart, err);
}

}  // namespace xf::cuda
