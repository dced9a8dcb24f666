// kernel<<<grid, block, shared, stream>>>(args...) of the emulation: the call becomes a task of the stream.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "cuda_host/api.h"
#include "cuda_host/vector_types.h"

namespace cuda_host {

// Work of a stream: body(data) runs in the stream's order, and again for each run of a graph; drop(data) frees it.
struct Task {
    void (*body)(void *data);
    void (*drop)(void *data);
    void *data;
};

struct Launch {
    dim3 grid, block;
    size_t shared;
    const char *name;        // may be NULL
    const void *kernel;      // its address, for reports
    void (*thread)(void *);  // one thread of the kernel
    bool dependent = false;  // its threads begin before what was launched earlier has ended, and must wait for that
};

// Both take the task in every case, also when they fail.
cudaError_t enqueue_kernel(cudaStream_t stream, const Launch &launch, const Task &task);
// A task that isn't cut into threads: what a library such as cuBLAS would do on the device.
cudaError_t enqueue(cudaStream_t stream, const Task &task);

// The content of this device memory is undefined from here on in the stream's order; only detected with races.h.
void forget(cudaStream_t stream, void *ptr, size_t bytes);

template <class Call>
Task make_task(Call call) {
    return {[](void *data) { (*static_cast<Call *>(data))(); }, [](void *data) { delete static_cast<Call *>(data); },
            new Call(call)};
}

template <class... P, class... A>
cudaError_t launch_as(bool dependent, const char *name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                      cudaStream_t stream, A... args) {
    const auto call = [kernel, values = std::tuple<P...>(static_cast<P>(args)...)] { std::apply(kernel, values); };
    const Task task = make_task(call);
    return enqueue_kernel(
        stream, {grid, block, shared, name, reinterpret_cast<const void *>(kernel), task.body, dependent}, task);
}
template <class... P, class... A>
cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream, A... args) {
    return launch_as(false, nullptr, kernel, grid, block, shared, stream, args...);
}

}  // namespace cuda_host
