// Inside the emulator: the state of the device that the controls set, the grid that runs, the streams' work.
//
// Everything here is under one lock (lock()), which each call of the runtime API and each control takes.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda_runtime.h"

namespace cuda_host {

// The controls of xf_cuda_host_set() and _get(), with the same names.
struct Controls {
    int64_t devices = 1;  // 0: none; -35: the driver is too old
    int64_t memory_bytes = int64_t{8} << 30;
#ifdef XF_CUDA_HOST_RACES
    int64_t multiprocessors = 2;  // so that blocks have several turns
#else
    int64_t multiprocessors = 132;
#endif
    int64_t capability = 90;
    int64_t shared_per_block = 232448;
    int64_t seed = 1;                // of the order of threads and blocks; 0: rising order
    int64_t report_divergence = 0;   // 1: a fault of a kernel is an error of the stream, not the end of the process
    int64_t guard = 0;               // device memory allocated while 1 can't be touched by host code
    int64_t malloc_fail_after = 0;   // the n-th next cudaMalloc fails
    int64_t capture_fail_after = 0;  // the n-th next call that is captured ends the capture
    int64_t launch_fault_after = 0;  // the n-th next kernel that runs leaves error 700; setting it clears the error
    int64_t last_malloc_device = -1;
    int64_t live_bytes = 0, live_allocations = 0, live_pinned = 0, live_streams = 0, live_graphs = 0, live_events = 0;
    int64_t launches = 0;  // kernels and library tasks that ran
    int64_t graphs_made = 0, graph_launches = 0;
    int64_t copies = 0;  // between the host and the device, and on the device; also those that set bytes
    int64_t waits = 0;   // for a stream
};
extern Controls controls;
extern cudaError_t sticky;      // cudaSuccess, or the fault that every call returns from now on
extern std::string last_fault;  // what the last fault of a kernel said

std::unique_lock<std::mutex> lock();
void let_others();  // releases the lock, which is held, for a moment

// device.cpp
cudaError_t failed(cudaError_t code);                // notes the code as this thread's last error, and returns it
int current_device();                                // of the calling thread
cudaError_t usable();                                // the sticky error, a missing device, or success
bool shared_fits(const void *kernel, size_t bytes);  // dynamic shared memory beside the kernel's static arrays

// grid.cpp. Runs all blocks; false after a fault, which is in last_fault, with its code in code.
bool run_grid(const Launch &launch, void *data, cudaError_t &code);

// Work of a stream; a graph's nodes are such too, and run many times.
struct Work {
    bool counted, kernel;
    Launch launch;  // of a kernel
    void (*body)(void *data);
    std::shared_ptr<void> data;
    int32_t (*poll)(void *arg) = nullptr;  // in place of all that: of xf_cuda_host_external()
    void *arg = nullptr;
};
Work make_work(const Task &task, bool counted = false);
void run(const Work &work);

// streams.cpp
cudaError_t push(cudaStream_t stream, Work work);  // queues, or adds to the capture
void drain(cudaStream_t stream);
void drain_all();
bool capturing(cudaStream_t stream);
// Returns the error of a call that is not allowed while this thread captures.
cudaError_t refused_by_capture();
cudaError_t invalidate_capture(cudaStream_t stream);

// device_memory.cpp
void unguard();
void guard();

}  // namespace cuda_host
