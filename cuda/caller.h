// Saves and restores CUDA's current context of the calling thread.
//
// A program may use a GPU itself, through its own copy of the CUDA runtime or through the driver API. All of these
// share the thread's current context, which the driver stores. Each call of the plugin makes its device's context
// current and restores the previous one at its end. If no context was current, none is current afterwards; selecting
// device 0 instead would create a context on a GPU that the program does not use.
//
// A forked child has its parent's handles but none of its contexts, so CUDA must not be called with them. Freeing an
// object in a child therefore frees only host memory; the memory of the GPU belongs to the parent.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common.cuh"

struct CUctx_st;

namespace xf::cuda {

class ContextGuard {
public:
    ContextGuard();
    ~ContextGuard();
    ContextGuard(const ContextGuard &) = delete;
    ContextGuard &operator=(const ContextGuard &) = delete;

private:
    CUctx_st *before_ = nullptr;
};

// RestoringContext<function>::call is a function of the same type that restores the caller's context.
template <auto kFunction>
struct RestoringContext;
template <class R, class... P, R (*kFunction)(P...)>
struct RestoringContext<kFunction> {
    static R call(P... args) {
        const ContextGuard caller;
        return kFunction(args...);
    }
};

// Returns whether this process opened the device, so false in a forked child.
bool owns(const xf_device *device);

}  // namespace xf::cuda
