// Device functions that involve other threads: indices, barriers, shuffles, votes, and the matrix and copy instructions
// of a warp (to which cuda/mma.cuh maps on the host).
//
// Barriers and warp collectives are rendezvous of fibers: all named threads must arrive at the same kind of call,
// otherwise the emulator reports the waiting threads. A mask must name only existing threads.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cuda_host/vector_types.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#ifdef __clang__
#pragma clang diagnostic ignored "-Wunused-const-variable"  // constants that are used only in launch bounds
#endif
#define __align__(n) __attribute__((aligned(n)))
// Under ASan a plain static: it gets redzones. Else thread-local: then all of them lie in one known range, which the
// emulator fills with NaNs before each block. Either way there is one for all threads of a block.
#ifdef __SANITIZE_ADDRESS__
#define __shared__ static
#else
#define __shared__ static thread_local
#endif

namespace cuda_host {

// Of the fiber that runs; a launch at a time runs in the process, so this is no thread's own.
struct Place {
    uint3 thread, block, block_dim, grid_dim;
};
extern Place place;

enum class Collective : int32_t {
    none,
    sync,
    shuffle,
    mma,
    ldmatrix_x4,
    ldmatrix_x4_trans,
    ldmatrix_x2,
    ldmatrix_x2_trans
};
enum class Barrier : int32_t { plain, count, any };

// Waits for all threads of the block; the number of threads whose predicate was true. file and line: of the caller.
int32_t block_barrier(Barrier kind, bool predicate, const char *file, int line);
// Waits for the lanes of the mask; value of the lane source, an absolute lane. Lane of the caller: lane().
uint64_t warp_shuffle(uint32_t mask, uint64_t value, int32_t source);
void warp_sync(uint32_t mask, const char *file, int line);
int32_t lane();

// Of a dependent launch: waits for all that was launched before. Each thread must before it ends; until all of the
// block have, guarded device memory can't be touched.
void wait_for_previous();

// Adds in one step; returns the value before.
unsigned long long atomic_add(unsigned long long *to, unsigned long long value);

// The block's dynamic shared memory, 128-byte aligned, filled with NaN before each block; only the bytes asked for at
// launch may be touched.
void *dynamic_shared();

// d += a b of one warp: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, fragments as in the PTX ISA.
void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
// ldmatrix.sync.aligned.m8n8.{x4,x2}[.trans].shared.b16: lane i gives the address of row i % 8 of matrix i / 8.
void ldmatrix_x4(uint32_t (&r)[4], const void *shared_row);
void ldmatrix_x4_trans(uint32_t (&r)[4], const void *shared_row);
void ldmatrix_x2(uint32_t (&r)[2], const void *shared_row);
void ldmatrix_x2_trans(uint32_t (&r)[2], const void *shared_row);
// cp.async.cg.shared.global 16: the bytes arrive at a wait, not before; until then shared holds NaNs. Zeros when not
// valid (global is not read then).
void cp_async16(void *shared, const void *global, bool valid = true);
void cp_async_commit();
void cp_async_wait_groups(int32_t newest_left);
template <int N>
inline void cp_async_wait() {
    cp_async_wait_groups(N);
}

template <class T>
inline T shuffle(uint32_t mask, T value, int32_t source) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 32 or 64 bits");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = warp_shuffle(mask, bits, source);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

}  // namespace cuda_host

#define threadIdx (static_cast<const uint3 &>(::cuda_host::place.thread))
#define blockIdx (static_cast<const uint3 &>(::cuda_host::place.block))
#define blockDim (static_cast<const uint3 &>(::cuda_host::place.block_dim))
#define gridDim (static_cast<const uint3 &>(::cuda_host::place.grid_dim))

inline void __syncthreads(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    cuda_host::block_barrier(cuda_host::Barrier::plain, false, file, line);
}
inline int __syncthreads_count(int p, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_host::block_barrier(cuda_host::Barrier::count, p != 0, file, line);
}
inline int __syncthreads_or(int p, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return cuda_host::block_barrier(cuda_host::Barrier::any, p != 0, file, line) != 0;
}
inline void __syncwarp(uint32_t mask = 0xFFFFFFFFu, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    cuda_host::warp_sync(mask, file, line);
}

// Beyond the end of the warp a lane keeps its own value.
template <class T>
inline T __shfl_sync(uint32_t mask, T value, int source) {
    return cuda_host::shuffle(mask, value, source & 31);
}
template <class T>
inline T __shfl_up_sync(uint32_t mask, T value, unsigned int delta) {
    const int lane = cuda_host::lane(), from = lane - static_cast<int>(delta);
    return cuda_host::shuffle(mask, value, from < 0 ? lane : from);
}
template <class T>
inline T __shfl_xor_sync(uint32_t mask, T value, int lane_mask) {
    return cuda_host::shuffle(mask, value, cuda_host::lane() ^ lane_mask);
}

inline unsigned long long atomicAdd(unsigned long long *to, unsigned long long value) {
    return cuda_host::atomic_add(to, value);
}
