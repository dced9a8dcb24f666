// Proves the emulation of streams, captures, memory and faults: what is late on a GPU is late here, what fails there
// fails here.
//
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

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
    cudaEvent_t start, end;
    CHECK_EQ(cudaEventCreate(&start), cudaSuccess);
    CHECK_EQ(cudaEventCreate(&end), cudaSuccess);
    CHECK_EQ(cudaEventRecord(start, one.handle), cudaSuccess);
    CHECK_EQ(launch_add(one, x.ptr, 2), cudaSuccess);
    CHECK_EQ(cudaEventRecord(end, one.handle), cudaSuccess);
    CHECK_EQ(launch_add(one, x.ptr, 100), cudaSuccess);
    CHECK_EQ(cudaStreamWaitEvent(two.handle, end), cudaSuccess);
    CHECK_EQ(cudaEventQuery(end), cudaErrorNotReady);
    CHECK_EQ(x.get(two)[0], 3.0f);
    float milliseconds = -1;
    CHECK_EQ(cudaEventSynchronize(end), cudaSuccess);
    CHECK_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
    CHECK(milliseconds >= 0);
    CHECK_EQ(x.get(one)[0], 103.0f);
    CHECK_EQ(cudaEventDestroy(start), cudaSuccess);
    CHECK_EQ(cudaEventDestroy(end), cudaSuccess);
    CHECK_EQ(xf_cuda_host_get("live_events"), 0);
}

XF_TEST(a_graph_repeats_the_captured_calls) {
    const int64_t launches = xf_cuda_host_get("launches"), graph_launches = xf_cuda_host_get("graph_launches");
    const Stream stream;
    const Buffer<float> x(std::vector<float>(4, 1.0f)), y(4);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK_EQ(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    CHECK_EQ(launch_add(stream, x.ptr, 2), cudaSuccess);
    CHECK_EQ(cudaMemcpyAsync(y.ptr, x.ptr, 16, cudaMemcpyDeviceToDevice, stream.handle), cudaSuccess);
    CHECK_EQ(cudaMemsetAsync(x.ptr + 3, 0, 4, stream.handle), cudaSuccess);
    CHECK_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaSuccess);
    CHECK_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    CHECK_EQ(xf_cuda_host_get("live_graphs"), 2);
    CHECK_EQ(cudaGraphDestroy(graph), cudaSuccess);
    CHECK_EQ(x.get(stream)[0], 1.0f);
    for (int i = 0; i < 3; ++i) CHECK_EQ(cudaGraphLaunch(exec, stream.handle), cudaSuccess);
    CHECK_EQ(x.ptr[0], 1.0f);
    CHECK_EQ(y.get(stream)[0], 7.0f);
    CHECK_EQ(y.get(stream)[3], 2.0f);
    CHECK_EQ(x.get(stream)[3], 0.0f);
    CHECK_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    CHECK_EQ(xf_cuda_host_get("live_graphs"), 0);
    CHECK_EQ(xf_cuda_host_get("launches") - launches, 3);
    CHECK_EQ(xf_cuda_host_get("graph_launches") - graph_launches, 3);
}

XF_TEST(a_forbidden_call_ends_the_capture) {
    const Stream stream;
    const Buffer<float> x(std::vector<float>(4, 1.0f));
    cudaGraph_t graph;
    std::vector<float> host(4, 1.0f);
    const auto begin = [&](cudaStreamCaptureMode mode) {
        CHECK_EQ(cudaStreamBeginCapture(stream.handle, mode), cudaSuccess);
    };
    const auto is_lost = [&] {
        CHECK_EQ(launch_add(stream, x.ptr, 1), cudaErrorStreamCaptureInvalidated);
        CHECK_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);
        CHECK(graph == nullptr);
        CHECK_EQ(launch_add(stream, x.ptr, 1), cudaSuccess);
        CHECK_EQ(stream.sync(), cudaSuccess);
    };
    CHECK_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaErrorIllegalState);
    CHECK_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed), cudaErrorStreamCaptureUnsupported);
    begin(cudaStreamCaptureModeRelaxed);
    CHECK_EQ(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
    CHECK_EQ(stream.sync(), cudaErrorStreamCaptureUnsupported);
    is_lost();
    begin(cudaStreamCaptureModeRelaxed);
    CHECK_EQ(cudaMemcpyAsync(x.ptr, host.data(), 16, cudaMemcpyHostToDevice, stream.handle),
             cudaErrorStreamCaptureUnsupported);
    is_lost();
    begin(cudaStreamCaptureModeRelaxed);
    CHECK_EQ(cudaMemcpyAsync(host.data(), x.ptr, 16, cudaMemcpyDeviceToHost, stream.handle),
             cudaErrorStreamCaptureUnsupported);
    is_lost();
    begin(cudaStreamCaptureModeGlobal);
    void *more;
    CHECK_EQ(cudaMalloc(&more, 16), cudaErrorStreamCaptureUnsupported);
    is_lost();
    begin(cudaStreamCaptureModeRelaxed);
    CHECK_EQ(cudaMalloc(&more, 16), cudaSuccess);
    CHECK_EQ(cudaStreamEndCapture(stream.handle, &graph), cudaSuccess);
    CHECK_EQ(cudaGraphDestroy(graph), cudaSuccess);
    CHECK_EQ(cudaFree(more), cudaSuccess);
    begin(cudaStreamCaptureModeThreadLocal);
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
    size_t left, total;
    CHECK_EQ(cudaMemGetInfo(&left, &total), cudaSuccess);
    CHECK_EQ(left, size_t{0});
    CHECK_EQ(total, size_t{1000});
    CHECK_EQ(xf_cuda_host_get("live_allocations"), 2);
    CHECK_EQ(cudaFree(one), cudaSuccess);
    CHECK_EQ(cudaFree(nullptr), cudaSuccess);
    CHECK_EQ(cudaFree(two + 1), cudaErrorInvalidValue);
    CHECK_EQ(cudaFree(two), cudaSuccess);
    CHECK_EQ(xf_cuda_host_get("live_bytes"), 0);
    xf_cuda_host_set("malloc_fail_after", 2);
    CHECK_EQ(cudaMalloc(&one, 4), cudaSuccess);
    CHECK_EQ(cudaMalloc(&two, 4), cudaErrorMemoryAllocation);
    CHECK_EQ(cudaMalloc(&two, 4), cudaSuccess);
    CHECK_EQ(cudaFree(one), cudaSuccess);
    CHECK_EQ(cudaFree(two), cudaSuccess);
    CHECK_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    void *pinned;
    CHECK_EQ(cudaHostAlloc(&pinned, 4096, cudaHostAllocDefault), cudaSuccess);
    CHECK_EQ(xf_cuda_host_get("live_pinned"), 1);
    CHECK_EQ(cudaFreeHost(pinned), cudaSuccess);
    CHECK_EQ(xf_cuda_host_get("live_pinned"), 0);
}

XF_TEST(a_fault_is_permanent) {
    const Faults faults;
    const int64_t streams = xf_cuda_host_get("live_streams");
    {
        const Stream stream;
        const Buffer<float> x(std::vector<float>(4, 1.0f));
        xf_cuda_host_set("launch_fault_after", 2);
        for (int i = 0; i < 3; ++i) CHECK_EQ(launch_add(stream, x.ptr, 1), cudaSuccess);
        CHECK_EQ(stream.sync(), cudaErrorIllegalAddress);
        CHECK_EQ(x.ptr[0], 2.0f);
        void *more;
        CHECK_EQ(cudaMalloc(&more, 1), cudaErrorIllegalAddress);
        CHECK_EQ(launch_add(stream, x.ptr, 1), cudaErrorIllegalAddress);
        CHECK_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
        CHECK_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
        CHECK_EQ(xf_cuda_host_get("fault"), 700);
    }
    // Everything is freed.
    CHECK_EQ(xf_cuda_host_get("live_bytes"), 0);
    CHECK_EQ(xf_cuda_host_get("live_streams"), streams);
    Faults::clear();
    const Stream stream;
    CHECK_EQ(stream.sync(), cudaSuccess);
}

XF_TEST(devices_may_be_missing) {
    int count = -1, version = -1;
    {
        const Setting none("devices", 0);
        CHECK_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
        CHECK_EQ(count, 0);
        CHECK_EQ(cudaSetDevice(0), cudaErrorNoDevice);
    }
    {
        const Setting old("devices", -35);
        CHECK_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
        CHECK_EQ(cudaDriverGetVersion(&version), cudaSuccess);
        CHECK_EQ(version, 0);
    }
    CHECK_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    CHECK_EQ(count, 1);
    CHECK_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
    CHECK_EQ(cudaSetDevice(0), cudaSuccess);
    cudaDeviceProp properties;
    CHECK_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
    CHECK_EQ(properties.major * 10 + properties.minor, 90);
    CHECK_EQ(properties.multiProcessorCount, 132);
    CHECK_EQ(std::string(cudaGetErrorName(cudaErrorIllegalAddress)), "cudaErrorIllegalAddress");
    CHECK_EQ(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)), "out of memory");
    cudaGetLastError();
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

XF_TEST(host_threads_take_turns) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([] {
            const Stream stream;
            const Buffer<float> x(std::vector<float>(4, 0.0f));
            for (int i = 0; i < 3000; ++i) CHECK_EQ(launch_add(stream, x.ptr, 1), cudaSuccess);
            CHECK_EQ(x.get(stream)[2], 3000.0f);
        });
    for (std::thread &thread : threads) thread.join();
    CHECK_EQ(xf_cuda_host_get("live_bytes"), 0);
}

}  // namespace
