// What the plugin leaves as it found it: CUDA's current context of the calling thread.
//
// A program may work with a GPU of its own, by its own copy of CUDA's runtime or by the driver's functions. What all of
// them share is the thread's current context, which the driver keeps; each call of the plugin makes that of its device
// current, and at its end puts back what was there. Where nothing was, nothing is: to make "device 0" current instead
// would open a context on a GPU that nobody asked for.
//
// A forked child has its parent's handles and none of its contexts: CUDA may not be called with them. So what is freed
// in a child is freed on the host alone; the memory of the GPU is the parent's.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common.cuh"

struct CUctx_st;

namespace xf::cuda {

class CallersContext {
public:
    CallersContext();
    ~CallersContext();
    CallersContext(const CallersContext &) = delete;
    CallersContext &operator=(const CallersContext &) = delete;

private:
    CUctx_st *before_ = nullptr;
};

// PutsBack<function>::call is a function of the same type that puts the caller's context back.
template <auto kFunction>
struct PutsBack;
template <class R, class... P, R (*kFunction)(P...)>
struct PutsBack<kFunction> {
    static R call(P... args) {
        const CallersContext caller;
        return kFunction(args...);
    }
};

// False in a child of the process that opened the device.
bool owns(const xf_device *device);

}  // namespace xf::cuda
