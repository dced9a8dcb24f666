// The content of an xf_context: the host's services, memory account, worker threads, backends, and the open device.
//
// Every other object shares ownership of its context, so handles may be freed in any order.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backend/device.h"
#include "backend/registry.h"
#include "comm/communicator.h"
#include "core/call.h"
#include "core/heap.h"
#include "core/options.h"
#include "core/thread_pool.h"

namespace xf {

class Context {
public:
    // host is copied; null provides no services.
    Context(const Options &options, const xf_host *host);
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    // The destructor closes the communicator and calls the host's release function only after this call.
    void take_ownership();

    Heap &heap() { return heap_; }
    ThreadPool &pool() { return pool_; }
    Device &device() { return *device_; }
    // The type in which models of this context compute: XF_FP32 or XF_BF16.
    uint32_t dtype() const { return dtype_; }
    // The type of matrices in memory, XF_WEIGHTS_..., when a model whose matrices have the type `own` is loaded or
    // copied with this value of "model.weights". "same" becomes fp32 if the device cannot multiply with `own`, which is
    // logged under the name of the model if there is one. XF_ERROR_UNSUPPORTED if the device cannot multiply with
    // another type.
    uint32_t weights_type(const std::string &requested, uint32_t own, const char *name = nullptr) const;
    // Returns true if repeated calls are recorded once and replayed, with the same bits (CUDA graphs).
    bool graphs() const { return graphs_ && device_->records(); }
    // For tests that compare both. Call it before anything else uses the context.
    void disable_graphs() { graphs_ = false; }
    const Registry &registry() const { return registry_; }
    // Of this rank; a single process is the only one.
    Communicator &communicator() const { return *communicator_; }
    // Copies memory of the device between ranks. Null if the host copies it.
    const xf_transport_plugin *transport() const { return transport_; }
    double comm_timeout() const { return comm_timeout_; }
    const std::string &description() const { return description_; }
    // The device as "context.device" names it, and what its bits depend on: device_isa() of plugin_abi.h.
    const std::string &device_name() const { return device_name_; }
    const std::string &isa() const { return device_isa_; }
    const BackendEntry &active() const { return *active_; }
    int pid() const { return pid_; }

    // Returns whether lines of this level are logged, to avoid the cost of formatting others.
    bool logs(int32_t level) const { return services_.log != nullptr && level <= services_.log_level; }
    // Never throws, because logging may follow an operation that has succeeded, such as a step or a save. Without
    // memory for the line, logs "(no memory)".
    void log(int32_t level, const char *component, const char *fmt, ...) const noexcept
        __attribute__((format(printf, 4, 5)));

    // Cancels every running call. Async-signal-safe.
    void cancel() noexcept { cancel_.cancel(); }
    const CancelSource &cancel_source() const { return cancel_; }

private:
    void open_comm(const Options &options);
    void open_device(const std::string &name);
    void open_transport(const std::string &name);
    bool open_on(BackendEntry *entry, int32_t index);
    bool multiplies_with(const xf_backend_v1 &ops, uint32_t weights) const;

    struct Release {
        ~Release() {
            if (function != nullptr) function(user);
        }
        void (*function)(void *user) = nullptr;
        void *user = nullptr;
    };
    Release release_;  // the first member: destroyed last
    int pid_;
    xf_host services_;
    Heap heap_;
    ThreadPool pool_;
    std::string isa_;
    uint32_t dtype_;
    bool graphs_ = true;
    CancelSource cancel_;
    Registry registry_;
    const BackendEntry *active_ = nullptr;
    xf_host_v1 host_{};
    std::unique_ptr<Device> device_;
    std::unique_ptr<Communicator> communicator_;
    double comm_timeout_;
    const xf_transport_plugin *transport_ = nullptr;
    std::string description_, device_name_, device_isa_;
};

}  // namespace xf
