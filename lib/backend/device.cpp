// SPDX-License-Identifier: Apache-2.0
#include "backend/device.h"

#include <cinttypes>
#include <cstring>

namespace xf {

Device::Device(const xf_backend_v1 &ops, const xf_host_v1 &host, const Heap &heap, int32_t index)
    : ops_(ops), host_(host), heap_(heap) {
    call(ops_.device_open, &host, index, &handle_);
}

// Bounds the plugin's message.
void Device::check(int32_t status, const xf_error &error) const {
    if (status == XF_OK) return;
    if (status == XF_ERROR_NO_MEMORY) {
        std::string budget = heap_.refusal();  // the plugin only knows that the allocation failed
        if (!budget.empty()) throw Error(XF_ERROR_NO_MEMORY, std::move(budget));
    }
    const size_t length = strnlen(error.message, sizeof error.message);
    throw Error(
        status < 0 ? status : XF_ERROR_BACKEND,
        length > 0 ? std::string(error.message, length) : format("backend %s: failed without a reason", ops_.name),
        error.native_code);
}

void Device::warn(const char *component, const std::string &message) const {
    if (host_.log != nullptr) host_.log(host_.user, 1, component, message.c_str());
}

void Device::check_usable() const {
    XF_CHECK(!abandoned_, XF_ERROR_BACKEND,
             "the device is blocked in an exchange with a rank that no longer exists; end this process");
}

Device::~Device() {
    if (!abandoned_) ops_.device_close(handle_);
}

bool Device::host_memory() const { return std::strcmp(ops_.kind, "cpu") == 0; }

Buffer::Buffer(Device &device, uint64_t bytes) : device_(&device), bytes_(bytes) {
    XF_CHECK(std::in_range<size_t>(bytes), XF_ERROR_NO_MEMORY, "no memory for %" PRIu64 " bytes", bytes);
    device.call(device.ops().mem_alloc, device.handle(), bytes_, &data_);
}

void Buffer::reserve(Device &device, uint64_t bytes) {
    if (bytes <= bytes_) return;
    reset();  // first, so that both never exist at the same time
    *this = Buffer(device, bytes);
}

void Buffer::reset() {
    if (data_ != nullptr && !device_->abandoned()) device_->ops().mem_free(device_->handle(), data_, bytes_);
    data_ = nullptr;
    bytes_ = 0;
}

Stream::Stream(Device &device, uint32_t dtype) : device_(device) {
    device_.call(device_.ops().stream_create, device_.handle(), dtype, &handle_);
}

Stream::~Stream() {
    if (!device_.abandoned()) device_.ops().stream_free(handle_);
}

void Stream::upload(void *dst, const void *src, size_t bytes) {
    device_.call(device_.ops().mem_upload, handle_, dst, src, bytes);
}

void Stream::download(void *dst, const void *src, size_t bytes) {
    device_.call(device_.ops().mem_download, handle_, dst, src, bytes);
}

void Stream::copy(void *dst, const void *src, size_t bytes) {
    device_.call(device_.ops().mem_copy, handle_, dst, src, bytes);
}

void Stream::zero(void *dst, size_t bytes) { device_.call(device_.ops().mem_zero, handle_, dst, bytes); }

void Stream::sync() { device_.call(device_.ops().stream_sync, handle_); }

void Stream::after(const Stream &other) { device_.call(device_.ops().stream_wait, handle_, other.handle_); }

bool Stream::is_done() {
    int32_t done = 0;
    device_.call(device_.ops().stream_query, handle_, &done);
    return done != 0;
}

Graph::Graph(Stream &stream) : stream_(stream) {
    stream.device().call(stream.device().ops().graph_begin, stream.handle());
}

void Graph::end() { stream_.device().call(stream_.device().ops().graph_end, stream_.handle(), &handle_); }

// The error of the calls is thrown; an error from ending the recording adds nothing.
void Graph::abandon() noexcept {
    xf_error error{};
    stream_.device().ops().graph_end(stream_.handle(), &handle_, &error);
}

void Graph::run() { stream_.device().call(stream_.device().ops().graph_run, stream_.handle(), handle_); }

Graph::~Graph() {
    if (handle_ != nullptr && !stream_.device().abandoned())
        stream_.device().ops().graph_free(stream_.handle(), handle_);
}

}  // namespace xf
