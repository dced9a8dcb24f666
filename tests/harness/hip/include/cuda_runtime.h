// The part of <cuda_runtime.h> that cuda/ uses, for HIP: the names of CUDA for the functions of HIP.
//
// A warp of cuda/ has 32 lanes, so these kernels need a GPU with wavefronts of 32 (RDNA). Such a device reports compute
// capability 7.5 here: without the matrix and copy instructions of cuda/mma.cuh, and without dependent launches.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hip/hip_runtime.h>

#define __CUDACC__ 1
#ifdef __HIP_DEVICE_COMPILE__
#define __CUDA_ARCH__ 750
static_assert(__AMDGCN_WAVEFRONT_SIZE == 32, "a warp has 32 lanes");
#endif

#define cudaSuccess hipSuccess
#define cudaErrorInsufficientDriver hipErrorInsufficientDriver
#define cudaErrorMemoryAllocation hipErrorOutOfMemory
#define cudaErrorNoDevice hipErrorNoDevice
#define cudaErrorNoKernelImageForDevice hipErrorNoBinaryForGpu
#define cudaErrorNotReady hipErrorNotReady
#define cudaEventCreateWithFlags hipEventCreateWithFlags
#define cudaEventDestroy hipEventDestroy
#define cudaEventDisableTiming hipEventDisableTiming
#define cudaEventRecord hipEventRecord
#define cudaFree hipFree
#define cudaFreeHost hipHostFree
#define cudaFuncAttributeMaxDynamicSharedMemorySize hipFuncAttributeMaxDynamicSharedMemorySize
#define cudaFuncSetAttribute hipFuncSetAttribute
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetErrorName hipGetErrorName
#define cudaGetErrorString hipGetErrorString
#define cudaGetLastError hipGetLastError
#define cudaGraphDestroy hipGraphDestroy
#define cudaGraphExecDestroy hipGraphExecDestroy
#define cudaGraphGetNodes hipGraphGetNodes
#define cudaGraphLaunch hipGraphLaunch
#define cudaHostAlloc hipHostMalloc
#define cudaHostAllocDefault hipHostMallocDefault
#define cudaMalloc hipMalloc
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaMemcpyDeviceToDevice hipMemcpyDeviceToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemGetInfo hipMemGetInfo
#define cudaMemsetAsync hipMemsetAsync
#define cudaSetDevice hipSetDevice
#define cudaStreamBeginCapture hipStreamBeginCapture
#define cudaStreamCaptureModeThreadLocal hipStreamCaptureModeThreadLocal
#define cudaStreamCreateWithFlags hipStreamCreateWithFlags
#define cudaStreamDestroy hipStreamDestroy
#define cudaStreamEndCapture hipStreamEndCapture
#define cudaStreamNonBlocking hipStreamNonBlocking
#define cudaStreamQuery hipStreamQuery
#define cudaStreamSynchronize hipStreamSynchronize
#define cudaStreamWaitEvent hipStreamWaitEvent

using cudaError_t = hipError_t;
using cudaEvent_t = hipEvent_t;
using cudaFuncAttributes = hipFuncAttributes;
using cudaGraph_t = hipGraph_t;
using cudaGraphExec_t = hipGraphExec_t;
using cudaMemcpyKind = hipMemcpyKind;
using cudaStream_t = hipStream_t;

struct cudaDeviceProp : hipDeviceProp_t {
    size_t sharedMemPerBlockOptin;
};
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    const hipError_t code = hipGetDeviceProperties(properties, device);
    properties->major = 7, properties->minor = 5;
    properties->sharedMemPerBlockOptin = properties->sharedMemPerBlock;
    return code;
}
template <class... P>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, void (*kernel)(P...)) {
    return hipFuncGetAttributes(attributes, reinterpret_cast<const void *>(kernel));
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long) {
    return hipGraphInstantiate(out, graph, nullptr, nullptr, 0);
}

// HIP has no dependent launches; cuda/ asks for none if the compute capability is below 9.0.
enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization };
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        int programmaticStreamSerializationAllowed;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned int numAttrs;
};
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A... args) {
    kernel<<<config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream>>>(static_cast<P>(args)...);
    return hipGetLastError();
}

// HIP has no masks: all lanes that are running take part.
template <class T>
__device__ inline T __shfl_sync(unsigned int, T value, int lane) {
    return __shfl(value, lane, 32);
}
template <class T>
__device__ inline T __shfl_up_sync(unsigned int, T value, unsigned int delta) {
    return __shfl_up(value, delta, 32);
}
template <class T>
__device__ inline T __shfl_xor_sync(unsigned int, T value, int mask) {
    return __shfl_xor(value, mask, 32);
}
__device__ inline void __syncwarp(unsigned int = 0xFFFFFFFFu) {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
}
__device__ inline void __trap() { __builtin_trap(); }
__device__ inline size_t __cvta_generic_to_shared(const void *ptr) {
    return reinterpret_cast<size_t>((const __attribute__((address_space(3))) char *)ptr);
}
