// CUDA's vector types with the alignments they have on the device, so that a compiler and UBSan notice a misaligned
// vector access.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define XF_CUDA_HOST_VECTORS(type, name, align2, align4)                           \
    struct alignas(sizeof(type)) name##1 {                                         \
        type x;                                                                    \
    };                                                                             \
    struct alignas(align2) name##2 {                                               \
        type x, y;                                                                 \
    };                                                                             \
    struct name##3 {                                                               \
        type x, y, z;                                                              \
    };                                                                             \
    struct alignas(align4) name##4 {                                               \
        type x, y, z, w;                                                           \
    };                                                                             \
    constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
    constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
    constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

XF_CUDA_HOST_VECTORS(signed char, char, 2, 4)
XF_CUDA_HOST_VECTORS(unsigned char, uchar, 2, 4)
XF_CUDA_HOST_VECTORS(short, short, 4, 8)
XF_CUDA_HOST_VECTORS(unsigned short, ushort, 4, 8)
XF_CUDA_HOST_VECTORS(int, int, 8, 16)
XF_CUDA_HOST_VECTORS(unsigned int, uint, 8, 16)
XF_CUDA_HOST_VECTORS(float, float, 8, 16)
XF_CUDA_HOST_VECTORS(long long, longlong, 16, 16)
XF_CUDA_HOST_VECTORS(unsigned long long, ulonglong, 16, 16)
XF_CUDA_HOST_VECTORS(double, double, 16, 16)
#undef XF_CUDA_HOST_VECTORS

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
