// Events, captures and graphs. A graph is the list of the work that was captured; to launch it queues all of it.
//
// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

using namespace cuda_host;

struct CUevent_st {
    std::shared_ptr<Recorded> recorded;
};

struct CUgraph_st {
    Nodes nodes;
};
struct CUgraphExec_st {
    Nodes nodes;
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int) {
    const auto held = lock();
    *event = nullptr;
    XF_CUDA_HOST_USABLE();
    *event = new CUevent_st{};
    ++controls.live_events;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
    const auto held = lock();
    XF_CUDA_HOST_USABLE();
    CUstream_st *stream = resolve(handle);
    if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
    if (capturing(handle)) return failed(invalidate_capture(handle));  // forks of a capture are not emulated
    auto recorded = std::make_shared<Recorded>(Recorded{stream, false});
    const cudaError_t code = push(handle, make_work(make_task([recorded] { recorded->done = true; })));
    if (code == cudaSuccess) event->recorded = std::move(recorded);
    return failed(code);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    const auto held = lock();
    delete event;
    --controls.live_events;
    return failed(usable());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int) {
    const auto held = lock();
    XF_CUDA_HOST_USABLE();
    CUstream_st *stream = resolve(handle);
    if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
    if (capturing(handle)) {
        stream->capture = cudaStreamCaptureStatusInvalidated;
        return failed(cudaErrorStreamCaptureIsolation);
    }
    if (event->recorded == nullptr) return cudaSuccess;
    const auto recorded = event->recorded;
    return failed(push(handle, make_work(make_task([recorded] { finish(*recorded); }))));
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
    const auto held = lock();
    XF_CUDA_HOST_USABLE();
    CUstream_st *stream = resolve(handle);
    if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
    if (handle == nullptr) return failed(cudaErrorStreamCaptureUnsupported);
    if (stream->capture != cudaStreamCaptureStatusNone) return failed(cudaErrorIllegalState);
    stream->capture = cudaStreamCaptureStatusActive;
    stream->owner = pthread_self();
    stream->nodes = std::make_shared<std::vector<Work>>();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph) {
    const auto held = lock();
    *graph = nullptr;
    CUstream_st *stream = resolve(handle);
    if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
    const cudaStreamCaptureStatus was = stream->capture;
    if (was == cudaStreamCaptureStatusNone) return failed(cudaErrorIllegalState);
    if (!pthread_equal(stream->owner, pthread_self())) {
        stream->capture = cudaStreamCaptureStatusInvalidated;
        return failed(cudaErrorStreamCaptureWrongThread);
    }
    const Nodes nodes = std::move(stream->nodes);
    stream->capture = cudaStreamCaptureStatusNone;
    XF_CUDA_HOST_USABLE();
    if (was == cudaStreamCaptureStatusInvalidated) return failed(cudaErrorStreamCaptureInvalidated);
    *graph = new CUgraph_st{nodes};
    ++controls.live_graphs;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus *status) {
    const auto held = lock();
    XF_CUDA_HOST_USABLE();
    CUstream_st *stream = resolve(handle);
    if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
    *status = stream->capture;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long) {
    const auto held = lock();
    *exec = nullptr;
    XF_CUDA_HOST_USABLE();
    *exec = new CUgraphExec_st{graph->nodes};
    ++controls.live_graphs;
    ++controls.graphs_made;
    return cudaSuccess;
}

// How many there are is all that can be asked.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    const auto held = lock();
    XF_CUDA_HOST_USABLE();
    if (nodes != nullptr) return failed(cudaErrorNotSupported);
    *count = graph->nodes->size();
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    const auto held = lock();
    XF_CUDA_HOST_USABLE();
    if (stream != nullptr && stream->device != current_device()) return failed(cudaErrorInvalidResourceHandle);
    ++controls.graph_launches;
    for (const Work &work : *exec->nodes)
        if (const cudaError_t code = push(stream, work); code != cudaSuccess) return failed(code);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    const auto held = lock();
    delete exec;
    --controls.live_graphs;
    return failed(usable());
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    const auto held = lock();
    delete graph;
    --controls.live_graphs;
    return failed(usable());
}
