// Tensor-core products and asynchronous copies. With dependent.cuh this is all PTX of the CUDA backend; each function
// wraps one instruction.
//
// bf16 products and cp.async require compute capability 8.0. Code for older GPUs is compiled as well, so that one
// binary serves all; there these functions trap, and callers check has_tensor_cores() before they launch. In the
// emulation (tests/harness/cuda_host) functions of the same names are collectives of a warp of fibers.
//
// Fragments, with g = lane / 4 and c = lane % 4 (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
//     a[0..3]  (row g, columns 2c 2c+1), (row g+8, same), (row g, columns 2c+8 2c+9), (row g+8, same)
//     b[0..1]  (rows 2c 2c+1, column g), (rows 2c+8 2c+9, column g)
//     d[0..3]  (row g, column 2c), (row g, 2c+1), (row g+8, 2c), (row g+8, 2c+1)
// ldmatrix_xN reads N 8x8 matrices. Lanes 8i .. 8i+7 pass the rows of matrix i; r[i] receives (row g, columns 2c 2c+1)
// of it, or with _trans (rows 2c 2c+1, column g). Each row has 16 bytes and is 16-byte aligned.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "common.cuh"

namespace xf::cuda {

inline bool has_tensor_cores(const xf_device *device) { return device->capability >= 80; }

#ifdef __CUDACC__

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define XF_PURE(...) asm(__VA_ARGS__)
#define XF_ORDERED(...) asm volatile(__VA_ARGS__)
#else
#define XF_PURE(...) __trap()
#define XF_ORDERED(...) __trap()
#endif

__device__ inline uint32_t shared_address(const void *ptr) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(ptr));
}

// d += a b
__device__ inline void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    XF_ORDERED(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void ldmatrix_x4(uint32_t (&r)[4], const void *row) {
    XF_ORDERED("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

__device__ inline void ldmatrix_x4_trans(uint32_t (&r)[4], const void *row) {
    XF_ORDERED("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

__device__ inline void ldmatrix_x2(uint32_t (&r)[2], const void *row) {
    XF_ORDERED("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}

__device__ inline void ldmatrix_x2_trans(uint32_t (&r)[2], const void *row) {
    XF_ORDERED("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}

// Starts a copy of 16 bytes; both sides are 16-byte aligned. If not valid, writes zeros and does not read global.
__device__ inline void cp_async16(void *shared, const void *global, bool valid) {
    XF_ORDERED("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(shared_address(shared)), "l"(global), "r"(valid ? 16 : 0)
               : "memory");
}

// cp_async_commit() makes the copies that this thread started since the last commit a group. cp_async_wait<N>() waits
// until at most N groups are in flight.
__device__ inline void cp_async_commit() { XF_ORDERED("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ inline void cp_async_wait() {
    XF_ORDERED("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// Packs two bf16 numbers, low in the lower half, each rounded to nearest even.
__device__ inline uint32_t pack_bf16(float low, float high) {
    uint32_t both = 0;
    XF_PURE("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

#undef XF_PURE
#undef XF_ORDERED

#else

using cuda_host::cp_async16;
using cuda_host::cp_async_commit;
using cuda_host::cp_async_wait;
using cuda_host::ldmatrix_x2;
using cuda_host::ldmatrix_x2_trans;
using cuda_host::ldmatrix_x4;
using cuda_host::ldmatrix_x4_trans;
using cuda_host::mma_m16n8k16_bf16;

inline uint32_t pack_bf16(float low, float high) {
    const bf16 both[2] = {__float2bfloat16_rn(low), __float2bfloat16_rn(high)};
    uint32_t bits;
    std::memcpy(&bits, both, sizeof bits);
    return bits;
}

#endif

// The two elements of a packed word.
__device__ inline float low_bf16(uint32_t both) { return __uint_as_float(both << 16); }
__device__ inline float high_bf16(uint32_t both) { return __uint_as_float(both & 0xFFFF0000u); }

}  // namespace xf::cuda
