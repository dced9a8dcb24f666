// The emulation of <cuda_bf16.h>, as far as cuda/ uses it: the upper half of a float, rounded to nearest even; a NaN
// stays one (as on the device, 0x7FFF).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cuda_runtime.h"

struct alignas(2) __nv_bfloat16 {
    unsigned short __x;

    __nv_bfloat16() = default;
    __nv_bfloat16(float value) : __x(round(value)) {}
    operator float() const { return cuda_host::bits_of<float>(static_cast<uint32_t>(__x) << 16); }

private:
    static unsigned short round(float value) {
        const uint32_t bits = cuda_host::bits_of<uint32_t>(value);
        if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
        return static_cast<unsigned short>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
    }
};
static_assert(sizeof(__nv_bfloat16) == 2, "the device's size");

inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
inline float __bfloat162float(__nv_bfloat16 x) { return static_cast<float>(x); }
