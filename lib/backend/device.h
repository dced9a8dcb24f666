// C++ classes over the plugin table: an open device, its memory, and its streams. Errors become exceptions.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "backend/number.h"
#include "core/error.h"
#include "core/heap.h"

namespace xf {

class Device {
public:
    // host and heap must outlive the device. heap provides the memory of the host table.
    Device(const xf_backend_v1 &ops, const xf_host_v1 &host, const Heap &heap, int32_t index);
    ~Device();
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;

    const xf_backend_v1 &ops() const { return ops_; }
    xf_device *handle() const { return handle_; }
    bool records() const { return ops_.graph_begin != nullptr; }
    // Returns whether streams run concurrently and can wait for each other.
    bool waits() const { return ops_.stream_wait != nullptr; }
    // The instruction set on which the bits of results depend: "fma", "sm_90".
    const char *isa() const { return ops_.device_isa(handle_); }
    // Returns whether device memory is host memory, so that files can be read directly into it.
    bool host_memory() const;
    // Abandons the device because its work will never end. Its resources are then not freed, because that would wait.
    void abandon() { abandoned_ = true; }
    bool abandoned() const { return abandoned_; }
    void check_usable() const;
    // Throws if status is not XF_OK, with the plugin's message, or with the budget's if that is the reason.
    void check(int32_t status, const xf_error &error) const;
    // Passes a warning to the host's log.
    void warn(const char *component, const std::string &message) const;
    // Calls a function of the table with these arguments and an xf_error. Throws the error that it returns.
    template <class... Params, class... Args>
    void call(int32_t (*function)(Params...), const Args &...args) const {
        check_usable();
        xf_error error{};
        check(function(args..., &error), error);
    }

private:
    const xf_backend_v1 &ops_;
    const xf_host_v1 &host_;
    const Heap &heap_;
    xf_device *handle_ = nullptr;
    std::atomic<bool> abandoned_{false};
};

// Device memory that is freed by the destructor.
class Buffer {
public:
    Buffer() = default;
    Buffer(Device &device, uint64_t bytes);  // 64 bits, as in heap.h
    ~Buffer() { reset(); }
    Buffer(Buffer &&other) noexcept { swap(other); }
    Buffer &operator=(Buffer &&other) noexcept {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }

    void *data() const { return data_; }
    size_t bytes() const { return bytes_; }
    template <class T>
    T *as() const {
        return static_cast<T *>(data_);
    }
    float *floats() const { return as<float>(); }

    // Provides at least `bytes`. The content is lost if the buffer grows.
    void reserve(Device &device, uint64_t bytes);
    void reset();

private:
    void swap(Buffer &other) noexcept {
        std::swap(device_, other.device_);
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
    }
    Device *device_ = nullptr;
    void *data_ = nullptr;
    size_t bytes_ = 0;
};

// A sequence of operations with its scratch memory, one per trainer or decoder. Used by one thread at a time. dtype is
// the type of xf_num in its operations.
class Stream {
public:
    explicit Stream(Device &device, uint32_t dtype = XF_FP32);
    ~Stream();
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    Device &device() const { return device_; }
    xf_stream *handle() const { return handle_; }

    void upload(void *dst, const void *src, size_t bytes);
    void download(void *dst, const void *src, size_t bytes);
    void copy(void *dst, const void *src, size_t bytes);
    void zero(void *dst, size_t bytes);
    void sync();
    // Calls work(native) while the device is current; see stream_lend in plugin_abi.h. Throws the error that it
    // returns.
    template <class Work>
    void lend(Work work) {
        const auto call_work = [](void *arg, void *native, xf_error *err) -> int32_t {
            return (*static_cast<Work *>(arg))(native, err);
        };
        device_.call(device_.ops().stream_lend, handle_, +call_work, &work);
    }
    // Returns whether all operations have completed. Never waits.
    bool is_done();
    // Later operations begin after all current operations of other have completed. Requires Device::waits().
    void after(const Stream &other);

    // run(xf_top_k{...}) runs the operation with these arguments.
#define XF_RUN(name, type) \
    void run(const type &args) { device_.call(device_.ops().name, handle_, &args); }
    XF_FOR_EACH_OP(XF_RUN)
#undef XF_RUN

private:
    Device &device_;
    xf_stream *handle_ = nullptr;
};

// A recorded sequence of operations that can be run again with the same arguments on the same memory. Must not outlive
// its stream.
class Graph {
public:
    // Requires Device::records(). The same calls must have been made before without recording.
    template <class Calls>
    static Graph record(Stream &stream, const Calls &calls) {
        Graph graph(stream);
        try {
            calls();
        } catch (...) {
            graph.abandon();
            throw;
        }
        graph.end();
        return graph;
    }
    ~Graph();
    Graph(Graph &&other) noexcept : stream_(other.stream_), handle_(std::exchange(other.handle_, nullptr)) {}
    Graph &operator=(Graph &&) = delete;

    void run();

private:
    explicit Graph(Stream &stream);
    void end();
    void abandon() noexcept;

    Stream &stream_;
    xf_graph *handle_ = nullptr;
};

}  // namespace xf
