// The exported function of the CUDA plugin, devices, and errors. Streams and memory are in memory.cu, graphs in
// graph.cu.
//
// A machine without a GPU or a driver is not an error: device_count returns 0 and a message that gives the reason. The
// plugin can be loaded without any CUDA library: the runtime is linked in, and cuBLASLt is opened when a device is
// opened.
//
// After a fault of a kernel (an invalid address, for example) CUDA refuses all further work of this process on the GPU.
// The device is then marked as lost, each later call fails immediately with the code of the first fault, and freeing
// and closing remain safe. The plugin never resets a device, because other contexts and libraries of the process may
// use the same GPU.
//
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>

#include "caller.h"
#include "gemm.h"
#include "ops.h"
#include "plugin.h"

namespace xf::cuda {

int32_t fail(xf_error *err, int32_t status, const char *fmt, ...) {
    if (err == nullptr) return status;
    std::memset(err, 0, sizeof *err);
    err->status = status;
    va_list list;
    va_start(list, fmt);
    std::vsnprintf(err->message, sizeof err->message, fmt, list);
    va_end(list);
    return status;
}

namespace {

#define XF_TEXT_OF(x) #x
#define XF_TEXT(x) XF_TEXT_OF(x)
#ifdef __CUDACC__
#define XF_CUDA_VERSION "CUDA " XF_TEXT(__CUDACC_VER_MAJOR__) "." XF_TEXT(__CUDACC_VER_MINOR__)
#else
#define XF_CUDA_VERSION "CUDA emulated on the host"
#endif

constexpr int kMostNames = 32;

// Enables dependent launches for the kernels of a decoding step (dependent.cuh). Off until a measurement on a GPU shows
// that they are faster and that recorded graphs keep them; tests/gpu.sh measures a plugin built with 1. The emulation
// always uses them and checks their rules.
#ifndef XF_CUDA_DEPENDENT_LAUNCH
#ifdef __CUDACC__
#define XF_CUDA_DEPENDENT_LAUNCH 0
#else
#define XF_CUDA_DEPENDENT_LAUNCH 1
#endif
#endif

// Faults after which CUDA refuses all work of the process. They are listed by number, because older toolkits lack some
// names: uncorrectable memory and link errors, a fault contained to this process, invalid addresses, a launch timeout,
// a destroyed context, a failed assertion, faults of stack, instruction, alignment, address space, program counter, and
// launch, leaked tensor memory, and a terminated MPS server.
constexpr int kSticky[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810};

bool sticky(cudaError_t code) {
    for (const int known : kSticky)
        if (static_cast<int>(code) == known) return true;
    return false;
}

int32_t backend_error(xf_error *err, cudaError_t code, const char *fmt, const char *what) {
    fail(err, XF_ERROR_BACKEND, fmt, what, cudaGetErrorString(code), cudaGetErrorName(code));
    if (err != nullptr) err->native_code = static_cast<int32_t>(code);
    return XF_ERROR_BACKEND;
}

}  // namespace

int32_t check(xf_device *device, cudaError_t code, const char *what, xf_error *err) {
    if (code == cudaSuccess) return XF_OK;
    cudaGetLastError();  // clears the error, which launch() would otherwise report
    if (code == cudaErrorMemoryAllocation) {
        fail(err, XF_ERROR_NO_MEMORY, "%s: out of GPU memory", what);
        if (err != nullptr) err->native_code = static_cast<int32_t>(code);
        return XF_ERROR_NO_MEMORY;
    }
    int32_t none = 0;
    if (sticky(code)) device->lost.compare_exchange_strong(none, static_cast<int32_t>(code), std::memory_order_relaxed);
    return backend_error(err, code, "%s: %s (%s)", what);
}

int32_t enter_device(xf_device *device, xf_error *err) {
    const auto lost = static_cast<cudaError_t>(device->lost.load(std::memory_order_relaxed));
    if (lost != cudaSuccess)
        return backend_error(err, lost, "%s had a fault; restart the process to use it again: %s (%s)", "the GPU");
    return check(device, cudaSetDevice(device->index), "selecting the GPU", err);
}

int32_t enter(const xf_stream *stream, xf_error *err) { return enter_device(stream->device, err); }

namespace {

int32_t device_count(xf_error *err) {
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess) cudaGetLastError();
    if (code == cudaErrorInsufficientDriver)
        fail(err, XF_ERROR_NOT_FOUND, "no NVIDIA driver was found, or it is too old for " XF_CUDA_VERSION);
    else if (code == cudaErrorNoDevice || (code == cudaSuccess && count <= 0))
        fail(err, XF_ERROR_NOT_FOUND, "the NVIDIA driver found no GPU");
    else if (code != cudaSuccess)
        backend_error(err, code, "%s: %s (%s)", "initializing the NVIDIA driver");
    else
        return count;
    return 0;
}

// Each name is read once and cached, because the caller keeps the pointer.
const char *device_name(int32_t index) {
    static std::mutex lock;
    static char names[kMostNames][256];
    if (index < 0 || index >= kMostNames) return "CUDA device";
    const std::lock_guard<std::mutex> guard(lock);
    if (names[index][0] == 0) {
        cudaDeviceProp properties{};
        if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
            cudaGetLastError();
            return "CUDA device";
        }
        std::snprintf(names[index], sizeof names[index], "%s", properties.name);
    }
    return names[index];
}

#ifdef __CUDACC__
__global__ void probe_kernel() {}

// Checks that the plugin contains code that this GPU can run or that the driver can compile for it.
int32_t check_code(xf_device *device, const cudaDeviceProp &properties, xf_error *err) {
    cudaFuncAttributes attributes;
    const cudaError_t code = cudaFuncGetAttributes(&attributes, probe_kernel);
    if (code != cudaErrorNoKernelImageForDevice) return check(device, code, "checking for code for the GPU", err);
    cudaGetLastError();
    return fail(err, XF_ERROR_UNSUPPORTED, "this build of the plugin has no code for %s (sm_%d)", properties.name,
                device->capability);
}
#else
int32_t check_code(xf_device *, const cudaDeviceProp &, xf_error *) { return XF_OK; }
#endif

int32_t open(xf_device *device, xf_error *err) {
    int count = 0;
    int32_t status = check(device, cudaGetDeviceCount(&count), "counting the GPUs", err);
    if (status != XF_OK) return status;
    if (device->index < 0 || device->index >= count)
        return fail(err, XF_ERROR_NOT_FOUND, "CUDA device %d does not exist; the number of devices is %d",
                    device->index, count);
    cudaDeviceProp properties{};
    status = enter_device(device, err);
    if (status == XF_OK)
        status = check(device, cudaGetDeviceProperties(&properties, device->index), "reading the properties of the GPU",
                       err);
    if (status != XF_OK) return status;
    device->multiprocessors = properties.multiProcessorCount;
    device->capability = 10 * properties.major + properties.minor;
    device->dependent_launch = XF_CUDA_DEPENDENT_LAUNCH != 0 && device->capability >= 90;
    device->shared_per_block = static_cast<int32_t>(properties.sharedMemPerBlockOptin);
    status = check_code(device, properties, err);
    if (status == XF_OK) status = gemm_open(device, &device->gemm, err);
    if (status != XF_OK) return status;
    std::snprintf(device->isa, sizeof device->isa, "sm_%d", device->capability);
    std::snprintf(device->info, sizeof device->info, "%.80s, sm_%d, %d SMs, %.0f GiB, " XF_CUDA_VERSION ", %s",
                  properties.name, device->capability, device->multiprocessors,
                  static_cast<double>(properties.totalGlobalMem) / (1024.0 * 1024.0 * 1024.0), gemm_version());
    return XF_OK;
}

int32_t device_open(const xf_host_v1 *host, int32_t index, xf_device **device, xf_error *err) {
    if (host->abi != XF_PLUGIN_ABI || host->size < sizeof(xf_host_v1))
        return fail(err, XF_ERROR_VERSION, "the host's table has plugin ABI %u, expected %u", host->abi, XF_PLUGIN_ABI);
    void *memory = host->alloc(host->user, sizeof(xf_device));
    if (memory == nullptr) return fail(err, XF_ERROR_NO_MEMORY, "out of memory for a CUDA device");
    auto *made = new (memory) xf_device{};
    made->host = host;
    made->index = index;
    made->process = getpid();
    const int32_t status = open(made, err);
    if (status == XF_OK)
        *device = made;
    else
        host->free(host->user, memory, sizeof(xf_device));
    return status;
}

void device_close(xf_device *device) {
    if (device == nullptr) return;
    if (owns(device)) cudaSetDevice(device->index);
    gemm_close(device, device->gemm);
    if (owns(device)) cudaGetLastError();
    device->host->free(device->host->user, device, sizeof *device);
}

const char *device_info(xf_device *device) { return device->info; }

const char *device_isa(xf_device *device) { return device->isa; }

// An operation of the table: makes the stream's device current, calls the operation, and keeps status and err
// consistent.
template <class A, int32_t (*kOperation)(xf_stream *, const A *, xf_error *)>
int32_t call(xf_stream *stream, const A *args, xf_error *err) {
    const ContextGuard caller;
    xf_error own{};
    int32_t status = enter(stream, &own);
    if (status == XF_OK) status = kOperation(stream, args, &own);
    if (status == XF_OK) return XF_OK;
    if (own.status != XF_OK) status = own.status;
    if (err != nullptr) *err = own;
    return settle(stream, status, &own);
}

#define XF_CALL(name, type) .name = call<type, name>,
// clang-format off
const xf_backend_v1 kBackend = {
    .size = sizeof(xf_backend_v1),
    .abi = XF_PLUGIN_ABI,
    .name = "cuda",
    .version = XF_PLUGIN_VERSION ", " XF_CUDA_VERSION,
    .kind = "cuda",
    .score = 200,
    .dtypes = 1u << XF_FP32 | 1u << XF_BF16,
    .weight_types = 1u << XF_WEIGHTS_NUM,
    .device_count = device_count,
    .device_name = device_name,
    .device_open = RestoringContext<device_open>::call,
    .device_close = RestoringContext<device_close>::call,
    .device_info = device_info,
    .device_isa = device_isa,
    .stream_create = RestoringContext<stream_create>::call,
    .stream_free = RestoringContext<stream_free>::call,
    .stream_sync = RestoringContext<stream_sync>::call,
    .mem_alloc = RestoringContext<mem_alloc>::call,
    .mem_free = RestoringContext<mem_free>::call,
    .mem_upload = RestoringContext<mem_upload>::call,
    .mem_download = RestoringContext<mem_download>::call,
    .mem_copy = RestoringContext<mem_copy>::call,
    .mem_zero = RestoringContext<mem_zero>::call,
    .graph_begin = RestoringContext<graph_begin>::call,
    .graph_end = RestoringContext<graph_end>::call,
    .graph_run = RestoringContext<graph_run>::call,
    .graph_free = RestoringContext<graph_free>::call,
    .stream_wait = RestoringContext<stream_wait>::call,
    .stream_lend = RestoringContext<stream_lend>::call,
    .stream_query = RestoringContext<stream_query>::call,
    XF_FOR_EACH_REQUIRED_OP(XF_CALL)
    XF_CALL(to_bf16, xf_to_bf16)
    XF_CALL(beam_step, xf_beam_step)
    XF_CALL(sum_losses, xf_sum_losses)
    XF_CALL(gate, xf_gate)
    XF_CALL(add, xf_add)
    XF_CALL(from_bf16, xf_from_bf16)
    XF_CALL(chunk_squares, xf_chunk_squares)
    XF_CALL(fingerprint, xf_fingerprint)
};
// clang-format on
#undef XF_CALL

}  // namespace
}  // namespace xf::cuda

extern "C" __attribute__((visibility("default"))) const xf_backend_v1 *xf_plugin_init(uint32_t host_abi,
                                                                                      xf_error *err) {
    if (host_abi != XF_PLUGIN_ABI) {
        xf::cuda::fail(
            err, XF_ERROR_VERSION,
            "the cuda plugin has plugin ABI %u, expected %u as in the library; install both from one release",
            XF_PLUGIN_ABI, host_abi);
        return nullptr;
    }
    return &xf::cuda::kBackend;
}
