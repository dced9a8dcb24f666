// Dependent launches (compute capability 9.0, "programmatic dependent launch"): a kernel is placed on the GPU while the
// previous one still runs, and waits there. The gap between two small kernels is then a signal instead of a launch.
//
//     begin_after_previous()   the first statement of a kernel, in every thread: waits until all previous work has
//                              ended and its writes are visible; then allows the next kernel to be placed
//     prefetch(line)           before the wait: loads a line into the L2 cache without using its value
//
// Correctness: a thread accesses no global memory before it has waited, and every thread waits. A kernel ends after the
// previous one has ended, so waiting for one means waiting for all. The next kernel is released only after the wait, so
// at most one kernel is placed early, and only when all blocks of the current kernel are on the GPU, so it cannot take
// their resources. Kernels launched without this attribute, copies, and cuBLASLt products wait for all previous work as
// usual. The emulation (tests/harness/cuda_host) fails if a thread ends or reaches a barrier without having waited, and
// makes device memory inaccessible to threads that have not waited.
//
// xf_device::dependent_launch is true if dependent launches are used. If not, or on an older GPU,
// begin_after_previous() has no effect.
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

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800  // of kernels that use tensor cores
__device__ inline void prefetch(const void *line) { asm volatile("prefetch.global.L2 [%0];" ::"l"(line)); }
#else
__device__ inline void prefetch(const void *) {}
#endif

#else

inline void begin_after_previous() { cuda_host::wait_for_previous(); }
inline void prefetch(const void *) {}

#endif

}  // namespace xf::cuda
