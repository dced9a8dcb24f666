// The functions that plugin.cu, memory.cu, and graph.cu share: the entries of the table that are not operations.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common.cuh"

namespace xf::cuda {

// Makes the device current for this thread. Fails if the device is lost.
int32_t enter_device(xf_device *device, xf_error *err);
// The same for a call that cannot be recorded: during a recording it ends the recording with XF_ERROR_STATE.
int32_t enter_unrecorded(xf_stream *stream, const char *call, xf_error *err);
// Returns status. If it is an error and the stream is recording, ends the recording; graph_end then reports the error.
int32_t settle(xf_stream *stream, int32_t status, xf_error *err);

// Counts device or page-locked memory, or an estimate of it, in the context's account. XF_ERROR_NO_MEMORY if the budget
// is exceeded.
int32_t account(xf_device *device, size_t bytes, xf_error *err);
void give_back(xf_device *device, size_t bytes);

int32_t stream_create(xf_device *device, uint32_t dtype, xf_stream **stream, xf_error *err);
void stream_free(xf_stream *stream);
int32_t stream_sync(xf_stream *stream, xf_error *err);
int32_t stream_wait(xf_stream *stream, xf_stream *other, xf_error *err);
int32_t stream_lend(xf_stream *stream, int32_t (*work)(void *arg, void *native, xf_error *err), void *arg,
                    xf_error *err);
int32_t stream_query(xf_stream *stream, int32_t *done, xf_error *err);

int32_t mem_alloc(xf_device *device, size_t bytes, void **ptr, xf_error *err);
void mem_free(xf_device *device, void *ptr, size_t bytes);
int32_t mem_upload(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err);
int32_t mem_download(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err);
int32_t mem_copy(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err);
int32_t mem_zero(xf_stream *stream, void *dst, size_t bytes, xf_error *err);

int32_t graph_begin(xf_stream *stream, xf_error *err);
int32_t graph_end(xf_stream *stream, xf_graph **graph, xf_error *err);
int32_t graph_run(xf_stream *stream, xf_graph *graph, xf_error *err);
void graph_free(xf_stream *stream, xf_graph *graph);
// Ends any recording and frees all graphs of the stream.
void graph_free_all(xf_stream *stream);

}  // namespace xf::cuda
