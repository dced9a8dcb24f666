// Arithmetic that CUDA declares without a header: the C functions unqualified, min and max, intrinsics.
//
// The intrinsics that are less exact on the device (__expf, ...) are the exact functions here: no test can rely on
// their error.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <math.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
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

inline float rsqrtf(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }

// Macros: the C library declares functions of these names for itself.
#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __powf(x, y) powf(x, y)
inline float __fdividef(float a, float b) { return a / b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __frsqrt_rn(float a) { return rsqrtf(a); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }

inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned int x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(rintf(x)); }
inline int __float2int_rd(float x) { return static_cast<int>(floorf(x)); }
inline int __float2int_ru(float x) { return static_cast<int>(ceilf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }

inline unsigned int __umulhi(unsigned int a, unsigned int b) {
    return static_cast<unsigned int>(uint64_t{a} * b >> 32);
}
inline int __mulhi(int a, int b) { return static_cast<int>(int64_t{a} * b >> 32); }
__extension__ typedef unsigned __int128 xf_cuda_host_uint128;
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<xf_cuda_host_uint128>(a) * b >> 64);
}
inline int __popc(unsigned int x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline unsigned int __brev(unsigned int x) {
    unsigned int r = 0;
    for (int i = 0; i < 32; ++i) r |= (x >> i & 1u) << (31 - i);
    return r;
}

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
inline long long __double_as_longlong(double x) { return cuda_host::bits_of<long long>(x); }
inline double __longlong_as_double(long long x) { return cuda_host::bits_of<double>(x); }

// Loads with a cache hint.
template <class T>
inline T __ldg(const T *p) {
    return *p;
}
template <class T>
inline T __ldcs(const T *p) {
    return *p;
}
template <class T>
inline T __ldcg(const T *p) {
    return *p;
}
template <class T>
inline T __ldca(const T *p) {
    return *p;
}
template <class T>
inline void __stcs(T *p, T value) {
    *p = value;
}
template <class T>
inline void __stcg(T *p, T value) {
    *p = value;
}
