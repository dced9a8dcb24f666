// Streams, events, and graphs. streams.cpp implements the queues, graphs.cpp events, captures, and graphs.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <deque>

#include "emulator.h"

using cuda_host::Work;

using Nodes = std::shared_ptr<std::vector<Work>>;
struct CUstream_st {
    int device = 0;
    std::deque<Work> queue{};
    int64_t asked = 0;  // cudaStreamQuery() since the last work came
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    pthread_t owner{};
    Nodes nodes{};
};

namespace cuda_host {

// The last record of an event. The queue shares it, so it can outlive the event.
struct Recorded {
    CUstream_st *stream;
    bool done = false;
};

CUstream_st *resolve(cudaStream_t stream);  // NULL: there is none
void finish(Recorded &recorded);            // runs what an event stands for

}  // namespace cuda_host

#define XF_CUDA_HOST_USABLE() \
    if (const cudaError_t code_ = cuda_host::usable(); code_ != cudaSuccess) return cuda_host::failed(code_)
