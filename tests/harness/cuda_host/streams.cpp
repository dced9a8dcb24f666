// Streams: queues of work that run when somebody waits for them.
//
// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include <algorithm>

#include "control.h"

namespace cuda_host {
namespace {

constexpr size_t kMostQueued = 1024;  // about what a GPU's driver takes before it makes the caller wait

CUstream_st default_stream;
std::vector<CUstream_st *> streams;

// Returns whether the next work belongs to another library and cannot continue yet.
bool stands(CUstream_st &stream) {
    const Work &next = stream.queue.front();
    return next.poll != nullptr && sticky == cudaSuccess && next.poll(next.arg) == 0;
}

void run_next(CUstream_st &stream) {
    const Work work = std::move(stream.queue.front());
    stream.queue.pop_front();
    if (sticky == cudaSuccess && work.poll == nullptr) run(work);
}

// Runs the stream's work until done() or nothing is left.
template <class Done>
void run_until(CUstream_st &stream, Done done) {
    unguard();
    while (!stream.queue.empty() && !done()) {
        if (!stands(stream)) {
            run_next(stream);
            continue;
        }
        guard();
        let_others();
        unguard();
    }
    guard();
}

void drain_stream(CUstream_st &stream) {
    run_until(stream, [] { return false; });
}

}  // namespace

CUstream_st *resolve(cudaStream_t stream) {
    if (stream == nullptr) return &default_stream;
    return std::find(streams.begin(), streams.end(), stream) != streams.end() ? stream : nullptr;
}

void finish(Recorded &recorded) {
    if (!recorded.done) run_until(*recorded.stream, [&] { return recorded.done; });
}

Work make_work(const Task &task, bool counted) {
    return {counted, false, {}, task.body, std::shared_ptr<void>(task.data, task.drop)};
}

void run(const Work &work) {
    if (work.counted) {
        ++controls.launches;
        if (controls.launch_fault_after > 0 && --controls.launch_fault_after == 0) {
            sticky = cudaErrorIllegalAddress;
            return;
        }
    }
    cudaError_t code = cudaSuccess;
    if (!work.kernel)
        work.body(work.data.get());
    else if (!run_grid(work.launch, work.data.get(), code))
        sticky = code;
}

void drain(cudaStream_t handle) {
    CUstream_st *stream = resolve(handle);
    if (stream != nullptr) drain_stream(*stream);
}

// Of the current device. Others may come and go while one is waited for.
void drain_all() {
    drain_stream(default_stream);
    const std::vector<CUstream_st *> all = streams;
    // In another order each time: streams are independent.
    const size_t count = all.size(), first = count != 0 ? static_cast<size_t>(controls.launches) % count : 0;
    for (size_t i = 0; i < count; ++i) {
        CUstream_st *const stream = all[(first + i) % count];
        if (resolve(stream) != nullptr && stream->device == current_device()) drain_stream(*stream);
    }
}

bool capturing(cudaStream_t handle) {
    const CUstream_st *stream = resolve(handle);
    return stream != nullptr && stream->capture != cudaStreamCaptureStatusNone;
}

cudaError_t invalidate_capture(cudaStream_t stream) {
    if (stream->capture == cudaStreamCaptureStatusInvalidated) return cudaErrorStreamCaptureInvalidated;
    stream->capture = cudaStreamCaptureStatusInvalidated;
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t refused_by_capture() {
    cudaError_t code = cudaSuccess;
    for (CUstream_st *stream : streams) {
        if (stream->capture == cudaStreamCaptureStatusActive && pthread_equal(stream->owner, pthread_self()))
            code = invalidate_capture(stream);
    }
    return code;
}

cudaError_t push(cudaStream_t handle, Work work) {
    CUstream_st *stream = resolve(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture == cudaStreamCaptureStatusInvalidated) return cudaErrorStreamCaptureInvalidated;
    if (stream->capture == cudaStreamCaptureStatusActive) {
        if (controls.capture_fail_after > 0 && --controls.capture_fail_after == 0) return invalidate_capture(stream);
        stream->nodes->push_back(std::move(work));
        return cudaSuccess;
    }
    if (stream->queue.size() >= kMostQueued) drain_stream(*stream);
    stream->queue.push_back(std::move(work));
    stream->asked = 0;
    return cudaSuccess;
}

// A kernel runs on the current device, and so must its stream.
bool elsewhere(cudaStream_t handle) {
    const CUstream_st *stream = resolve(handle);
    return handle != nullptr && stream != nullptr && stream->device != current_device();
}

cudaError_t enqueue(cudaStream_t stream, const Task &task) {
    const auto held = lock();
    Work work = make_work(task, true);
    if (const cudaError_t code = usable(); code != cudaSuccess) return failed(code);
    if (elsewhere(stream)) return failed(cudaErrorInvalidResourceHandle);
    return failed(push(stream, std::move(work)));
}

cudaError_t enqueue_external(cudaStream_t stream, int32_t (*poll)(void *arg), void *arg) {
    const auto held = lock();
    Work work{};
    work.poll = poll, work.arg = arg;
    if (const cudaError_t code = usable(); code != cudaSuccess) return failed(code);
    if (elsewhere(stream) || capturing(stream)) return failed(cudaErrorInvalidResourceHandle);
    return failed(push(stream, std::move(work)));
}

cudaError_t enqueue_kernel(cudaStream_t stream, const Launch &launch, const Task &task) {
    const auto held = lock();
    Work work = make_work(task, true);
    work.kernel = true;
    work.launch = launch;
    if (const cudaError_t code = usable(); code != cudaSuccess) return failed(code);
    if (elsewhere(stream)) return failed(cudaErrorInvalidResourceHandle);
    const dim3 &grid = launch.grid, &block = launch.block;
    const uint64_t threads = uint64_t{block.x} * block.y * block.z;
    if (grid.x == 0 || grid.x > 0x7FFFFFFFu || grid.y == 0 || grid.y > 65535 || grid.z == 0 || grid.z > 65535 ||
        threads == 0 || threads > 1024 || block.z > 64)
        return failed(cudaErrorInvalidConfiguration);
    if (launch.shared > static_cast<size_t>(controls.shared_per_block) || !shared_fits(launch.kernel, launch.shared))
        return failed(cudaErrorInvalidValue);
    return failed(push(stream, std::move(work)));
}

}  // namespace cuda_host

using namespace cuda_host;

extern "C" int32_t xf_cuda_host_external(void *stream, int32_t (*poll)(void *arg), void *arg) {
    return enqueue_external(static_cast<cudaStream_t>(stream), poll, arg);
}

// Every stream is one that does not wait for the default stream.
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int) {
    const auto held = lock();
    *stream = nullptr;
    XF_CUDA_HOST_USABLE();
    *stream = new CUstream_st{current_device()};
    streams.push_back(*stream);
    ++controls.live_streams;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    const auto held = lock();
    CUstream_st *stream = handle != nullptr ? resolve(handle) : nullptr;
    if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
    drain_stream(*stream);
    streams.erase(std::find(streams.begin(), streams.end(), stream));
    delete stream;
    --controls.live_streams;
    return failed(usable());
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    const auto held = lock();
    ++controls.waits;
    XF_CUDA_HOST_USABLE();
    CUstream_st *stream = resolve(handle);
    if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
    if (stream->capture != cudaStreamCaptureStatusNone) return failed(invalidate_capture(stream));
    drain_stream(*stream);
    return failed(usable());
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
    const auto held = lock();
    XF_CUDA_HOST_USABLE();
    CUstream_st *stream = resolve(handle);
    if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
    if (stream->capture != cudaStreamCaptureStatusNone) return failed(invalidate_capture(stream));
    // A single query reports the current state; repeated queries let the work continue.
    if (stream->asked++ > 0 && !stream->queue.empty()) {
        unguard();
        if (!stands(*stream)) run_next(*stream);
        guard();
    }
    return stream->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaDeviceSynchronize() {
    const auto held = lock();
    XF_CUDA_HOST_USABLE();
    cudaError_t code = cudaSuccess;
    for (CUstream_st *stream : streams)
        if (stream->capture == cudaStreamCaptureStatusActive) code = invalidate_capture(stream);
    if (code != cudaSuccess) return failed(code);
    drain_all();
    return failed(usable());
}
