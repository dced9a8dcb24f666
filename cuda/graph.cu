// CUDA graphs: the operations between graph_begin and graph_end are captured and can be run again by one launch. A
// decoding step consists of several hundred small kernels, so launching them one by one would take longer than running
// them.
//
// A recording ends at the first call that fails or cannot be recorded (because it waits for the GPU or would have to
// allocate). The recorded operations are discarded, the stream remains usable, and graph_end returns that call's error.
// Capture is thread-local, so other threads may allocate and free on the GPU meanwhile. Begin and end must be called by
// the same thread, which must not call mem_alloc or mem_free between them.
//
// CUDA stores a graph's launches in GPU memory of unknown size; the context's account contains an estimate.
//
// SPDX-License-Identifier: Apache-2.0
#include <new>

#include "caller.h"
#include "plugin.h"

struct xf_graph {
    cudaGraphExec_t exec;
    size_t bytes;  // counted in the context's account
    xf_graph *next;
};

namespace xf::cuda {
namespace {

// Estimate: 600 kernels take slightly more than a megabyte.
constexpr size_t kGraphBytes = size_t{64} << 10, kNodeBytes = size_t{2} << 10;

// Ends the capture and discards what was recorded.
void abandon(xf_stream *stream) {
    if (!stream->recording) return;
    stream->recording = false;
    if (!owns(stream->device)) return;
    cudaGraph_t graph = nullptr;
    if (cudaStreamEndCapture(stream->stream, &graph) == cudaSuccess && graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
}

void destroy(xf_stream *stream, xf_graph *graph) {
    const xf_host_v1 *host = stream->device->host;
    if (owns(stream->device) && cudaGraphExecDestroy(graph->exec) != cudaSuccess) cudaGetLastError();
    give_back(stream->device, graph->bytes);
    host->free(host->user, graph, sizeof *graph);
}

}  // namespace

int32_t settle(xf_stream *stream, int32_t status, xf_error *err) {
    if (status == XF_OK || !stream->recording) return status;
    abandon(stream);
    if (err != nullptr) {
        stream->failed = *err;
        stream->failed.status = status;
    } else {
        fail(&stream->failed, status, "a call failed while it was being recorded");
    }
    return status;
}

int32_t enter_unrecorded(xf_stream *stream, const char *call, xf_error *err) {
    int32_t status = enter(stream, err);
    if (status == XF_OK && stream->recording)
        status = fail(err, XF_ERROR_STATE, "%s cannot be recorded; the recording was ended", call);
    return settle(stream, status, err);
}

int32_t graph_begin(xf_stream *stream, xf_error *err) {
    int32_t status = enter(stream, err);
    if (status == XF_OK && stream->recording)
        status = fail(err, XF_ERROR_STATE, "graph_begin was called during a recording; the recording was ended");
    if (status != XF_OK) return settle(stream, status, err);
    stream->failed = {};
    status = check(stream->device, cudaStreamBeginCapture(stream->stream, cudaStreamCaptureModeThreadLocal),
                   "starting a recording", err);
    stream->recording = status == XF_OK;
    return status;
}

int32_t graph_end(xf_stream *stream, xf_graph **graph, xf_error *err) {
    *graph = nullptr;
    if (stream->failed.status != XF_OK) {
        const int32_t status = stream->failed.status;
        if (err != nullptr) *err = stream->failed;
        stream->failed = {};
        return status;
    }
    if (!stream->recording) return fail(err, XF_ERROR_STATE, "graph_end was called without graph_begin");
    int32_t status = enter(stream, err);
    if (status != XF_OK) {
        abandon(stream);
        return status;
    }
    const xf_host_v1 *host = stream->device->host;
    void *memory = host->alloc(host->user, sizeof(xf_graph));
    if (memory == nullptr) {
        abandon(stream);
        return fail(err, XF_ERROR_NO_MEMORY, "out of memory for a graph");
    }
    auto *made = new (memory) xf_graph{};
    stream->recording = false;
    cudaGraph_t recorded = nullptr;
    status = check(stream->device, cudaStreamEndCapture(stream->stream, &recorded), "ending a recording", err);
    if (status == XF_OK) {
        size_t nodes = 0;
        status =
            check(stream->device, cudaGraphGetNodes(recorded, nullptr, &nodes), "counting the recorded calls", err);
        const size_t bytes = kGraphBytes + nodes * kNodeBytes;
        if (status == XF_OK) status = account(stream->device, bytes, err);
        if (status == XF_OK) {
            made->bytes = bytes;
            status =
                check(stream->device, cudaGraphInstantiate(&made->exec, recorded, 0), "instantiating a graph", err);
            if (status != XF_OK) give_back(stream->device, bytes);
        }
        cudaGraphDestroy(recorded);
    }
    if (status != XF_OK) {
        host->free(host->user, memory, sizeof(xf_graph));
        return status;
    }
    stream->recorded = true;
    made->next = stream->graphs;
    stream->graphs = made;
    *graph = made;
    return XF_OK;
}

int32_t graph_run(xf_stream *stream, xf_graph *graph, xf_error *err) {
    int32_t status = enter_unrecorded(stream, "graph_run", err);
    if (status == XF_OK) status = check(stream->device, cudaGraphLaunch(graph->exec, stream->stream), "a graph", err);
    return status;
}

void graph_free(xf_stream *stream, xf_graph *graph) {
    if (graph == nullptr) return;
    if (owns(stream->device)) cudaSetDevice(stream->device->index);
    for (xf_graph **at = &stream->graphs; *at != nullptr; at = &(*at)->next)
        if (*at == graph) {
            *at = graph->next;
            break;
        }
    destroy(stream, graph);
}

void graph_free_all(xf_stream *stream) {
    abandon(stream);
    while (xf_graph *graph = stream->graphs) {
        stream->graphs = graph->next;
        destroy(stream, graph);
    }
}

}  // namespace xf::cuda
