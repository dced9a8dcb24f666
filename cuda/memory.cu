// Streams and memory of the CUDA backend.
//
// All memory from CUDA, including page-locked host memory, is counted in the context's account before it is allocated
// and removed after it is freed.
//
// Uploads pass through a page-locked staging buffer of the stream: the caller's bytes are copied into it, and the GPU
// reads them when the stream reaches the copy. cudaMemcpyAsync directly from the caller's memory would not guarantee
// that the memory can be reused on return (it may be page-locked or readable by the GPU), and synchronizing the stream
// instead would block the caller until all earlier work is done, once per upload. The caller waits only if the staging
// buffer is full; each synchronization empties it. A download must wait for the stream in any case.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "caller.h"
#include "plugin.h"

namespace xf::cuda {
namespace {

constexpr size_t kUploadBytes = size_t{4} << 20;
constexpr size_t kUploadAlignment = 256;
constexpr size_t kSmallestStep = size_t{64} << 10;

int32_t take(xf_device *device, size_t bytes, bool page_locked, void **ptr, xf_error *err) {
    *ptr = nullptr;
    int32_t status = account(device, bytes, err);
    if (status != XF_OK) return status;
    const cudaError_t code = page_locked ? cudaHostAlloc(ptr, bytes, cudaHostAllocDefault) : cudaMalloc(ptr, bytes);
    status = check(device, code, page_locked ? "page-locked memory" : "GPU memory", err);
    if (status == XF_OK) return XF_OK;
    *ptr = nullptr;
    give_back(device, bytes);
    return status == XF_ERROR_NO_MEMORY ? fail(err, status, "%s does not have %zu bytes free",
                                               page_locked ? "page-locked memory" : "the GPU", bytes)
                                        : status;
}

// Also correct if the device is lost: CUDA then refuses the call, the driver has reclaimed the memory, and the account
// must still be updated. The same holds in a forked child, which has its own account.
void release(xf_device *device, void *ptr, size_t bytes, bool page_locked) {
    if (ptr == nullptr) return;
    if (owns(device) && (page_locked ? cudaFreeHost(ptr) : cudaFree(ptr)) != cudaSuccess) cudaGetLastError();
    give_back(device, bytes);
}

int32_t synchronize(xf_stream *stream, xf_error *err) {
    const int32_t status = check(stream->device, cudaStreamSynchronize(stream->stream), "waiting for the GPU", err);
    if (status == XF_OK) stream->upload_used = 0;
    return status;
}

// Rounds up in steps of at most an eighth of the size, so that slowly growing batches reallocate scratch only a few
// times.
size_t rounded(size_t bytes) {
    size_t step = kSmallestStep;
    while (step <= bytes / 16) step *= 2;
    return bytes > SIZE_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

void free_scratch(xf_device *device, Scratch *scratch) {
    const xf_host_v1 *host = device->host;
    release(device, scratch->ptr, scratch->bytes, false);
    while (Scratch *old = scratch->outgrown) {
        scratch->outgrown = old->outgrown;
        release(device, old->ptr, old->bytes, false);
        host->free(host->user, old, sizeof *old);
    }
    *scratch = {};
}

// Releases the block before a larger one is allocated. Pending work may use it, and so may every run of a recorded
// graph.
int32_t outgrow(xf_stream *stream, Scratch *scratch, xf_error *err) {
    if (scratch->ptr == nullptr) return XF_OK;
    const xf_host_v1 *host = stream->device->host;
    if (stream->recorded) {
        auto *old = static_cast<Scratch *>(host->alloc(host->user, sizeof(Scratch)));
        if (old == nullptr)
            return fail(err, XF_ERROR_NO_MEMORY, "out of memory for the record of a scratch block that graphs use");
        *old = *scratch;
        scratch->outgrown = old;
    } else {
        const int32_t status = synchronize(stream, err);
        if (status != XF_OK) return status;
        release(stream->device, scratch->ptr, scratch->bytes, false);
    }
    scratch->ptr = nullptr;
    scratch->bytes = 0;
    return XF_OK;
}

void *grown(xf_stream *stream, Scratch *scratch, size_t bytes, xf_error *err) {
    if (bytes <= scratch->bytes && scratch->ptr != nullptr) return scratch->ptr;
    if (stream->recording) {
        fail(err, XF_ERROR_STATE,
             "a recorded operation needs %zu bytes of scratch, more than the stream has; run the same calls once "
             "before recording",
             bytes);
        return nullptr;
    }
    if (outgrow(stream, scratch, err) != XF_OK) return nullptr;
    const size_t size = rounded(bytes == 0 ? 1 : bytes);
    if (take(stream->device, size, false, &scratch->ptr, err) == XF_OK) scratch->bytes = size;
    return scratch->ptr;
}

}  // namespace

int32_t account(xf_device *device, size_t bytes, xf_error *err) {
    const xf_host_v1 *host = device->host;
    if (bytes <= static_cast<size_t>(INT64_MAX) && host->account(host->user, static_cast<int64_t>(bytes)) > 0)
        return XF_OK;
    return fail(err, XF_ERROR_NO_MEMORY, "%zu bytes on GPU %d exceed the memory budget of the context", bytes,
                device->index);
}

void give_back(xf_device *device, size_t bytes) {
    device->host->account(device->host->user, -static_cast<int64_t>(bytes));
}

void *scratch(xf_stream *stream, size_t bytes, xf_error *err) {
    void *const ptr = grown(stream, &stream->scratch, bytes, err);
#ifndef __CUDACC__
    if (ptr != nullptr) cuda_host::forget(stream->stream, ptr, stream->scratch.bytes);
#endif
    return ptr;
}
void *workspace(xf_stream *stream, size_t bytes, xf_error *err) {
    return grown(stream, &stream->workspace, bytes, err);
}

int32_t stream_create(xf_device *device, uint32_t dtype, xf_stream **stream, xf_error *err) {
    if (dtype != XF_FP32 && dtype != XF_BF16)
        return fail(err, XF_ERROR_UNSUPPORTED, "number type %u, expected fp32 or bf16", dtype);
    int32_t status = enter_device(device, err);
    if (status != XF_OK) return status;
    const xf_host_v1 *host = device->host;
    void *memory = host->alloc(host->user, sizeof(xf_stream));
    if (memory == nullptr) return fail(err, XF_ERROR_NO_MEMORY, "out of memory for a stream");
    auto *made = new (memory) xf_stream{};
    made->device = device;
    made->dtype = dtype;
    status = take(device, kPinnedBytes, true, &made->pinned, err);
    if (status == XF_OK)
        status = check(device, cudaStreamCreateWithFlags(&made->stream, cudaStreamNonBlocking), "a stream", err);
    if (status != XF_OK) {
        release(device, made->pinned, kPinnedBytes, true);
        host->free(host->user, memory, sizeof(xf_stream));
        return status;
    }
    *stream = made;
    return XF_OK;
}

void stream_free(xf_stream *stream) {
    if (stream == nullptr) return;
    xf_device *device = stream->device;
    const bool own = owns(device);
    if (own) cudaSetDevice(device->index);  // errors here and below have no effect: the device is then lost
    graph_free_all(stream);
    if (own) cudaStreamSynchronize(stream->stream);
    free_scratch(device, &stream->scratch);
    free_scratch(device, &stream->workspace);
    release(device, stream->upload, kUploadBytes, true);
    release(device, stream->pinned, kPinnedBytes, true);
    if (own) {
        if (stream->reached != nullptr) cudaEventDestroy(stream->reached);
        cudaStreamDestroy(stream->stream);
        cudaGetLastError();
    }
    device->host->free(device->host->user, stream, sizeof *stream);
}

int32_t stream_sync(xf_stream *stream, xf_error *err) {
    const int32_t status = enter_unrecorded(stream, "stream_sync", err);
    return status == XF_OK ? synchronize(stream, err) : status;
}

int32_t stream_wait(xf_stream *stream, xf_stream *other, xf_error *err) {
    int32_t status = enter_unrecorded(stream, "stream_wait", err);
    if (status == XF_OK) status = enter_unrecorded(other, "stream_wait", err);
    xf_device *device = stream->device;
    if (status == XF_OK && other->reached == nullptr)
        status = check(device, cudaEventCreateWithFlags(&other->reached, cudaEventDisableTiming), "an event", err);
    if (status == XF_OK) status = check(device, cudaEventRecord(other->reached, other->stream), "an event", err);
    if (status == XF_OK)
        status = check(device, cudaStreamWaitEvent(stream->stream, other->reached, 0), "an event", err);
    return status;
}

int32_t stream_lend(xf_stream *stream, int32_t (*work)(void *arg, void *native, xf_error *err), void *arg,
                    xf_error *err) {
    const int32_t status = enter_unrecorded(stream, "stream_lend", err);
    return status == XF_OK ? work(arg, stream->stream, err) : status;
}

int32_t stream_query(xf_stream *stream, int32_t *done, xf_error *err) {
    const int32_t status = enter_unrecorded(stream, "stream_query", err);
    if (status != XF_OK) return status;
    const cudaError_t code = cudaStreamQuery(stream->stream);
    *done = code == cudaSuccess ? 1 : 0;
    if (code == cudaErrorNotReady) {
        cudaGetLastError();  // this is not an error
        return XF_OK;
    }
    return check(stream->device, code, "stream_query", err);
}

int32_t mem_alloc(xf_device *device, size_t bytes, void **ptr, xf_error *err) {
    int32_t status = enter_device(device, err);
    void *made = nullptr;
    if (status == XF_OK && bytes > 0) status = take(device, bytes, false, &made, err);
    if (status == XF_OK) *ptr = made;
    return status;
}

void mem_free(xf_device *device, void *ptr, size_t bytes) {
    if (ptr == nullptr) return;
    if (owns(device)) cudaSetDevice(device->index);
    release(device, ptr, bytes, false);
}

int32_t mem_upload(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err) {
    int32_t status = enter_unrecorded(stream, "mem_upload", err);
    if (status == XF_OK && bytes > 0 && stream->upload == nullptr) {
        void *made = nullptr;
        status = take(stream->device, kUploadBytes, true, &made, err);
        stream->upload = static_cast<char *>(made);
    }
    while (status == XF_OK && bytes > 0) {
        if (stream->upload_used == kUploadBytes) {
            if (cudaStreamQuery(stream->stream) == cudaSuccess) {  // all copies are done
                stream->upload_used = 0;
            } else {
                cudaGetLastError();
                status = synchronize(stream, err);
            }
            continue;
        }
        const size_t piece = std::min(bytes, kUploadBytes - stream->upload_used);
        char *const staged = stream->upload + stream->upload_used;
        std::memcpy(staged, src, piece);
        status = check(stream->device, cudaMemcpyAsync(dst, staged, piece, cudaMemcpyHostToDevice, stream->stream),
                       "a copy to the GPU", err);
        stream->upload_used =
            (stream->upload_used + piece + kUploadAlignment - 1) / kUploadAlignment * kUploadAlignment;
        dst = static_cast<char *>(dst) + piece;
        src = static_cast<const char *>(src) + piece;
        bytes -= piece;
    }
    return status;
}

int32_t mem_download(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err) {
    int32_t status = enter_unrecorded(stream, "mem_download", err);
    if (status != XF_OK || bytes == 0) return status;
    const bool small = bytes <= kPinnedBytes;  // otherwise the driver would stage the copy and wait separately
    status = check(stream->device,
                   cudaMemcpyAsync(small ? stream->pinned : dst, src, bytes, cudaMemcpyDeviceToHost, stream->stream),
                   "a copy from the GPU", err);
    if (status == XF_OK) status = synchronize(stream, err);
    if (status == XF_OK && small) std::memcpy(dst, stream->pinned, bytes);
    return status;
}

int32_t mem_copy(xf_stream *stream, void *dst, const void *src, size_t bytes, xf_error *err) {
    int32_t status = enter(stream, err);
    if (status == XF_OK && bytes > 0)
        status = check(stream->device, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream->stream),
                       "a copy on the GPU", err);
    return settle(stream, status, err);
}

int32_t mem_zero(xf_stream *stream, void *dst, size_t bytes, xf_error *err) {
    int32_t status = enter(stream, err);
    if (status == XF_OK && bytes > 0)
        status = check(stream->device, cudaMemsetAsync(dst, 0, bytes, stream->stream), "setting memory to zero", err);
    return settle(stream, status, err);
}

}  // namespace xf::cuda
