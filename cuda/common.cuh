// Shared parts of the CUDA operations: device and stream, scratch memory, errors, kernel launches, and element types.
//
// Every .cu file here is compiled twice: by nvcc for the GPU, and by the host's C++ compiler against the emulation in
// tests/harness/cuda_host, where each thread of a block is a fiber. A kernel is therefore launched by launch(), gets
// its dynamic shared memory from dynamic_shared(), and uses PTX only inside the wrappers of mma.cuh and dependent.cuh.
//
// An operation returns a status and fills err. A fault of the device is sticky: the device is marked as lost, and every
// later call on it fails immediately with the code of the first fault.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define XF_NUM_UNTYPED
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/plugin_abi.h"
#include "core/philox.h"

namespace xf::cuda {

using bf16 = __nv_bfloat16;

struct GemmState;  // gemm.h

constexpr int kWarp = 32;

}  // namespace xf::cuda

struct xf_device {
    const xf_host_v1 *host;
    int32_t index;
    int32_t multiprocessors;
    int32_t capability;         // 10 * major + minor
    int32_t shared_per_block;   // bytes of shared memory that a block may use
    int32_t process;            // ID of the process that opened the device
    bool dependent_launch;      // dependent.cuh
    std::atomic<int32_t> lost;  // the CUDA code of the first sticky fault, 0 for none
    xf::cuda::GemmState *gemm;
    char info[192];
    char isa[16];
};

namespace xf::cuda {

// A block of device memory that only grows. Outgrown blocks are kept while recorded graphs may refer to them.
struct Scratch {
    void *ptr;
    size_t bytes;
    Scratch *outgrown;
};

}  // namespace xf::cuda

struct xf_stream {
    xf_device *device;
    cudaStream_t stream;
    cudaEvent_t reached;                   // recorded for streams that wait for this one; NULL until one does
    uint32_t dtype;                        // XF_FP32 or XF_BF16
    bool recording;                        // between graph_begin and graph_end
    bool recorded;                         // the stream has recorded at least one graph
    xf::cuda::Scratch scratch, workspace;  // for operations; for cuBLASLt
    void *pinned;                          // a small block of page-locked host memory for results
    char *upload;                          // page-locked staging buffer of uploads, NULL until the first; memory.cu
    size_t upload_used;                    // bytes of it that pending copies may still read
    xf_graph *graphs;                      // graphs that are not yet freed; graph.cu
    xf_error failed;                       // the error that ended the last recording early; status 0 if none
};

namespace xf::cuda {

constexpr size_t kPinnedBytes = 4096;

// Fills err (may be NULL) and returns status.
int32_t fail(xf_error *err, int32_t status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
// Converts a CUDA code to a status: XF_OK, XF_ERROR_NO_MEMORY for out of memory, or XF_ERROR_BACKEND with the code.
int32_t check(xf_device *device, cudaError_t code, const char *what, xf_error *err);
// Makes the stream's device current for this thread. Fails if the device is lost.
int32_t enter(const xf_stream *stream, xf_error *err);
// Returns at least `bytes` of the stream's scratch memory, 256-byte aligned; each operation may overwrite it. Returns
// NULL with err filled if memory runs out, or if the scratch would have to grow during a recording.
void *scratch(xf_stream *stream, size_t bytes, xf_error *err);
void *workspace(xf_stream *stream, size_t bytes, xf_error *err);

#ifdef __CUDACC__
template <class T>
__device__ inline T *dynamic_shared() {
    extern __shared__ __align__(128) unsigned char shared_memory[];
    return reinterpret_cast<T *>(shared_memory);
}
#else
template <class T>
inline T *dynamic_shared() {
    return static_cast<T *>(cuda_host::dynamic_shared());
}
#endif

// Shared memory that a kernel may use without opting in, static and dynamic together, and the part of it reserved for
// static arrays in kernels that use both kinds.
constexpr size_t kSharedUnasked = size_t{48} << 10, kSharedStatic = 1024;

// Launches kernel<<<grid, block, shared, stream>>>(args...), or a dependent launch (dependent.cuh). An empty grid
// launches nothing. A kernel that needs more dynamic shared memory than is available by default opts in here, always to
// nearly the maximum: the attribute applies to all threads of the process, so a smaller value set by one thread could
// break a larger launch of another.
template <class... P, class... A>
int32_t launch_as(bool dependent, xf_stream *stream, xf_error *err, const char *name, void (*kernel)(P...), dim3 grid,
                  dim3 block, size_t shared, A... args) {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return XF_OK;
    if (shared > kSharedUnasked - kSharedStatic) {
        const int needed = static_cast<int>(shared),
                  most = stream->device->shared_per_block - static_cast<int>(kSharedStatic);
        const cudaError_t code =
            cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 needed > most ? needed : most);
        if (code != cudaSuccess) return check(stream->device, code, name, err);
    }
#ifdef __CUDACC__
    if (dependent) {
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config{};
        config.gridDim = grid, config.blockDim = block;
        config.dynamicSmemBytes = shared, config.stream = stream->stream;
        config.attrs = &attribute, config.numAttrs = 1;
        return check(stream->device, cudaLaunchKernelEx(&config, kernel, static_cast<P>(args)...), name, err);
    }
    kernel<<<grid, block, shared, stream->stream>>>(static_cast<P>(args)...);
    return check(stream->device, cudaGetLastError(), name, err);
#else
    return check(
        stream->device,
        cuda_host::launch_as(dependent, name, kernel, grid, block, shared, stream->stream, static_cast<P>(args)...),
        name, err);
#endif
}
template <class... P, class... A>
int32_t launch(xf_stream *stream, xf_error *err, const char *name, void (*kernel)(P...), dim3 grid, dim3 block,
               size_t shared, A... args) {
    return launch_as(false, stream, err, name, kernel, grid, block, shared, args...);
}
// Launches a kernel that begins with begin_after_previous().
template <class... P, class... A>
int32_t launch_dependent(xf_stream *stream, xf_error *err, const char *name, void (*kernel)(P...), dim3 grid,
                         dim3 block, size_t shared, A... args) {
    return launch_as(stream->device->dependent_launch, stream, err, name, kernel, grid, block, shared, args...);
}

// Calls f(T()), where T (float or bf16) is the element type of the stream.
template <class F>
int32_t dispatch(const xf_stream *stream, F &&f) {
    return stream->dtype == XF_BF16 ? f(bf16()) : f(float());
}

template <class I>
constexpr I ceil_div(I a, I b) {
    return (a + b - 1) / b;
}

// ---------------------------------------------------------------------------------------------- device side

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(bf16 x) { return __bfloat162float(x); }
template <class T>
__device__ inline T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
    return x;
}
template <>
__device__ inline bf16 from_float<bf16>(float x) {
    return __float2bfloat16_rn(x);
}

// The sum over the warp's 32 lanes by a fixed tree; every lane receives it.
__device__ inline float warp_sum(float x) {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, offset);
    return x;
}
__device__ inline float warp_max(float x) {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFu, x, offset));
    return x;
}

// The dropout mask of one tensor (xf_dropout) as a kernel argument.
struct Dropout {
    uint64_t seed;
    const uint32_t *when;
    uint32_t site, threshold;  // threshold 0: off
    float scale;
};
inline Dropout make_dropout(const xf_dropout &d) {
    const uint32_t threshold = d.rate > 0.0f ? dropout_threshold(d.rate) : 0;
    return {d.seed, d.when, d.site, threshold, dropout_scale(threshold)};
}

// The mask factors (0 or scale) of the eight elements 8 * block .. 8 * block + 7.
struct Mask8 {
    float factor[8];
};
__device__ inline Mask8 dropout_mask8(const Dropout &d, uint64_t block) {
    const Philox r = philox(d.seed, static_cast<uint32_t>(block),
                            static_cast<uint32_t>(block >> 32) ^ (d.when[1] << 16), d.site, d.when[0]);
    Mask8 mask;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        mask.factor[2 * j] = (r.word[j] & 0xFFFFu) >= d.threshold ? d.scale : 0.0f;
        mask.factor[2 * j + 1] = (r.word[j] >> 16) >= d.threshold ? d.scale : 0.0f;
    }
    return mask;
}
}  // namespace xf::cuda
