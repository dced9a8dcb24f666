// The device of the emulation: its properties, errors, and the controls that tests set.
//
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "control.h"
#include "emulator.h"
#include "races.h"

namespace cuda_host {

Controls controls;
cudaError_t sticky = cudaSuccess;
std::string last_fault;

namespace {

std::mutex mutex;

char contexts[1 << 8];  // of context n: the n-th address

std::map<const void *, size_t> opted;  // bytes of dynamic shared memory that each kernel may ask for

// The last error and the current context of each host thread, packed into the key's value: context << 16 | error, where
// the context is one more than its device, or 0 for none. No thread_local: those are shared memory here.
struct PerThread {
    pthread_key_t key;
    PerThread() { pthread_key_create(&key, nullptr); }
    ~PerThread() { pthread_key_delete(key); }
    uintptr_t get() const { return reinterpret_cast<uintptr_t>(pthread_getspecific(key)); }
    void set(uintptr_t value) { pthread_setspecific(key, reinterpret_cast<void *>(value)); }
} per_thread;

struct Entry {
    const char *name;
    int64_t Controls::*member;
};
constexpr Entry kEntries[] = {
    {"devices", &Controls::devices},
    {"memory_bytes", &Controls::memory_bytes},
    {"multiprocessors", &Controls::multiprocessors},
    {"capability", &Controls::capability},
    {"shared_per_block", &Controls::shared_per_block},
    {"seed", &Controls::seed},
    {"report_divergence", &Controls::report_divergence},
    {"guard", &Controls::guard},
    {"malloc_fail_after", &Controls::malloc_fail_after},
    {"capture_fail_after", &Controls::capture_fail_after},
    {"launch_fault_after", &Controls::launch_fault_after},
    {"last_malloc_device", &Controls::last_malloc_device},
    {"live_bytes", &Controls::live_bytes},
    {"live_allocations", &Controls::live_allocations},
    {"live_pinned", &Controls::live_pinned},
    {"live_streams", &Controls::live_streams},
    {"live_graphs", &Controls::live_graphs},
    {"live_events", &Controls::live_events},
    {"launches", &Controls::launches},
    {"graphs_made", &Controls::graphs_made},
    {"graph_launches", &Controls::graph_launches},
    {"copies", &Controls::copies},
    {"waits", &Controls::waits},
};

int64_t Controls::*find(const char *name) {
    for (const Entry &entry : kEntries)
        if (std::strcmp(entry.name, name) == 0) return entry.member;
    std::fprintf(stderr, "cuda_host: no control '%s'\n", name);
    return nullptr;
}

}  // namespace

std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex); }

void let_others() {
    mutex.unlock();
    usleep(50);
    mutex.lock();
}

int current_device() {
    const uintptr_t context = per_thread.get() >> 16;
    return context == 0 ? 0 : static_cast<int>(context) - 1;
}

cudaError_t failed(cudaError_t code) {
    if (code != cudaSuccess) per_thread.set((per_thread.get() & ~uintptr_t{0xFFFF}) | static_cast<uintptr_t>(code));
    return code;
}

cudaError_t usable() {
    if (sticky != cudaSuccess) return sticky;
    if (controls.devices == 0) return cudaErrorNoDevice;
    if (controls.devices < 0) return static_cast<cudaError_t>(-controls.devices);
    return cudaSuccess;
}

// Static arrays and dynamic shared memory have 48 KiB together, or what was asked for. How large a kernel's arrays are
// isn't known here: so much is taken for granted.
bool shared_fits(const void *kernel, size_t bytes) {
    constexpr size_t kStatic = 1024;
    const auto at = opted.find(kernel);
    return bytes + kStatic <= size_t{48} << 10 || (at != opted.end() && bytes <= at->second);
}

}  // namespace cuda_host

using namespace cuda_host;

extern "C" int64_t xf_cuda_host_get(const char *name) {
    const auto held = lock();
    if (std::strcmp(name, "fault") == 0) return sticky;
    if (std::strcmp(name, "races") == 0) return races::reports();
    if (std::strcmp(name, "context") == 0) return static_cast<int64_t>(per_thread.get() >> 16);
    const auto member = find(name);
    return member != nullptr ? controls.*member : -1;
}

extern "C" void xf_cuda_host_set(const char *name, int64_t value) {
    const auto held = lock();
    if (std::strcmp(name, "context") == 0)
        return per_thread.set(static_cast<uintptr_t>(value) << 16 | (per_thread.get() & 0xFFFF));
    if (std::strcmp(name, "races") == 0) return races::clear();
    const auto member = find(name);
    if (member == nullptr) return;
    controls.*member = value;
    if (member == &Controls::launch_fault_after) sticky = cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t code) {
    switch (code) {
        case cudaSuccess:
            return "cudaSuccess";
#define XF_CUDA_HOST_NAME(number, name, text) \
    case number:                              \
        return "cudaError" #name;
            XF_CUDA_HOST_ERRORS(XF_CUDA_HOST_NAME)
#undef XF_CUDA_HOST_NAME
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t code) {
    switch (code) {
        case cudaSuccess:
            return "no error";
#define XF_CUDA_HOST_TEXT(number, name, text) \
    case number:                              \
        return text;
            XF_CUDA_HOST_ERRORS(XF_CUDA_HOST_TEXT)
#undef XF_CUDA_HOST_TEXT
    }
    return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
    const auto held = lock();
    const cudaError_t code = sticky != cudaSuccess ? sticky : static_cast<cudaError_t>(per_thread.get() & 0xFFFF);
    per_thread.set(per_thread.get() & ~uintptr_t{0xFFFF});
    return code;
}

cudaError_t cudaGetDeviceCount(int *count) {
    const auto held = lock();
    *count = 0;
    if (const cudaError_t code = usable(); code != cudaSuccess) return failed(code);
    *count = static_cast<int>(controls.devices);
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    const auto held = lock();
    if (const cudaError_t code = usable(); code != cudaSuccess) return failed(code);
    if (device < 0 || device >= controls.devices) return failed(cudaErrorInvalidDevice);
    per_thread.set(static_cast<uintptr_t>(device + 1) << 16 | (per_thread.get() & 0xFFFF));
    return cudaSuccess;
}

extern "C" int cuCtxGetCurrent(CUctx_st **context) {
    const uintptr_t number = per_thread.get() >> 16;
    *context = number == 0 ? nullptr : reinterpret_cast<CUctx_st *>(contexts + number);
    return 0;
}

extern "C" int cuCtxSetCurrent(CUctx_st *context) {
    const uintptr_t number =
        context == nullptr ? 0 : static_cast<uintptr_t>(reinterpret_cast<const char *>(context) - contexts);
    per_thread.set(number << 16 | (per_thread.get() & 0xFFFF));
    return 0;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    const auto held = lock();
    if (const cudaError_t code = usable(); code != cudaSuccess) return failed(code);
    if (device < 0 || device >= controls.devices) return failed(cudaErrorInvalidDevice);
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "Emulated CUDA device");
    properties->totalGlobalMem = static_cast<size_t>(controls.memory_bytes);
    properties->sharedMemPerBlockOptin = static_cast<size_t>(controls.shared_per_block);
    properties->multiProcessorCount = static_cast<int>(controls.multiprocessors);
    properties->major = static_cast<int>(controls.capability / 10);
    properties->minor = static_cast<int>(controls.capability % 10);
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute, int value) {
    const auto held = lock();
    if (const cudaError_t code = usable(); code != cudaSuccess) return failed(code);
    if (value < 0 || value > controls.shared_per_block) return failed(cudaErrorInvalidValue);
    opted[kernel] = static_cast<size_t>(value);
    return cudaSuccess;
}
