// The activation of a feed-forward sub-layer, plain or gated, with dropout (paper s. 3.3, eq. 2; s. 5.4).
//
//     dst = dropout(act(x) y)      y = 1, or the other half of the row
//     diff_x = d act'(x) y         diff_y = d act(x)         d = mask * diff_dst         diff_bias += column sums
//
// Forward: a warp for 256 columns of a row, eight of them a thread. Backward: a block for 256 columns of 256 rows,
// whose sums it takes along, as column_sums.cuh says; without diff_bias nothing is summed.
//
// Phi(x) is erfc(-x / sqrt 2) / 2. What the argument's rounding leaves out would cost 1e-5 of the tail at -13; it is
// put back with erfc's slope. Where the factor beside it vanishes, x counts as +-20 (GELU) or +-110 (swish): minus
// infinity gives 0. NaN stays.
//
// Bound, by memory: forward 2 M F numbers (3 gated), backward 3 M F (5 gated): at M = 25k, F = 2048 and bf16 205 MB and
// 307 MB, 48 us and 72 us on an H200.
//
// SPDX-License-Identifier: Apache-2.0
#include "column_sums.cuh"
#include "dependent.cuh"
#include "ops.h"

namespace xf::cuda {
namespace {

constexpr int kThreads = kSumThreads, kWarps = kThreads / kWarp;
constexpr int kTogether = 2;  // rows on their way at a time, backward

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
        const float least = x < -20.0f ? -20.0f : x, near = x > 20.0f ? 20.0f : least;
        const float bell = expf(__fmul_rn(near, near) * -0.5f), z = __fmul_rn(near, -kHigh);
        const float rest = fmaf(near, -kLow, fmaf(near, -kHigh, -z));
        const float phi = fmaf(__fmul_rn(-kInvSqrtPi, bell), rest, 0.5f * erfcf(z));
        return {least * phi, fmaf(__fmul_rn(near, kInvSqrt2Pi), bell, phi)};
    }
};

struct Swish {
    __device__ static Activated of(float x) {
        const float least = x < -110.0f ? -110.0f : x, near = x > 110.0f ? 110.0f : least;
        const float e = expf(-fabsf(near)), large = 1.0f / (1.0f + e), small = e * large;
        const float s = x < 0.0f ? small : large, other = x < 0.0f ? large : small;
        return {least * s, fmaf(s * near, other, s)};
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
    __shared__ float lines[kLines][kSumColumns];
    const int64_t width = kGated ? 2 * a.F : a.F;
    const int64_t f0 = blockIdx.y * kSumColumns, f = f0 + threadIdx.x % kWarp * kEight;
    const int64_t first = blockIdx.x * kSumRows + threadIdx.x / kWarp;
    const int64_t end = (blockIdx.x + 1) * kSumRows < a.M ? (blockIdx.x + 1) * kSumRows : a.M;
    float sum[kEight] = {}, gate_sum[kEight] = {};
    for (int64_t start = first; start < end; start += kTogether * kLines) {
        Eight<T> x[kTogether], gate[kTogether], diff[kTogether];
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
            const int64_t m = start + i * kLines, columns = m < end ? a.F : 0;  // no row: nothing is read or written
            const T *src = row_of<T>(a.src, m, width);
            x[i] = load8<kVector>(src, f, columns);
            gate[i] = load8<kVector>(src + a.F, f, kGated ? columns : 0);
            diff[i] = load8<kVector>(row_of<T>(a.diff_dst, m, a.F), f, columns);
        }
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
            const int64_t m = start + i * kLines, columns = m < end ? a.F : 0;
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
    if (partial == nullptr) return;  // the whole grid
    float *const sums = partial + blockIdx.x * width;
    const int64_t column = f0 + threadIdx.x;
    const float total = sum_lines(sum, lines);
    if (column < a.F) sums[column] = total;
    if constexpr (kGated) {
        __syncthreads();
        const float gate_total = sum_lines(gate_sum, lines);
        if (column < a.F) sums[a.F + column] = gate_total;
    }
}

// f(Act()) for the kind of a call, with std::bool_constant of gated.
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
