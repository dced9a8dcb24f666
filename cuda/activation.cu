// The activation of a feed-forward sub-layer, plain or gated, with dropout (paper s. 3.3, eq. 2; s. 5.4).
//
//     dst = dropout(act(x) y)      y = 1, or the other half of the row if gated
//     diff_x = d act'(x) y         diff_y = d act(x)         d = mask * diff_dst         diff_bias += column sums
//
// Forward: one warp per 256 columns of a row, eight columns per thread. Backward: one block per 256 columns x 256 rows,
// which also computes the column sums as in column_sums.cuh if diff_bias is not NULL.
//
// Phi(x) is erfc(-x / sqrt 2) / 2. The rounding error of the argument would cause a relative error of 1e-5 in the tail
// at -13; it is corrected with the derivative of erfc. Where the other factor vanishes, x is limited to +-20 (GELU) or
// +-110 (swish), so that minus infinity gives 0. NaN stays NaN.
//
// Bound by memory bandwidth: forward 2 M F elements (3 gated), backward 3 M F (5 gated). With M = 25k, F = 2048, and
// bf16: 205 MB and 307 MB, 48 us and 72 us on an H200.
//
// SPDX-License-Identifier: Apache-2.0
#include "column_sums.cuh"
#include "dependent.cuh"
#include "ops.h"

namespace xf::cuda {
namespace {

constexpr int kThreads = kSumThreads, kWarps = kThreads / kWarp;
// Rows whose loads are in flight together, backward. A gated row has three loads; with two such rows in fp32 or element
// by element, registers spill on some GPUs.
template <class T, bool kVector, bool kGated>
constexpr int kRowsInFlight = kGated && (!kVector || sizeof(T) == 4) ? 1 : 2;

// act(x) and act'(x).
struct Activated {
    float value, slope;
};

struct Relu {
    __device__ static Activated of(float x) { return {x < 0.0f ? 0.0f : x, x <= 0.0f ? 0.0f : 1.0f}; }
};

struct Gelu {
    static constexpr float kHigh = 0.707106769f, kLow = 1.21016175e-8f;  // 1 / sqrt 2
    static constexpr float kInvSqrtPi = 0.564189584f, kInvSqrt2Pi = 0.398942280f;
    __device__ static Activated of(float x) {
        const float least = x < -20.0f ? -20.0f : x, clamped = x > 20.0f ? 20.0f : least;
        const float bell = expf(__fmul_rn(clamped, clamped) * -0.5f), z = __fmul_rn(clamped, -kHigh);
        const float rest = fmaf(clamped, -kLow, fmaf(clamped, -kHigh, -z));
        const float phi = fmaf(__fmul_rn(-kInvSqrtPi, bell), rest, 0.5f * erfcf(z));
        return {least * phi, fmaf(__fmul_rn(clamped, kInvSqrt2Pi), bell, phi)};
    }
};

struct Swish {
    __device__ static Activated of(float x) {
        const float least = x < -110.0f ? -110.0f : x, clamped = x > 110.0f ? 110.0f : least;
        const float e = expf(-fabsf(clamped)), large = 1.0f / (1.0f + e), small = e * large;
        const float s = x < 0.0f ? small : large, other = x < 0.0f ? large : small;
        return {least * s, fmaf(s * clamped, other, s)};
    }
};

template <class T, bool kVector, class Act, bool kGated>
__global__ void __launch_bounds__(kThreads) forward_kernel(xf_activation_fwd a, Dropout dropout) {
    begin_after_previous();
    const int64_t m = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
    const int64_t f = int64_t{blockIdx.y} * kWarpColumns + threadIdx.x % kWarp * kEight;
    if (m >= a.M || f >= a.F) return;
    const T *src = row_of<T>(a.src, m, kGated ? 2 * a.F : a.F);
    const Eight<T> x = load8<kVector>(src, f, a.F), gate = load8<kVector>(src + a.F, f, kGated ? a.F : 0);
    Mask8 mask{};
    if (dropout.threshold) mask = mask8<kVector>(dropout, static_cast<uint64_t>(m * a.F + f));
    Eight<T> out;
#pragma unroll
    for (int j = 0; j < kEight; ++j) {
        float y = Act::of(x[j]).value;
        if constexpr (kGated) y *= gate[j];
        if (dropout.threshold) y = masked(y, mask.factor[j]);
        out.x[j] = from_float<T>(y);
    }
    store8<kVector>(row_of<T>(a.dst, m, a.F), f, a.F, out);
}

template <class T, bool kVector, class Act, bool kGated>
__global__ void __launch_bounds__(kThreads) backward_kernel(xf_activation_bwd a, Dropout dropout, float *partial) {
    constexpr int kInFlight = kRowsInFlight<T, kVector, kGated>;
    __shared__ float warp_sums[kSumWarps][kSumColumns];
    const int64_t width = kGated ? 2 * a.F : a.F;
    const int64_t f0 = blockIdx.y * kSumColumns, f = f0 + threadIdx.x % kWarp * kEight;
    const int64_t first = blockIdx.x * kSumRows + threadIdx.x / kWarp;
    const int64_t end = (blockIdx.x + 1) * kSumRows < a.M ? (blockIdx.x + 1) * kSumRows : a.M;
    float sum[kEight] = {}, gate_sum[kEight] = {};
    for (int64_t start = first; start < end; start += kInFlight * kSumWarps) {
        Eight<T> x[kInFlight], gate[kInFlight], diff[kInFlight];
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) {
            const int64_t m = start + i * kSumWarps,
                          columns = m < end ? a.F : 0;  // a missing row has 0 columns: nothing is read or written
            const T *src = row_of<T>(a.src, m, width);
            x[i] = load8<kVector>(src, f, columns);
            gate[i] = load8<kVector>(src + a.F, f, kGated ? columns : 0);
            diff[i] = load8<kVector>(row_of<T>(a.diff_dst, m, a.F), f, columns);
        }
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) {
            const int64_t m = start + i * kSumWarps, columns = m < end ? a.F : 0;
            Mask8 mask{};
            if (dropout.threshold) mask = mask8<kVector>(dropout, static_cast<uint64_t>(m * a.F + f));
            Eight<T> out, out_gate;
#pragma unroll
            for (int j = 0; j < kEight; ++j) {
                const Activated y = Act::of(x[i][j]);
                const float d = dropout.threshold ? masked(diff[i][j], mask.factor[j]) : diff[i][j];
                out.x[j] = from_float<T>(kGated ? d * y.slope * gate[i][j] : d * y.slope);
                if constexpr (kGated) out_gate.x[j] = from_float<T>(d * y.value);
            }
            T *diff_src = row_of<T>(a.diff_src, m, width);
            store8<kVector>(diff_src, f, columns, out);
            if constexpr (kGated) store8<kVector>(diff_src + a.F, f, columns, out_gate);
            if (m >= end) continue;
#pragma unroll
            for (int j = 0; j < kEight; ++j) {
                sum[j] += out[j];
                if constexpr (kGated) gate_sum[j] += out_gate[j];
            }
        }
    }
    if (partial == nullptr) return;  // uniform across the grid
    float *const sums = partial + blockIdx.x * width;
    const int64_t column = f0 + threadIdx.x;
    const float total = add_warps(sum, warp_sums);
    if (column < a.F) sums[column] = total;
    if constexpr (kGated) {
        __syncthreads();
        const float gate_total = add_warps(gate_sum, warp_sums);
        if (column < a.F) sums[a.F + column] = gate_total;
    }
}

// Calls f(Act(), std::bool_constant<gated>()) with the activation of the call.
template <class F>
int32_t with_kind(uint32_t kind, uint32_t gated, F &&f) {
    const auto with = [&](auto act) { return gated ? f(act, std::true_type()) : f(act, std::false_type()); };
    switch (kind) {
        case XF_ACTIVATION_GELU:
            return with(Gelu());
        case XF_ACTIVATION_SWISH:
            return with(Swish());
        default:
            return with(Relu());
    }
}

}  // namespace

int32_t activation_fwd(xf_stream *stream, const xf_activation_fwd *args, xf_error *err) {
    const xf_activation_fwd &a = *args;
    const int32_t status = enter(stream, err);
    if (status != XF_OK || a.M <= 0) return status;
    const Dropout dropout = make_dropout(a.dropout);
    const bool vector = a.F % kEight == 0 && aligned(a.src, a.dst);
    const dim3 grid(blocks(a.M, kWarps), blocks(a.F, kWarpColumns));
    return dispatch(stream, [&](auto zero) {
        using T = decltype(zero);
        return with_kind(a.kind, a.gated, [&](auto act, auto gated) {
            using Act = decltype(act);
            constexpr bool kGated = decltype(gated)::value;
            return launch_dependent(
                stream, err, "activation_fwd",
                vector ? forward_kernel<T, true, Act, kGated> : forward_kernel<T, false, Act, kGated>, grid,
                dim3(kThreads), 0, a, dropout);
        });
    });
}

int32_t activation_bwd(xf_stream *stream, const xf_activation_bwd *args, xf_error *err) {
    const xf_activation_bwd &a = *args;
    int32_t status = enter(stream, err);
    if (status != XF_OK || a.M <= 0) return status;
    const Dropout dropout = make_dropout(a.dropout);
    const bool vector = a.F % kEight == 0 && aligned(a.src, a.diff_dst, a.diff_src);
    const int64_t width = a.gated ? 2 * a.F : a.F;
    float *partial = nullptr;
    if (a.diff_bias != nullptr) {
        partial = partial_sums(stream, a.M, width, err);
        if (partial == nullptr) return err != nullptr ? err->status : XF_ERROR_NO_MEMORY;
    }
    status = dispatch(stream, [&](auto zero) {
        using T = decltype(zero);
        return with_kind(a.kind, a.gated, [&](auto act, auto gated) {
            using Act = decltype(act);
            constexpr bool kGated = decltype(gated)::value;
            return launch(stream, err, "activation_bwd",
                          vector ? backward_kernel<T, true, Act, kGated> : backward_kernel<T, false, Act, kGated>,
                          tile_grid(a.M, a.F), dim3(kThreads), 0, a, dropout, partial);
        });
    });
    if (status != XF_OK || partial == nullptr) return status;
    return add_tiles(stream, partial, a.M, width, a.diff_bias, err);
}

}  // namespace xf::cuda
