// See context.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/context.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <exception>
#include <string_view>

namespace xf {
namespace {

uint32_t weights_named(const std::string &name) {
    for (const uint32_t type : {XF_WEIGHTS_BF16, XF_WEIGHTS_FP16, XF_WEIGHTS_INT8})
        if (name == weights_name(type)) return type;
    return XF_WEIGHTS_NUM;
}

// What started this process says in its environment that there are others: Open MPI, PMI (MPICH, srun), Slurm.
bool is_started_with_others() {
    for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
        const char *const ranks = secure_getenv(name);
        if (ranks != nullptr && strtol(ranks, nullptr, 10) > 1) return true;
    }
    return false;
}

}  // namespace

Context::Context(const Options &options, const xf_host *host)
    : pid_(getpid()),
      services_(host != nullptr ? *host : xf_host{}),
      heap_({services_.alloc_user, services_.alloc, services_.free}, options.i64("context.memory_budget")),
      pool_(static_cast<int>(options.i64("context.threads")), {services_.parallel_user, services_.parallel}),
      isa_(options.str("context.isa")),
      dtype_(options.str("context.precision") == "bf16" ? XF_BF16 : XF_FP32),
      weights_as_filed_(options.str("context.weights") == "file"),
      weights_(weights_named(options.str("context.weights"))),
      graphs_(options.boolean("context.graphs")),
      registry_(options.str("context.backend_path")),
      comm_timeout_(options.f64("context.comm_timeout")),
      comm_buckets_(options.i64("context.comm_buckets")) {
    XF_CHECK(dtype_ == XF_FP32 || weights_ == XF_WEIGHTS_NUM, XF_ERROR_UNSUPPORTED,
             "context.weights is %s with context.precision bf16, expected file or fp32, or context.precision fp32",
             weights_name(weights_));
    host_.size = sizeof host_;
    host_.abi = XF_PLUGIN_ABI;
    host_.user = this;
    host_.parallel = [](void *user, int64_t tasks, void (*body)(void *, int64_t, int32_t), void *arg) {
        static_cast<Context *>(user)->pool_.run(tasks, body, arg);
    };
    host_.workers = [](void *user) -> int32_t { return static_cast<Context *>(user)->pool_.workers(); };
    host_.alloc = [](void *user, size_t bytes) { return static_cast<Context *>(user)->heap_.alloc(bytes); };
    host_.free = [](void *user, void *ptr, size_t bytes) { static_cast<Context *>(user)->heap_.free(ptr, bytes); };
    host_.account = [](void *user, int64_t bytes) -> int32_t {
        return static_cast<Context *>(user)->heap_.account(bytes) ? 1 : 0;
    };
    host_.log = [](void *user, int32_t level, const char *component, const char *message) {
        static_cast<Context *>(user)->log(static_cast<xf_log_level>(level), component, "%s", message);
    };
    host_.isa = isa_.c_str();
    open_comm(options.str("context.comm"), comm_timeout_);
    open_device(options.str("context.device"));
    open_lane(options.str("context.comm_device"));
}

void Context::open_comm(const std::string &name, double timeout) {
    if (services_.comm != nullptr) {
        XF_CHECK(name == "none", XF_ERROR_INVALID_ARGUMENT, "context.comm is %s, but the host gives a comm itself",
                 name.c_str());
        comm_ = std::make_unique<Comm>(*services_.comm, timeout);
        services_.comm = nullptr;  // the caller's memory
    } else if (name == "mpi" || (name == "auto" && is_started_with_others())) {
        const xf_comm comm = registry_.open_comm("mpi", timeout);
        try {
            comm_ = std::make_unique<Comm>(comm, timeout);
        } catch (...) {  // the other ranks have this one: it is what the next attempt gets
            comm.close(comm.user);
            throw;
        }
        comm_->own();
    }
    if (comm_ != nullptr) log(XF_LOG_INFO, "context", "rank %d of %d", comm_->rank(), comm_->size());
}

// A rank that is alone needs none, so that the same options serve it.
void Context::open_lane(const std::string &name) {
    if (name == "host" || comm_ == nullptr || comm_->size() == 1) return;
    const xf_lane_plugin *const plugin = registry_.open_lane(name);
    XF_CHECK(active_->kind == plugin->kind && device_->ops().stream_lend != nullptr, XF_ERROR_INVALID_ARGUMENT,
             "context.comm_device is %s, which moves memory of %s devices, but %s computes, expected host",
             name.c_str(), plugin->kind, active_->name.c_str());
    lane_ = plugin;
    log(XF_LOG_INFO, "context", "ranks exchange device memory by %s", plugin->version);
}

// Opens one of the entry's devices: index, or any when it is negative. False, with the reason in the entry, when none
// can be had; throws what must not be passed over.
bool Context::open_on(BackendEntry *entry, int32_t index) {
    std::string reasons;
    const int32_t begin = std::max(index, 0), end = index < 0 ? entry->device_count : index + 1;
    for (int32_t i = begin; i < end; ++i) {
        try {
            XF_CHECK((entry->ops->dtypes & (1u << dtype_)) != 0, XF_ERROR_UNSUPPORTED,
                     "backend %s computes in fp32 alone, context.precision is bf16, which openblas and cuda have",
                     entry->name.c_str());
            XF_CHECK(multiplies_with(*entry->ops, weights_), XF_ERROR_UNSUPPORTED,
                     "backend %s does not multiply with matrices of %s, expected context.weights file or fp32",
                     entry->name.c_str(), weights_name(weights_));
            device_ = std::make_unique<Device>(*entry->ops, host_, heap_, i);
            entry->state = XF_BACKEND_ACTIVE;
            active_ = entry;
            description_ = format("%s on %s:%d, %s, %d thread%s, %s", entry->name.c_str(), entry->kind.c_str(), i,
                                  entry->ops->device_info(device_->handle()), pool_.workers(),
                                  pool_.workers() == 1 ? "" : "s", dtype_ == XF_BF16 ? "bf16" : "fp32");
            return true;
        } catch (const Error &error) {
            // Another backend would not give the instruction set that was asked for; and there is no other device.
            if ((error.status() == XF_ERROR_UNSUPPORTED && isa_ != "auto") || index >= 0) throw;
            if (reasons.empty()) entry->failure = std::current_exception();
            reasons += (reasons.empty() ? "" : "; ") + std::string(error.what());
        }
    }
    entry->device_count = 0;
    entry->state = XF_BACKEND_UNUSABLE;
    entry->reason = std::move(reasons);
    return false;
}

// The best device that the name may mean and that opens: a GPU may be full. Plugins are opened one after the other,
// until one serves. What was passed over is listed with its reason, and the host hears of it.
void Context::open_device(const std::string &name) {
    const Registry::Wanted wanted = registry_.want(name);
    std::vector<const BackendEntry *> passed;
    for (BackendEntry *entry : wanted.entries) {
        log(XF_LOG_DEBUG, "context", "device '%s': trying %s", name.c_str(), entry->name.c_str());
        if (registry_.open(entry, wanted.kind) && wanted.index < entry->device_count && open_on(entry, wanted.index))
            break;
        passed.push_back(entry);
    }
    if (device_ == nullptr) registry_.fail_unavailable(name, wanted);
    for (const BackendEntry *entry : passed) {
        // That a machine has no CUDA plugin is nothing to be warned of; that plain loops compute is.
        const bool expected = entry->state == XF_BACKEND_ABSENT && entry->kind == "cuda";
        const std::string why = entry->reason.empty() ? format("devices: %d", entry->device_count) : entry->reason;
        log(expected ? XF_LOG_DEBUG : XF_LOG_WARNING, "context", "%s computes and not %s: %s", active_->name.c_str(),
            entry->name.c_str(), why.c_str());
    }
    log(XF_LOG_INFO, "context", "%s", description_.c_str());
}

// Narrow matrices are read and made where the device's memory is the host's.
bool Context::multiplies_with(const xf_backend_v1 &ops, uint32_t weights) const {
    return weights == XF_WEIGHTS_NUM ||
           (dtype_ == XF_FP32 && (ops.weight_types >> weights & 1u) != 0 && std::string_view(ops.kind) == "cpu");
}

uint32_t Context::weights_type(uint32_t own) const {
    if (!weights_as_filed_) return weights_;
    return multiplies_with(*active_->ops, own) ? own : static_cast<uint32_t>(XF_WEIGHTS_NUM);
}

uint32_t Context::weights_type(uint32_t own, const std::string &name) const {
    const uint32_t type = weights_type(own);
    if (weights_as_filed_ && type != own)
        log(XF_LOG_INFO, "model", "the matrices of %s are %s and become fp32: %s in %s does not multiply with them",
            name.c_str(), weights_name(own), active_->name.c_str(), dtype_ == XF_BF16 ? "bf16" : "fp32");
    return type;
}

void Context::log(xf_log_level level, const char *component, const char *fmt, ...) const noexcept {
    if (!logs(level)) return;
    va_list args;
    va_start(args, fmt);
    std::string line;
    try {
        line = vformat(fmt, args);
    } catch (...) {  // short enough to be held in the string itself
        line = "(no memory)";
    }
    va_end(args);
    services_.log(services_.log_user, level, component, line.c_str());
}

}  // namespace xf
