// C++ over the plugin table: an opened device, its memory, its streams. Errors become exceptions here.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "backend/number.h"
#include "core/error.h"
#include "core/heap.h"

namespace xf {

class Device {
public:
    // host and heap must outlive the device; heap is where the host table's memory comes from.
    Device(const xf_backend_v1 &ops, const xf_host_v1 &host, const Heap &heap, int32_t index);
    ~Device();
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;

    const xf_backend_v1 &ops() const { return ops_; }
    xf_device *handle() const { return handle_; }
    bool records() const { return ops_.graph_begin != nullptr; }
    // Whether its streams run beside each other and can wait for each other.
    bool waits() const { return ops_.stream_wait != nullptr; }
    // What the bits of its results depend on: "fma", "sm_90".
    const char *isa() const { return ops_.device_isa(handle_); }
    // Whether device memory is the host's own, so that files can be read straight into it.
    bool host_memory() const;
    // Gives the device up with work that never ends: nothing of it is waited for or freed any more, as that would wait.
    void abandon() { abandoned_ = true; }
    bool abandoned() const { return abandoned_; }
    void check_usable() const;
    // Throws when status is not XF_OK: what the plugin says, or the budget where that is the reason.
    void check(int32_t status, const xf_error &error) const;

private:
    const xf_backend_v1 &ops_;
    const Heap &heap_;
    xf_device *handle_ = nullptr;
    std::atomic<bool> abandoned_{false};
};

// Device memory that is freed with its owner.
class Buffer {
public:
    Buffer() = default;
    Buffer(Device &device, size_t bytes);
    ~Buffer() { reset(); }
    Buffer(Buffer &&other) noexcept { swap(other); }
    Buffer &operator=(Buffer &&other) noexcept {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }

    void *data() const { return data_; }
    size_t bytes() const { return bytes_; }
    float *floats() const { return static_cast<float *>(data_); }
    int32_t *ints() const { return static_cast<int32_t *>(data_); }

    // At least bytes, contents lost when it has to grow.
    void reserve(Device &device, size_t bytes);
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

// An order of operations with its scratch memory: one per trainer or decoder. Used by one thread at a time. dtype: the
// type of what its operations call xf_num.
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
    // Calls work(native) while the device is current: see stream_lend in plugin_abi.h. Throws what it returns.
    template <class Work>
    void lend(const Work &work) {
        device_.check_usable();
        xf_error error{};
        const auto call_work = [](void *arg, void *native, xf_error *err) -> int32_t {
            return (*static_cast<const Work *>(arg))(native, err);
        };
        void *const arg = const_cast<void *>(static_cast<const void *>(&work));
        device_.check(device_.ops().stream_lend(handle_, call_work, arg, &error), error);
    }
    // Whether all that was called is over. Never waits.
    bool is_done();
    // What is called from now on begins after all that was called on other so far. Only on a device that waits().
    void after(const Stream &other);

    // run(xf_top_k{...}): the operation whose arguments these are.
#define XF_RUN(name, type) \
    void run(const type &args) { call(&xf_backend_v1::name, args); }
    XF_FOR_EACH_OP(XF_RUN)
#undef XF_RUN

private:
    template <class Args>
    void call(int32_t (*xf_backend_v1::*op)(xf_stream *, const Args *, xf_error *), const Args &args) {
        device_.check_usable();
        xf_error error{};
        device_.check((device_.ops().*op)(handle_, &args, &error), error);
    }

    Device &device_;
    xf_stream *handle_ = nullptr;
};

// Operations of a stream, recorded to be run again with the same arguments on the same memory. Must not outlive the
// stream.
class Graph {
public:
    // Only on a device that records(). The same calls must have been made before, unrecorded.
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
