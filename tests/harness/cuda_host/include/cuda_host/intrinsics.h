// The arithmetic that CUDA declares without a header, as far as cuda/ uses it: the C functions unqualified, min and
// max, and intrinsics.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <math.h>

#include <cstdint>
#include <cstring>

#define XF_CUDA_HOST_MIN_MAX(type)                               \
    constexpr type min(type a, type b) { return b < a ? b : a; } \
    constexpr type max(type a, type b) { return a < b ? b : a; }
XF_CUDA_HOST_MIN_MAX(int)
XF_CUDA_HOST_MIN_MAX(unsigned int)
XF_CUDA_HOST_MIN_MAX(long)
XF_CUDA_HOST_MIN_MAX(unsigned long)
XF_CUDA_HOST_MIN_MAX(long long)
XF_CUDA_HOST_MIN_MAX(unsigned long long)
#undef XF_CUDA_HOST_MIN_MAX
// As on the device, a NaN loses against a number.
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline int __popc(unsigned int x) { return __builtin_popcount(x); }

namespace cuda_host {
template <class To, class From>
inline To bits_of(From from) {
    static_assert(sizeof(To) == sizeof(From), "a cast of bits keeps the size");
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}
}  // namespace cuda_host

inline unsigned int __float_as_uint(float x) { return cuda_host::bits_of<unsigned int>(x); }
inline int __float_as_int(float x) { return cuda_host::bits_of<int>(x); }
inline float __uint_as_float(unsigned int x) { return cuda_host::bits_of<float>(x); }
inline float __int_as_float(int x) { return cuda_host::bits_of<float>(x); }
