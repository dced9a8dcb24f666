// What an xf_context holds: the host's services, memory account, worker threads, backends and the opened device.
//
// Every other object holds a shared pointer to its context, so handles may be freed in any order.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "backend/device.h"
#include "backend/registry.h"
#include "comm/comm.h"
#include "core/call.h"
#include "core/heap.h"
#include "core/options.h"
#include "core/thread_pool.h"

namespace xf {

class Context {
public:
    // host: copied; null for none of its services.
    Context(const Options &options, const xf_host *host);
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    Heap &heap() { return heap_; }
    const Heap &heap() const { return heap_; }
    ThreadPool &pool() { return pool_; }
    Device &device() { return *device_; }
    // XF_FP32 or XF_BF16: what models of this context compute in.
    uint32_t dtype() const { return dtype_; }
    // What becomes of matrices that come as `own` when a model is loaded or copied into this context: XF_WEIGHTS_...
    // The second tells the host when they had to become fp32; `name` is the model's.
    uint32_t weights_type(uint32_t own) const;
    uint32_t weights_type(uint32_t own, const std::string &name) const;
    // Whether calls that repeat are recorded and replayed (CUDA graphs).
    bool graphs() const { return graphs_ && device_->records(); }
    Registry &registry() { return registry_; }
    const Registry &registry() const { return registry_; }
    // The ranks of which this is one; null: it is alone.
    Comm *comm() const { return comm_.get(); }
    // What moves memory of the device between them; null: the host does.
    const xf_lane_plugin *lane() const { return lane_; }
    double comm_timeout() const { return comm_timeout_; }
    int64_t comm_buckets() const { return comm_buckets_; }
    const std::string &description() const { return description_; }
    const BackendEntry &active() const { return *active_; }
    pid_t pid() const { return pid_; }

    // Whether anybody hears lines of a level: what is costly to say is not made up for nobody.
    bool logs(xf_log_level level) const { return services_.log != nullptr && level <= services_.log_level; }
    // What comes behind something that is done, a step or a file in its place, must not make it an error: a line for
    // which there is no memory says so.
    void log(xf_log_level level, const char *component, const char *fmt, ...) const noexcept
        __attribute__((format(printf, 4, 5)));

    // Cancels every call that runs; async-signal-safe.
    void cancel() noexcept { cancel_.cancel(); }
    // What a call that begins now is given; own: what alone may cancel it beside the context.
    Call call(const CancelSource *own = nullptr) const {
        return Call(cancel_, own, services_.progress, services_.progress_user);
    }

private:
    void open_comm(const std::string &name, double timeout);
    void open_device(const std::string &name);
    void open_lane(const std::string &name);
    bool open_on(BackendEntry *entry, int32_t index);
    bool multiplies_with(const xf_backend_v1 &ops, uint32_t weights) const;

    pid_t pid_;
    xf_host services_;
    Heap heap_;
    ThreadPool pool_;
    std::string isa_;
    uint32_t dtype_;
    bool weights_as_filed_;
    uint32_t weights_ = XF_WEIGHTS_NUM;  // unless as filed
    bool graphs_;
    CancelSource cancel_;
    Registry registry_;
    const BackendEntry *active_ = nullptr;
    xf_host_v1 host_{};
    std::unique_ptr<Device> device_;
    std::unique_ptr<Comm> comm_;
    double comm_timeout_;
    int64_t comm_buckets_;
    const xf_lane_plugin *lane_ = nullptr;
    std::string description_;
};

}  // namespace xf
