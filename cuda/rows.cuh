// Pieces of rows for the kernels that work row by row: eight neighbouring numbers at a time.
//
// A row is cut into eights, the unit of the dropout mask; which thread gets which eight depends on the width alone.
// Tensors may start anywhere, so each kernel exists twice: kVector when every row begins at a multiple of 16 bytes and
// holds whole eights, else element by element. Both add in the same order and round at the same places (a product
// meets a sum in an fmaf() or is an __fmul_rn(), never as the compiler likes), so they give the same bits.
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

// 16 bytes that move as one; the alignment is what makes the compiler do so.
template <class T>
struct alignas(16) Vector {
    static constexpr int kSize = 16 / sizeof(T);
    T x[kSize];
};

// All of these are 16-byte aligned; NULL is.
template <class... P>
bool aligned(const P *...pointers) {
    return ((reinterpret_cast<uintptr_t>(pointers) | ...) & 15) == 0;
}

// Row m of a tensor of the stream's type; NULL stays NULL.
template <class T>
__device__ inline const T *row_of(const void *tensor, int64_t m, int64_t D) {
    return tensor ? static_cast<const T *>(tensor) + m * D : nullptr;
}
template <class T>
__device__ inline T *row_of(void *tensor, int64_t m, int64_t D) {
    return tensor ? static_cast<T *>(tensor) + m * D : nullptr;
}

// Elements d .. d+7 of a row of width D, 0 beyond its end.
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

// Factors of elements i .. i+7. kVector: i is a multiple of 8. Else they lie in two blocks, shifted into place.
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
// x times its factor; 0 where it was dropped, a NaN too.
__device__ inline float masked(float x, float factor) { return factor != 0.0f ? x * factor : 0.0f; }

__device__ inline float sum8(const float (&x)[kEight]) {
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

// Sum over the kWarps warps of a block, in a fixed tree; every thread gets it. All threads of the block call it; shared
// holds kWarps numbers.
template <int kWarps>
__device__ inline float block_sum(float x, float *shared) {
    x = warp_sum(x);
    __syncthreads();  // shared may still be read by others
    if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = x;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += shared[w];
    return sum;
}

// f(chunks) with the number of warp-wide chunks of kWarpColumns that hold a row of up to kNarrow columns, which a warp
// keeps in registers. Element by element, the largest serves all: what is beyond the row adds zeros.
constexpr int64_t kNarrow = 1024;
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
