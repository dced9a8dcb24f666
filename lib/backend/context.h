// What an xf_context holds: memory account, worker threads, log, backends and the opened device; who can be cancelled.
//
// Every other object holds a shared pointer to its context, so handles may be freed in any order.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>

#include "backend/device.h"
#include "backend/registry.h"
#include "core/call.h"
#include "core/heap.h"
#include "core/options.h"
#include "core/thread_pool.h"

namespace xf {

class Context {
public:
    Context(const Options &options, const xf_allocator *allocator);
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    Heap &heap() { return heap_; }
    const Heap &heap() const { return heap_; }
    Device &device() { return *device_; }
    // XF_FP32 or XF_BF16: what models of this context compute in.
    uint32_t dtype() const { return dtype_; }
    // Whether calls that repeat are recorded and replayed (CUDA graphs).
    bool graphs() const { return graphs_ && device_->records(); }
    Registry &registry() { return registry_; }
    const Registry &registry() const { return registry_; }
    const std::string &description() const { return description_; }
    const BackendEntry &active() const { return active_; }
    pid_t pid() const { return pid_; }

    void set_log(xf_log_fn fn, void *user, xf_log_level level);
    void log(xf_log_level level, const char *component, const std::string &message) const;

    // Cancels every call that runs; async-signal-safe.
    void cancel() noexcept { cancel_.cancel(); }
    // What a call that begins now is given; own: what alone may cancel it beside the context.
    Call call(const CancelSource *own = nullptr) const { return Call(cancel_, own, nullptr, nullptr); }

private:
    void open_device(const std::string &name);

    pid_t pid_;
    Heap heap_;
    ThreadPool pool_;
    std::string isa_;
    uint32_t dtype_;
    bool graphs_;
    CancelSource cancel_;
    mutable std::mutex log_mutex_;
    xf_log_fn log_fn_ = nullptr;
    void *log_user_ = nullptr;
    xf_log_level log_level_ = XF_LOG_WARNING;
    Registry registry_;
    BackendEntry active_;
    xf_host_v1 host_{};
    std::unique_ptr<Device> device_;
    std::string description_;
};

}  // namespace xf
