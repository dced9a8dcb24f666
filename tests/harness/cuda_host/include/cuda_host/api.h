// The part of the CUDA runtime API that a plugin uses, with the values and rules of the real one. device_memory.cpp,
// streams.cpp, graphs.cpp, and device.cpp define the functions.
//
// Streams are asynchronous: a kernel, memset, or copy runs when something waits for it (a synchronization, cudaFree(),
// or 1024 queued tasks), so a missing synchronization results in stale data.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// f(code, name without "cudaError", what cudaGetErrorString says)
// clang-format off
#define XF_CUDA_HOST_ERRORS(f)                                                                      \
    f(1, InvalidValue, "invalid argument")                                                          \
    f(2, MemoryAllocation, "out of memory")                                                         \
    f(9, InvalidConfiguration, "invalid configuration argument")                                    \
    f(35, InsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")       \
    f(100, NoDevice, "no CUDA-capable device is detected")                                          \
    f(101, InvalidDevice, "invalid device ordinal")                                                 \
    f(209, NoKernelImageForDevice, "no kernel image is available for execution on the device")      \
    f(400, InvalidResourceHandle, "invalid resource handle")                                        \
    f(401, IllegalState, "the operation cannot be performed in the present state")                  \
    f(600, NotReady, "device not ready")                                                            \
    f(700, IllegalAddress, "an illegal memory access was encountered")                              \
    f(716, MisalignedAddress, "misaligned address")                                                 \
    f(719, LaunchFailure, "unspecified launch failure")                                             \
    f(801, NotSupported, "operation not supported")                                                 \
    f(900, StreamCaptureUnsupported, "operation not permitted when stream is capturing")            \
    f(901, StreamCaptureInvalidated, "operation failed due to a previous error during capture")     \
    f(905, StreamCaptureIsolation, "dependency created on uncaptured work in another stream")       \
    f(908, StreamCaptureWrongThread, "attempt to terminate a thread-local capture from another thread")
// clang-format on

enum cudaError : int {
    cudaSuccess = 0,
#define XF_CUDA_HOST_ENUM(code, name, text) cudaError##name = code,
    XF_CUDA_HOST_ERRORS(XF_CUDA_HOST_ENUM)
#undef XF_CUDA_HOST_ENUM
};
using cudaError_t = cudaError;

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone = 0,
    cudaStreamCaptureStatusActive = 1,
    cudaStreamCaptureStatusInvalidated = 2
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
constexpr unsigned int cudaHostAllocDefault = 0, cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlockOptin;
    int multiProcessorCount, major, minor;
};

using cudaStream_t = struct CUstream_st *;
using cudaEvent_t = struct CUevent_st *;
using cudaGraph_t = struct CUgraph_st *;
using cudaGraphExec_t = struct CUgraphExec_st *;
using cudaGraphNode_t = struct CUgraphNode_st *;

// Of the driver: the context that is current for the calling thread, NULL at first. A GPU has one.
extern "C" int cuCtxGetCurrent(struct CUctx_st **context);
extern "C" int cuCtxSetCurrent(struct CUctx_st *context);

const char *cudaGetErrorName(cudaError_t code);
const char *cudaGetErrorString(cudaError_t code);
cudaError_t cudaGetLastError();

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value);
template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value) {
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}

cudaError_t cudaMalloc(void **ptr, size_t bytes);
template <class T>
cudaError_t cudaMalloc(T **ptr, size_t bytes) {
    return cudaMalloc(reinterpret_cast<void **>(ptr), bytes);
}
cudaError_t cudaFree(void *ptr);
cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned int flags);
template <class T>
cudaError_t cudaHostAlloc(T **ptr, size_t bytes, unsigned int flags) {
    return cudaHostAlloc(reinterpret_cast<void **>(ptr), bytes, flags);
}
cudaError_t cudaFreeHost(void *ptr);
cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void *dst, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream = nullptr);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventDestroy(cudaEvent_t event);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
