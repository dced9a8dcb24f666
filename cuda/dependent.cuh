// Dependent launches (compute capability 9.0): a kernel is put on the GPU while the one before it still runs, and waits
// there, so that the gap between two small kernels is a signal and not a launch.
//
//     begin_after_previous()   first of all in the kernel, in every thread: waits until what was launched before has
//                              ended and its memory is seen; then lets the next kernel be put on the GPU
//     prefetch(line)           before it: asks for a line of memory in the L2 cache; no value of it is taken
//
// Why this is safe. A thread touches no global memory before it has waited, and every thread waits: a kernel ends after
// the one before it has ended, so waiting for one is waiting for all. The next kernel is let in only after the wait,
// so at most one is ahead of its turn; and it is let in when all blocks of this one are on the GPU, so it can't take
// their room. A kernel that is launched plainly, a copy, a library's product wait for all as ever, before and behind.
// The emulation (tests/cuda_host) faults on a thread that ends or meets others without having waited, and takes
// device memory away from those that have not.
//
// Whether kernels are launched so is the device's (xf_device::dependent_launch); when they are not, or on an older GPU,
// both do nothing.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common.cuh"

namespace xf::cuda {

#ifdef __CUDACC__

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ inline void begin_after_previous() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#else
__device__ inline void begin_after_previous() {}
#endif

__device__ inline void prefetch(const void *line) { asm volatile("prefetch.global.L2 [%0];" ::"l"(line)); }

#else

inline void begin_after_previous() { cuda_host::wait_for_previous(); }
inline void prefetch(const void *) {}

#endif

}  // namespace xf::cuda
