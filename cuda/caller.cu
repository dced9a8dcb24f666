// See caller.h. The plugin is not linked with the driver's library; the runtime opens it, and it is found here.
//
// SPDX-License-Identifier: Apache-2.0
#include "caller.h"

#include <dlfcn.h>
#include <unistd.h>

namespace xf::cuda {
namespace {

#ifdef __CUDACC__
struct Driver {
    int (*get)(CUctx_st **) = nullptr;
    int (*set)(CUctx_st *) = nullptr;
};

// Empty until some code has opened the driver; until then no thread has a context.
Driver driver() {
    static std::atomic<void *> opened{nullptr};
    void *library = opened.load(std::memory_order_acquire);
    if (library == nullptr) library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return {};
    opened.store(library, std::memory_order_release);
    static const Driver found = {reinterpret_cast<decltype(Driver::get)>(dlsym(library, "cuCtxGetCurrent")),
                                 reinterpret_cast<decltype(Driver::set)>(dlsym(library, "cuCtxSetCurrent"))};
    return found;
}

CUctx_st *current() {
    const Driver found = driver();
    CUctx_st *context = nullptr;
    return found.get != nullptr && found.get(&context) == 0 ? context : nullptr;
}
void make_current(CUctx_st *context) {
    const Driver found = driver();
    if (found.set != nullptr) found.set(context);
}
#else
CUctx_st *current() {
    CUctx_st *context = nullptr;
    cuCtxGetCurrent(&context);
    return context;
}
void make_current(CUctx_st *context) { cuCtxSetCurrent(context); }
#endif

}  // namespace

ContextGuard::ContextGuard() : before_(current()) {}

// Usually the caller's context is that of the device, and nothing changes.
ContextGuard::~ContextGuard() {
    if (current() != before_) make_current(before_);
}

bool owns(const xf_device *device) { return device->process == getpid(); }

}  // namespace xf::cuda
