// Helpers for kernels that work row by row, eight neighboring elements at a time.
//
// A row is divided into groups of eight, the unit of the dropout mask. The assignment of groups to threads depends only
// on the width. Tensors may have any alignment, so each kernel has two versions: kVector if every row is 16-byte
// aligned and a multiple of eight long, otherwise element by element. Both add in the same order and round at the same
// points (each multiply-add is an fmaf() and each other product an __fmul_rn(), so the compiler cannot contract), and
// therefore give the same bits.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common.cuh"

namespace xf::cuda {

constexpr int kEight = 8;

template <class T>
struct Eight {
    T x[kEight];
    __device__ float operator[](int j) const { return to_float(x[j]); }
};

// 16 bytes that are loaded or stored as a unit; the compiler requires the alignment for that.
template <class T>
struct alignas(16) Vector {
    static constexpr int kSize = 16 / sizeof(T);
    T x[kSize];
};

// Returns whether all pointers are 16-byte aligned; NULL counts as aligned.
template <class... P>
bool aligned(const P *...pointers) {
    return ((reinterpret_cast<uintptr_t>(pointers) | ...) & 15) == 0;
}

// Row m of a tensor with the stream's element type; NULL stays NULL.
template <class T>
__device__ inline const T *row_of(const void *tensor, int64_t m, int64_t D) {
    return tensor ? static_cast<const T *>(tensor) + m * D : nullptr;
}
template <class T>
__device__ inline T *row_of(void *tensor, int64_t m, int64_t D) {
    return tensor ? static_cast<T *>(tensor) + m * D : nullptr;
}

// Loads elements d .. d+7 of a row of width D; elements past its end are 0.
template <bool kVector, class T>
__device__ inline Eight<T> load8(const T *row, int64_t d, int64_t D) {
    Eight<T> result;
    if constexpr (kVector) {
        constexpr int kSize = Vector<T>::kSize;
#pragma unroll
        for (int part = 0; part < kEight / kSize; ++part) {
            Vector<T> v;
            if (d < D) {
                v = *reinterpret_cast<const Vector<T> *>(row + d + part * kSize);
            } else {
#pragma unroll
                for (int j = 0; j < kSize; ++j) v.x[j] = from_float<T>(0.0f);
            }
#pragma unroll
            for (int j = 0; j < kSize; ++j) result.x[part * kSize + j] = v.x[j];
        }
    } else {
#pragma unroll
        for (int j = 0; j < kEight; ++j) result.x[j] = d + j < D ? row[d + j] : from_float<T>(0.0f);
    }
    return result;
}

template <bool kVector, class T>
__device__ inline void store8(T *row, int64_t d, int64_t D, const Eight<T> &value) {
    if constexpr (kVector) {
        constexpr int kSize = Vector<T>::kSize;
        if (d >= D) return;
#pragma unroll
        for (int part = 0; part < kEight / kSize; ++part) {
            Vector<T> v;
#pragma unroll
            for (int j = 0; j < kSize; ++j) v.x[j] = value.x[part * kSize + j];
            *reinterpret_cast<Vector<T> *>(row + d + part * kSize) = v;
        }
    } else {
#pragma unroll
        for (int j = 0; j < kEight; ++j)
            if (d + j < D) row[d + j] = value.x[j];
    }
}

// The mask factors of elements i .. i+7. With kVector, i is a multiple of 8. Otherwise the elements lie in two blocks,
// whose factors are shifted into position.
template <bool kVector>
__device__ inline Mask8 mask8(const Dropout &d, uint64_t i) {
    Mask8 mask = dropout_mask8(d, i / kEight);
    if constexpr (!kVector) {
        const Mask8 next = dropout_mask8(d, i / kEight + 1);
        float f[2 * kEight];
#pragma unroll
        for (int j = 0; j < kEight; ++j) f[j] = mask.factor[j], f[kEight + j] = next.factor[j];
#pragma unroll
        for (int bit = 0; bit < 3; ++bit)
#pragma unroll
            for (int j = 0; j < 2 * kEight - 1; ++j)
                if (i >> bit & 1) f[j] = f[j + (1 << bit) < 2 * kEight ? j + (1 << bit) : j];
#pragma unroll
        for (int j = 0; j < kEight; ++j) mask.factor[j] = f[j];
    }
    return mask;
}
// x times its factor; 0 if the element is dropped, even if x is NaN.
__device__ inline float masked(float x, float factor) { return factor != 0.0f ? x * factor : 0.0f; }

__device__ inline float sum8(const float (&x)[kEight]) {
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

// The sum over the kWarps warps of a block by a fixed tree; every thread receives it. All threads of the block must
// call it; shared has kWarps elements.
template <int kWarps>
__device__ inline float block_sum(float x, float *shared) {
    x = warp_sum(x);
    __syncthreads();  // other threads may still read shared
    if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = x;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += shared[w];
    return sum;
}

// Calls f(chunks) with the number of warp-wide chunks of kWarpColumns that cover a row of up to kWarpRow columns, which
// a warp keeps in registers. Without kVector the largest number serves all widths: columns past the row add zeros.
constexpr int64_t kWarpRow = 1024;
constexpr int kWarpColumns = kWarp * kEight;
template <bool kVector, class F>
auto with_chunks(int64_t D, F &&f) {
    if constexpr (kVector) {
        if (D <= kWarpColumns) return f(std::integral_constant<int, 1>());
        if (D <= 2 * kWarpColumns) return f(std::integral_constant<int, 2>());
    }
    return f(std::integral_constant<int, 4>());
}

}  // namespace xf::cuda
