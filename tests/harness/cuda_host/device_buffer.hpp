// Device memory for a test, and a stream: what is put in, what comes out.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "control.h"
#include "cuda_bf16.h"
#include "cuda_runtime.h"
#include "support/test.hpp"

// Sets a control for the length of a scope.
struct Setting {
    const char *name;
    int64_t before;
    Setting(const char *name_, int64_t value) : name(name_), before(xf_cuda_host_get(name_)) {
        xf_cuda_host_set(name, value);
    }
    ~Setting() { xf_cuda_host_set(name, before); }
};

// Faults of kernels are errors here, and forgotten at the end.
struct Faults {
    Setting report{"report_divergence", 1};
    ~Faults() { clear(); }
    static void clear() { xf_cuda_host_set("launch_fault_after", 0); }
};

struct Stream {
    cudaStream_t handle = nullptr;
    Stream() { CHECK_EQ(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), cudaSuccess); }
    ~Stream() { cudaStreamDestroy(handle); }
    cudaError_t sync() const { return cudaStreamSynchronize(handle); }
};

template <class T>
struct Buffer {
    T *ptr = nullptr;
    size_t count;
    explicit Buffer(size_t n) : count(n) { CHECK_EQ(cudaMalloc(&ptr, n * sizeof(T)), cudaSuccess); }
    explicit Buffer(const std::vector<T> &from) : Buffer(from.size()) {
        CHECK_EQ(cudaMemcpy(ptr, from.data(), count * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
    }
    ~Buffer() { cudaFree(ptr); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    std::vector<T> get(const Stream &stream) const {
        std::vector<T> to(count);
        CHECK_EQ(cudaMemcpyAsync(to.data(), ptr, count * sizeof(T), cudaMemcpyDeviceToHost, stream.handle),
                 cudaSuccess);
        return to;
    }
};
