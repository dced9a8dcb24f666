// Proves the emulation of streams, captures, memory and faults: what is late on a GPU is late here, what fails there
// fails here.
//
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "device_buffer.hpp"

namespace {

void add(float *x, float value) { x[threadIdx.x] += value; }

cudaError_t launch_add(const Stream &stream, float *x, float value) {
    return cuda_host::launch(add, dim3(1), dim3(4), 0, stream.handle, x, value);
}

struct Pinned {
    float *ptr = nullptr;
    Pinned() { CHECK_EQ(cudaHostAlloc(&ptr, 16, cudaHostAllocDefault), cudaSuccess); }
    ~Pinned() { cudaFreeHost(ptr); }
};

XF_TEST(work_waits_for_a_synchronization) {
    const Stream stream;
    const Buffer<float> x(std::vector<float>(4, 1.0f));
    CHECK_EQ(launch_add(stream, x.ptr, 2), cudaSuccess);
    CHECK_EQ(x.ptr[0], 1.0f);
    CHECK_EQ(cudaStreamQuery(stream.handle), cudaErrorNotReady);
    CHECK_EQ(stream.sync(), cudaSuccess);
    CHECK_EQ(cudaStreamQuery(stream.handle), cudaSuccess);
    CHECK_EQ(x.ptr[0], 3.0f);
    CHECK_EQ(cudaMemsetAsync(x.ptr, 0, 16, stream.handle), cudaSuccess);
    CHECK_EQ(x.ptr[3], 3.0f);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ(x.ptr[3], 0.0f);
}

XF_TEST(copies_of_page_locked_memory_are_asynchronous) {
    const Stream stream;
    const Buffer<float> x(std::vector<float>(4, 1.0f));
    const Pinned host;
    std::fill(host.ptr, host.ptr + 4, 7.0f);
    CHECK_EQ(cudaMemcpyAsync(host.ptr, x.ptr, 16, cudaMemcpyDeviceToHost, stream.handle), cudaSuccess);
    CHECK_EQ(host.ptr[0], 7.0f);
    CHECK_EQ(stream.sync(), cudaSuccess);
    CHECK_EQ(host.ptr[0], 1.0f);
    // Read when the copy runs, not when it is queued.
    CHECK_EQ(cudaMemcpyAsync(x.ptr, host.ptr, 16, cudaMemcpyHostToDevice, stream.handle), cudaSuccess);
    host.ptr[2] = 9;
    CHECK_EQ(x.get(stream)[2], 9.0f);
}

XF_TEST(copies_of_pageable_memory_read_immediately) {
    const Stream stream;
    const Buffer<float> x(std::vector<float>(4, 1.0f));
    std::vector<float> host(4, 5.0f);
    CHECK_EQ(launch_add(stream, x.ptr, 1), cudaSuccess);
    CHECK_EQ(cudaMemcpyAsync(x.ptr, host.data(), 16, cudaMemcpyHostToDevice, stream.handle), cudaSuccess);
    host.assign(4, 6.0f);
    CHECK_EQ(x.ptr[1], 1.0f);
    CHECK_EQ(launch_add(stream, x.ptr, 1), cudaSuccess);
    CHECK_EQ(x.get(stream)[1], 6.0f);
    CHECK_EQ(cudaMemcpyAsync(host.data(), x.ptr, 20, cudaMemcpyDeviceToHost, stream.handle), cudaErrorInvalidValue);
    CHECK_EQ(cudaMemcpyAsync(host.data(), x.ptr, 16, cudaMemcpyHostToDevice, stream.handle), cudaErrorInvalidValue);
}

XF_TEST(events_order_streams) {
    const Stream one, two;
    const Buffer<float> x(std::vector<float>(4, 1.0f));
    cudaEvent_t event;
    CHECK_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    CHECK_EQ(launch_add(one, x.ptr, 2), cudaSuccess);
    CHECK_EQ(cudaEventRecord(event, one.handle), cudaSuccess);
    CHECK_EQ(launch_add(one, x.ptr, 100), cudaSuccess);
    CHECK_EQ(cudaStreamWaitEvent(two.handle, event), cudaSuccess);
    CHECK_EQ(x.get(two)[0], 3.0f);
    CHECK_EQ(x.get(one)[0], 103.0f);
    CHECK_EQ(cudaEventDestroy(event), cudaSuccess);
    CHECK_EQ(xf_cuda_host_get("live_events"), 0);
}

XF_TEST(a_forbidden_call_ends_the_capture) {
    const Stream stream;
    const Buffer<float> x(std::vector<float>(4, 1.0f));
    std::vector<float> host(4, 1.0f);
    cudaGraph_t graph;
    cudaEvent_t event;
    void *more;
    CHECK_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    const std::function<cudaError_t()> forbidden[] = {
        [&] { return stream.sync(); },
        [&] { return cudaMemcpyAsync(x.ptr, host.data(), 16, cudaMemcpyHostToDevice, stream.handle); },
        [&] { return cudaMemcpyAsync(host.data(), x.ptr, 16, cudaMemcpyDeviceToHost, stream.handle); },
        [&] { return cudaEventRecord(event, stream.handle); }, [&] { return cudaMalloc(&more, 16); }};
    const auto begin = [&] { return cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal); };
    CHECK_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorIllegalState);
    CHECK_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal), cudaErrorStreamCaptureUnsupported);
    for (const auto &call : forbidden) {
        CHECK_EQ(begin(), cudaSuccess);
        CHECK_EQ(begin(), cudaErrorIllegalState);
        CHECK_EQ(call(), cudaErrorStreamCaptureUnsupported);
        CHECK_EQ(launch_add(stream, x.ptr, 1), cudaErrorStreamCaptureInvalidated);
        CHECK_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);
        CHECK(graph == nullptr);
        CHECK_EQ(launch_add(stream, x.ptr, 1), cudaSuccess);
        CHECK_EQ(stream.sync(), cudaSuccess);
    }
    CHECK_EQ(cudaEventDestroy(event), cudaSuccess);
    CHECK_EQ(begin(), cudaSuccess);
    std::thread([&] {
        CHECK_EQ(cudaMalloc(&more, 16), cudaSuccess);
        CHECK_EQ(cudaFree(more), cudaSuccess);
        CHECK_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureWrongThread);
    }).join();
    CHECK_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK_EQ(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
}

XF_TEST(memory_is_limited_and_counted_and_filled_with_nan) {
    const Setting limit("memory_bytes", 1000);
    CHECK_EQ(xf_cuda_host_get("live_bytes"), 0);
    float *one, *two;
    CHECK_EQ(cudaMalloc(&one, 600), cudaSuccess);
    CHECK_EQ(reinterpret_cast<uintptr_t>(one) % 256, uintptr_t{0});
    CHECK(std::isnan(one[149]));
    CHECK_EQ(cudaMalloc(&two, 401), cudaErrorMemoryAllocation);
    CHECK(two == nullptr);
    CHECK_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    CHECK_EQ(cudaGetLastError(), cudaSuccess);
    CHECK_EQ(cudaMalloc(&two, 400), cudaSuccess);
    CHECK_EQ(xf_cuda_host_get("live_allocations"), 2);
    CHECK_EQ(cudaFree(one), cudaSuccess);
    CHECK_EQ(cudaFree(nullptr), cudaSuccess);
    CHECK_EQ(cudaFree(two + 1), cudaErrorInvalidValue);
    CHECK_EQ(cudaFree(two), cudaSuccess);
    CHECK_EQ(xf_cuda_host_get("live_bytes"), 0);
}

XF_TEST(guarded_memory_is_inaccessible_to_the_host) {
    const Setting guard("guard", 1);
    const Stream stream;
    const Buffer<float> x(std::vector<float>(4, 1.0f));
    CHECK_EQ(launch_add(stream, x.ptr, 2), cudaSuccess);
    CHECK_EQ(x.get(stream)[3], 3.0f);
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGSEGV, SIG_DFL);
        volatile float seen = x.ptr[0];
        _exit(seen == 3.0f ? 0 : 1);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

}  // namespace
