// The optimizer (paper s. 5.3; Kingma & Ba 2015, the form at the end of s. 2), the gradient norm, and the bf16 copy of
// the parameters.
//
//     g = grad_scale * grad    m = beta1 m + (1 - beta1) g    v = beta2 v + (1 - beta2) g^2
//     param -= decay * param + alpha * m / (sqrt(v) + eps_hat)    grad = 0
//     ema += ema_rate * (param - ema)
//
// All kernels are limited by memory bandwidth and read their data once, 16 bytes per access if the pointers are
// aligned. adam moves 32 bytes per parameter, 2 more with the bf16 copy, and 8 more with the moving average.
// sum_squares adds in fp64: first within blocks of kSquaresTile elements, then over the blocks; the order depends only
// on n. gate computes the same sum and decides on the device whether the step is made, so that adam can follow without
// waiting for the host; every thread of adam reads the decision.
//
// SPDX-License-Identifier: Apache-2.0
#include "ops.h"
#include "rows.cuh"

namespace xf::cuda {
namespace {

constexpr int kThreads = 256, kLastThreads = 1024;
constexpr int kFour = 4;
constexpr int64_t kSquaresTile = 16384;

struct AdamRates {
    float alpha, beta1, beta2, rest1, rest2, eps_hat, grad_scale, decay, ema_rate;
};

// Updates one parameter with its moments m and v.
__device__ inline void adam_step(const AdamRates &r, float grad, float &param, float &m, float &v) {
    const float g = grad * r.grad_scale;
    m = fmaf(r.beta1, m, r.rest1 * g);
    v = fmaf(r.beta2, v, r.rest2 * (g * g));
    if (r.decay != 0.0f) param = fmaf(-r.decay, param, param);
    param = fmaf(-r.alpha, m / (sqrtf(v) + r.eps_hat), param);
}

__device__ inline float averaged(const AdamRates &r, float average, float param) {
    return fmaf(r.ema_rate, param - average, average);
}

struct AdamArrays {
    int64_t n;
    float *params, *grads, *m, *v, *ema;
    bf16 *copy;
};

template <bool kVector>
__global__ void __launch_bounds__(kThreads, 1) adam_kernel(AdamArrays a, AdamRates r, const double *gate) {
    if (gate != nullptr) {
        if (gate[1] == 0.0) return;
        r.grad_scale = static_cast<float>(gate[2]);
    }
    const int64_t begin = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kFour;
    if (kVector && begin + kFour <= a.n) {
        using Four = Vector<float>;
        Four param = *reinterpret_cast<const Four *>(a.params + begin),
             m = *reinterpret_cast<const Four *>(a.m + begin);
        Four grad = *reinterpret_cast<const Four *>(a.grads + begin), v = *reinterpret_cast<const Four *>(a.v + begin);
        struct alignas(8) Copy {
            bf16 x[kFour];
        } copy;
#pragma unroll
        for (int j = 0; j < kFour; ++j) {
            adam_step(r, grad.x[j], param.x[j], m.x[j], v.x[j]);
            grad.x[j] = 0.0f;
            copy.x[j] = from_float<bf16>(param.x[j]);
        }
        *reinterpret_cast<Four *>(a.params + begin) = param;
        *reinterpret_cast<Four *>(a.m + begin) = m;
        *reinterpret_cast<Four *>(a.v + begin) = v;
        *reinterpret_cast<Four *>(a.grads + begin) = grad;
        if (a.copy) *reinterpret_cast<Copy *>(a.copy + begin) = copy;
        if (a.ema) {
            Four ema = *reinterpret_cast<const Four *>(a.ema + begin);
#pragma unroll
            for (int j = 0; j < kFour; ++j) ema.x[j] = averaged(r, ema.x[j], param.x[j]);
            *reinterpret_cast<Four *>(a.ema + begin) = ema;
        }
        return;
    }
    for (int64_t i = begin; i < begin + kFour && i < a.n; ++i) {
        float param = a.params[i], m = a.m[i], v = a.v[i];
        adam_step(r, a.grads[i], param, m, v);
        a.params[i] = param, a.m[i] = m, a.v[i] = v, a.grads[i] = 0.0f;
        if (a.copy) a.copy[i] = from_float<bf16>(param);
        if (a.ema) a.ema[i] = averaged(r, a.ema[i], param);
    }
}

template <bool kVector>
__global__ void __launch_bounds__(kThreads) to_bf16_kernel(int64_t n, const float *src, bf16 *dst) {
    const int64_t begin = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kEight;
    if (begin >= n) return;
    const int64_t end = begin + kEight <= n ? begin + kEight : n;
    if (kVector && end == begin + kEight) {
        const Eight<float> x = load8<true>(src, begin, end);
        Eight<bf16> y;
#pragma unroll
        for (int j = 0; j < kEight; ++j) y.x[j] = from_float<bf16>(x[j]);
        return store8<true>(dst, begin, end, y);
    }
    for (int64_t i = begin; i < end; ++i) dst[i] = from_float<bf16>(src[i]);
}

__device__ inline double warp_sum_double(double x) {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, offset);
    return x;
}

// The sum over the threads of a block in a fixed order; thread 0 receives it.
template <int kCount>
__device__ inline double block_sum_double(double x) {
    __shared__ double sums[kCount / kWarp];
    x = warp_sum_double(x);
    if (threadIdx.x % kWarp == 0) sums[threadIdx.x / kWarp] = x;
    __syncthreads();
    double sum = 0.0;
    if (threadIdx.x == 0)
        for (int w = 0; w < kCount / kWarp; ++w) sum += sums[w];
    return sum;
}

template <bool kVector>
__global__ void __launch_bounds__(kThreads) squares_kernel(int64_t n, const float *src, double *sums) {
    const int64_t first = blockIdx.x * kSquaresTile, last = first + kSquaresTile < n ? first + kSquaresTile : n;
    double sum = 0.0;
#pragma unroll 4
    for (int64_t i = first + threadIdx.x * kFour; i < last; i += kThreads * kFour) {
        Vector<float> v;
        if (kVector && i + kFour <= last) {
            v = *reinterpret_cast<const Vector<float> *>(src + i);
        } else {
#pragma unroll
            for (int j = 0; j < kFour; ++j) v.x[j] = i + j < last ? src[i + j] : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < kFour; ++j) sum = fma(static_cast<double>(v.x[j]), static_cast<double>(v.x[j]), sum);
    }
    sum = block_sum_double<kThreads>(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kLastThreads) add_squares_kernel(int64_t count, const double *sums, double *dst) {
    double sum = 0.0;
    for (int64_t i = threadIdx.x; i < count; i += kLastThreads) sum += sums[i];
    sum = block_sum_double<kLastThreads>(sum);
    if (threadIdx.x == 0) *dst = sum;
}

__global__ void __launch_bounds__(kLastThreads) gate_kernel(int64_t count, const double *squares, xf_gate a) {
    double sum = 0.0;
    for (int64_t i = threadIdx.x; i < count; i += kLastThreads) sum += squares[i];
    sum = block_sum_double<kLastThreads>(sum);
    if (threadIdx.x != 0) return;
    const double scaled = __dmul_rn(__dmul_rn(sum, a.scale), a.scale), norm = __dmul_rn(sqrt(sum), a.scale);
    a.dst[0] = sum;
    a.dst[1] = isfinite(a.sums[2]) && scaled < a.most ? 1.0 : 0.0;
    a.dst[2] = a.clip_norm > 0.0 && norm > a.clip_norm ? __dmul_rn(a.scale, a.clip_norm / norm) : a.scale;
}

__global__ void __launch_bounds__(kLastThreads) sum_losses_kernel(xf_sum_losses a) {
    const float *const values[2] = {a.loss, a.nll};
    for (int which = 0; which < 2; ++which) {
        double sum = 0.0;
        for (int64_t i = threadIdx.x; i < a.rows; i += kLastThreads) sum += static_cast<double>(values[which][i]);
        sum = block_sum_double<kLastThreads>(sum);
        if (threadIdx.x == 0) {
            a.sums[which] = sum;
            a.sums[2 + which] = a.accumulate != 0 ? a.sums[2 + which] + sum : sum;
        }
        __syncthreads();  // before the next sum
    }
}

dim3 blocks_of(int64_t n, int64_t per_block) { return dim3(static_cast<unsigned>(ceil_div(n, per_block))); }

}  // namespace

int32_t adam(xf_stream *stream, const xf_adam *args, xf_error *err) {
    const xf_adam &a = *args;
    const int32_t status = enter(stream, err);
    if (status != XF_OK || a.n <= 0) return status;
    const AdamArrays arrays{a.n, a.params, a.grads, a.m, a.v, a.ema, static_cast<bf16 *>(a.params_bf16)};
    const AdamRates rates{a.alpha,   a.beta1,      a.beta2, 1.0f - a.beta1, 1.0f - a.beta2,
                          a.eps_hat, a.grad_scale, a.decay, a.ema_rate};
    const auto kernel =
        aligned(a.params, a.grads, a.m, a.v, a.ema, arrays.copy) ? adam_kernel<true> : adam_kernel<false>;
    return launch(stream, err, "adam", kernel, blocks_of(a.n, kThreads * kFour), dim3(kThreads), 0, arrays, rates,
                  a.gate);
}

int32_t to_bf16(xf_stream *stream, const xf_to_bf16 *args, xf_error *err) {
    const int32_t status = enter(stream, err);
    if (status != XF_OK || args->n <= 0) return status;
    bf16 *dst = static_cast<bf16 *>(args->dst);
    const auto kernel = aligned(args->src, dst) ? to_bf16_kernel<true> : to_bf16_kernel<false>;
    return launch(stream, err, "to_bf16", kernel, blocks_of(args->n, kThreads * kEight), dim3(kThreads), 0, args->n,
                  args->src, dst);
}

namespace {

// Computes the sums of squares of all tiles, in scratch memory with space for one more double.
int32_t square_tiles(xf_stream *stream, int64_t n, const float *src, int64_t *tiles, double **sums, xf_error *err) {
    *tiles = ceil_div(n, kSquaresTile);
    *sums = static_cast<double *>(scratch(stream, static_cast<size_t>(*tiles + 1) * sizeof(double), err));
    if (*sums == nullptr) return XF_ERROR_NO_MEMORY;
    return launch(stream, err, "sum_squares", aligned(src) ? squares_kernel<true> : squares_kernel<false>,
                  dim3(static_cast<unsigned>(*tiles)), dim3(kThreads), 0, n, src, *sums);
}

}  // namespace

int32_t sum_losses(xf_stream *stream, const xf_sum_losses *args, xf_error *err) {
    const int32_t status = enter(stream, err);
    if (status != XF_OK) return status;
    return launch(stream, err, "sum_losses", sum_losses_kernel, dim3(1), dim3(kLastThreads), 0, *args);
}

int32_t gate(xf_stream *stream, const xf_gate *args, xf_error *err) {
    int64_t tiles = 0;
    double *sums = nullptr;
    int32_t status = enter(stream, err);
    if (status == XF_OK) status = square_tiles(stream, args->n, args->grads, &tiles, &sums, err);
    if (status != XF_OK) return status;
    return launch(stream, err, "gate", gate_kernel, dim3(1), dim3(kLastThreads), 0, tiles,
                  static_cast<const double *>(sums), *args);
}

int32_t sum_squares(xf_stream *stream, const xf_sum_squares *args, xf_error *err) {
    int32_t status = enter(stream, err);
    if (status != XF_OK) return status;
    if (stream->recording)
        return fail(err, XF_ERROR_STATE, "sum_squares cannot be recorded because it returns its result to the host");
    *args->dst = 0.0;
    if (args->n <= 0) return XF_OK;
    int64_t tiles = 0;
    double *sums = nullptr;
    status = square_tiles(stream, args->n, args->src, &tiles, &sums, err);
    if (status != XF_OK) return status;
    status = launch(stream, err, "sum_squares", add_squares_kernel, dim3(1), dim3(kLastThreads), 0, tiles,
                    static_cast<const double *>(sums), sums + tiles);
    if (status != XF_OK) return status;
    status =
        check(stream->device,
              cudaMemcpyAsync(stream->pinned, sums + tiles, sizeof(double), cudaMemcpyDeviceToHost, stream->stream),
              "sum_squares", err);
    if (status != XF_OK) return status;
    status = check(stream->device, cudaStreamSynchronize(stream->stream), "sum_squares", err);
    if (status == XF_OK) *args->dst = *static_cast<const double *>(stream->pinned);
    return status;
}

}  // namespace xf::cuda
