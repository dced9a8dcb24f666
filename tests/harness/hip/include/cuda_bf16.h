// The part of <cuda_bf16.h> that cuda/ uses, for HIP, whose own bf16 type has other names and roundings: the upper half
// of a float, rounded to nearest even; NaN becomes 0x7FFF, as on NVIDIA's devices.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_runtime.h"

struct alignas(2) __nv_bfloat16 {
    unsigned short __x;

    __nv_bfloat16() = default;
    __host__ __device__ __nv_bfloat16(float value) {
        const unsigned int bits = __builtin_bit_cast(unsigned int, value);
        const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
        __x = nan ? 0x7FFF : static_cast<unsigned short>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
    }
    __host__ __device__ operator float() const {
        return __builtin_bit_cast(float, static_cast<unsigned int>(__x) << 16);
    }
};

__host__ __device__ inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
__host__ __device__ inline float __bfloat162float(__nv_bfloat16 x) { return static_cast<float>(x); }
