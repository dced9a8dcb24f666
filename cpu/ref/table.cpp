// The table of the reference backend: device, streams, memory, and the list of its operations.
//
// It always has one device, the host's CPU. Device memory is host memory, every operation is complete when its call
// returns, and a stream consists only of its scratch memory. There are no alternative instruction sets, so host->isa is
// ignored.
//
// SPDX-License-Identifier: Apache-2.0
#include "ref/ref.h"

#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include "ref/common.h"

namespace xf::ref {

int32_t report(xf_error *err, int32_t status, const char *message) {
    if (!err) return status;
    err->status = status;
    err->native_code = 0;
    std::snprintf(err->message, sizeof err->message, "%s", message);
    return status;
}

int32_t no_scratch(xf_error *err) {
    return report(err, XF_ERROR_NO_MEMORY, "out of memory for the scratch space of the reference backend");
}

double *scratch(xf_stream *stream, int64_t count) {
    if (count < 0 || static_cast<uint64_t>(count) > std::numeric_limits<size_t>::max() / sizeof(double)) return nullptr;
    const size_t bytes = std::max<size_t>(64, static_cast<size_t>(count) * sizeof(double));
    if (bytes <= stream->scratch_bytes) return stream->scratch;
    const xf_host_v1 *host = stream->device->host;
    void *grown = host->alloc(host->user, bytes);
    if (!grown) return nullptr;
    if (stream->scratch) host->free(host->user, stream->scratch, stream->scratch_bytes);
    stream->scratch = static_cast<double *>(grown);
    stream->scratch_bytes = bytes;
    return stream->scratch;
}

namespace {

int32_t device_count(xf_error *) { return 1; }
const char *device_name(int32_t) { return "this machine's CPU, plain loops"; }

int32_t device_open(const xf_host_v1 *host, int32_t index, xf_device **device, xf_error *err) {
    if (host->abi != XF_PLUGIN_ABI)
        return report(err, XF_ERROR_VERSION, "the library and the reference backend have different plugin ABIs");
    if (index != 0) return report(err, XF_ERROR_NOT_FOUND, "the reference backend has only device 0");
    void *memory = host->alloc(host->user, sizeof(xf_device));
    if (!memory) return report(err, XF_ERROR_NO_MEMORY, "out of memory for a device of the reference backend");
    *device = new (memory) xf_device{host};
    return XF_OK;
}

void device_close(xf_device *device) {
    if (device) device->host->free(device->host->user, device, sizeof(xf_device));
}

const char *device_info(xf_device *) { return "plain loops, sums in fp64"; }

const char *device_isa(xf_device *) { return "any"; }

int32_t stream_create(xf_device *device, uint32_t dtype, xf_stream **stream, xf_error *err) {
    if (dtype != XF_FP32) return report(err, XF_ERROR_UNSUPPORTED, "the reference backend supports only fp32");
    void *memory = device->host->alloc(device->host->user, sizeof(xf_stream));
    if (!memory) return report(err, XF_ERROR_NO_MEMORY, "out of memory for a stream of the reference backend");
    *stream = new (memory) xf_stream{device, nullptr, 0};
    return XF_OK;
}

void stream_free(xf_stream *stream) {
    if (!stream) return;
    const xf_host_v1 *host = stream->device->host;
    if (stream->scratch) host->free(host->user, stream->scratch, stream->scratch_bytes);
    host->free(host->user, stream, sizeof(xf_stream));
}

int32_t stream_sync(xf_stream *, xf_error *) { return XF_OK; }

int32_t mem_alloc(xf_device *device, size_t bytes, void **ptr, xf_error *err) {
    void *memory = bytes ? device->host->alloc(device->host->user, bytes) : nullptr;
    if (bytes && !memory) return report(err, XF_ERROR_NO_MEMORY, "out of memory for a tensor");
    *ptr = memory;
    return XF_OK;
}

void mem_free(xf_device *device, void *ptr, size_t bytes) {
    if (ptr) device->host->free(device->host->user, ptr, bytes);
}

int32_t move(xf_stream *, void *dst, const void *src, size_t bytes, xf_error *) {
    if (bytes) std::memmove(dst, src, bytes);
    return XF_OK;
}

int32_t mem_zero(xf_stream *, void *dst, size_t bytes, xf_error *) {
    if (bytes) std::memset(dst, 0, bytes);
    return XF_OK;
}

// The reference backend uses the dense order, so there is nothing to pack.
int32_t pack_int8(xf_stream *, const xf_pack_int8 *, xf_error *) { return XF_OK; }

int32_t unpack_int8(xf_stream *, const xf_unpack_int8 *a, xf_error *) {
    if (a->count * a->K > 0) std::memcpy(a->dst, a->weights + a->first * a->K, static_cast<size_t>(a->count * a->K));
    return XF_OK;
}

// clang-format off
const xf_backend_v1 kTable = {
    .size = sizeof(xf_backend_v1),
    .abi = XF_PLUGIN_ABI,
    .name = "ref",
    .version = "plain C++ loops",
    .kind = "cpu",
    .score = 1,
    .dtypes = 1u << XF_FP32,
    .weight_types = 1u << XF_WEIGHTS_NUM | 1u << XF_WEIGHTS_BF16 | 1u << XF_WEIGHTS_FP16 | 1u << XF_WEIGHTS_INT8,
    .device_count = device_count,
    .device_name = device_name,
    .device_open = device_open,
    .device_close = device_close,
    .device_info = device_info,
    .device_isa = device_isa,
    .stream_create = stream_create,
    .stream_free = stream_free,
    .stream_sync = stream_sync,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .mem_upload = move,
    .mem_download = move,
    .mem_copy = move,
    .mem_zero = mem_zero,
    XF_FOR_EACH_REQUIRED_OP(XF_OP_SET)
    .pack_int8 = pack_int8,
    .unpack_int8 = unpack_int8,
};
// clang-format on

}  // namespace
}  // namespace xf::ref

extern "C" const xf_backend_v1 *xf_ref_backend(void) { return &xf::ref::kTable; }
