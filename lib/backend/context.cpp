// SPDX-License-Identifier: Apache-2.0
#include "backend/context.h"

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "core/os/process.h"

namespace xf {
namespace {

// Launchers set the number of processes in the environment: Open MPI, PMI (MPICH, srun), Slurm.
bool is_started_with_others() {
    for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
        const std::optional<std::string> ranks = environment(name);
        if (ranks && std::strtol(ranks->c_str(), nullptr, 10) > 1) return true;
    }
    return false;
}

// Most machines have no GPU, so "auto" without CUDA is normal. Other fallbacks are slower than the host may expect.
int32_t level_of_fallback(const BackendEntry &entry) {
    if (entry.kind != "cuda") return XF_LOG_WARNING;
    if (entry.state == XF_BACKEND_ABSENT) return XF_LOG_DEBUG;
    try {
        if (entry.failure != nullptr) std::rethrow_exception(entry.failure);
    } catch (const Error &error) {
        if (error.status() == XF_ERROR_NOT_FOUND) return XF_LOG_INFO;  // no device, no driver
    }
    return XF_LOG_WARNING;
}

Context &context_of(void *user) { return *static_cast<Context *>(user); }

}  // namespace

Context::Context(const Options &options, const xf_host *host)
    : pid_(process_id()),
      services_(host != nullptr ? *host : xf_host{}),
      heap_({services_.alloc_user, services_.alloc, services_.free}, options.i64("context.memory_budget")),
      pool_(options.i64("context.threads"), {services_.parallel_user, services_.parallel}),
      isa_(options.text("context.isa")),
      dtype_(options.choice<uint32_t>("context.precision", {{"fp32", XF_FP32}, {"bf16", XF_BF16}})),
      registry_(options.str("context.backend_path"),
                options.choice<bool>("context.backend_search", {{"default", false}, {"given", true}})),
      comm_timeout_(options.f64("context.comm_timeout")) {
    host_.size = sizeof host_;
    host_.abi = XF_PLUGIN_ABI;
    host_.user = this;
    host_.parallel = [](void *user, int64_t tasks, void (*body)(void *, int64_t, int32_t), void *arg) {
        context_of(user).pool_.run(tasks, body, arg);
    };
    host_.workers = [](void *user) -> int32_t { return context_of(user).pool_.workers(); };
    host_.alloc = [](void *user, size_t bytes) { return context_of(user).heap_.alloc(bytes); };
    host_.free = [](void *user, void *ptr, size_t bytes) { context_of(user).heap_.free(ptr, bytes); };
    host_.account = [](void *user, int64_t bytes) -> int32_t { return context_of(user).heap_.account(bytes) ? 1 : 0; };
    host_.log = [](void *user, int32_t level, const char *component, const char *message) {
        context_of(user).log(level + 1, component, "%s", message);  // plugin_abi.h counts from 0, context.h from 1
    };
    host_.isa = isa_.c_str();
    open_comm(options);
    open_device(options.str("context.device"));
    if (options.text("context.comm") == "nccl") open_transport("nccl");
}

void Context::take_ownership() {
    communicator_->take_ownership();
    release_.function = services_.release;
    release_.user = services_.release_user;
}

void Context::open_comm(const Options &options) {
    enum class Source { kNone, kAuto, kMpi, kNccl };
    const Source source = options.choice<Source>(
        "context.comm",
        {{"none", Source::kNone}, {"auto", Source::kAuto}, {"mpi", Source::kMpi}, {"nccl", Source::kNccl}});
    if (services_.comm != nullptr) {
        XF_CHECK(source == Source::kNone || source == Source::kNccl, XF_ERROR_INVALID_ARGUMENT,
                 "context.comm is %s, but the host provides a comm; expected none or nccl",
                 options.text("context.comm").c_str());
        communicator_ = std::make_unique<Communicator>(*services_.comm, comm_timeout_);
        services_.comm = nullptr;  // the caller's memory
    } else if (source == Source::kMpi || (source != Source::kNone && is_started_with_others())) {
        const xf_comm_limits limits = {comm_timeout_, options.f64("context.comm_start_timeout"),
                                       options.f64("context.comm_work_timeout")};
        const xf_comm comm = registry_.open_comm("mpi", limits);
        try {
            communicator_ = std::make_unique<Communicator>(comm, comm_timeout_);
        } catch (...) {  // the other ranks have joined, so it must be closed
            comm.close(comm.user);
            throw;
        }
        communicator_->take_ownership();
    } else {
        xf_comm alone = XF_COMM_INIT;
        alone.size = 1;
        communicator_ = std::make_unique<Communicator>(alone, comm_timeout_);
        return;
    }
    log(XF_LOG_INFO, "context", "rank %d of %d", communicator_->rank(), communicator_->size());
}

// A single process needs no transport; it may use the same options as ranks.
void Context::open_transport(const std::string &name) {
    if (communicator_->size() == 1) return;
    const xf_transport_plugin *const plugin = registry_.open_transport(name);
    XF_CHECK(active_->kind == plugin->kind && device_->ops().stream_lend != nullptr, XF_ERROR_INVALID_ARGUMENT,
             "context.comm is %s, which transfers memory of %s devices, but the backend is %s; expected auto, mpi, or "
             "none with a comm of the host",
             name.c_str(), plugin->kind, active_->name.c_str());
    transport_ = plugin;
    log(XF_LOG_INFO, "context", "ranks exchange device memory by %s", plugin->version);
}

// Opens the device `index` of the entry, or any device if it is negative. Returns false, with the reason in the entry,
// if none is available. Throws errors for which another backend is not a substitute.
bool Context::open_on(BackendEntry *entry, int32_t index) {
    std::string reasons;
    const int32_t begin = std::max(index, 0), end = index < 0 ? entry->device_count : index + 1;
    for (int32_t i = begin; i < end; ++i) {
        try {
            XF_CHECK((entry->ops->dtypes & (1u << dtype_)) != 0, XF_ERROR_UNSUPPORTED,
                     "backend %s supports only fp32, but context.precision is bf16; use openblas or cuda",
                     entry->name.c_str());
            device_ = std::make_unique<Device>(*entry->ops, host_, heap_, i);
            entry->state = XF_BACKEND_ACTIVE;
            active_ = entry;
            device_name_ = entry->kind == "cpu" ? "cpu:" + entry->name : format("%s:%d", entry->kind.c_str(), i);
            device_isa_ = entry->ops->device_isa(device_->handle());
            description_ = format("%s on %s:%d, %s, %d thread%s, %s", entry->name.c_str(), entry->kind.c_str(), i,
                                  entry->ops->device_info(device_->handle()), pool_.workers(),
                                  pool_.workers() == 1 ? "" : "s", dtype_ == XF_BF16 ? "bf16" : "fp32");
            return true;
        } catch (const Error &error) {
            // Another backend does not have the requested instruction set, and a named device has no substitute.
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

// Opens the best available device that matches the name: a GPU may be full. Loads one plugin after another until a
// device opens. The log and xf_backend_get() report why a better backend was not used.
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
        const std::string reason = entry->reason.empty() ? format("devices: %d", entry->device_count) : entry->reason;
        log(level_of_fallback(*entry), "context", "%s is unavailable, using %s: %s", entry->name.c_str(),
            active_->name.c_str(), reason.c_str());
    }
    log(XF_LOG_INFO, "context", "%s", description_.c_str());
}

// Quantized and 16-bit matrices require device memory that the host can access.
bool Context::multiplies_with(const xf_backend_v1 &ops, uint32_t weights) const {
    return weights == XF_WEIGHTS_NUM ||
           (dtype_ == XF_FP32 && (ops.weight_types >> weights & 1u) != 0 && std::string_view(ops.kind) == "cpu");
}

uint32_t Context::weights_type(const std::string &requested, uint32_t own, const char *name) const {
    const char *const precision = dtype_ == XF_BF16 ? "bf16" : "fp32";
    const uint32_t type = weights_named(requested, own);
    if (multiplies_with(*active_->ops, type)) return type;
    XF_CHECK(requested == "same", XF_ERROR_UNSUPPORTED,
             "model.weights is %s, but %s in %s cannot multiply with %s matrices; use same or fp32", requested.c_str(),
             active_->name.c_str(), precision, weights_name(type));
    if (name != nullptr)
        log(XF_LOG_INFO, "model", "the %s matrices of %s were converted to fp32: %s in %s cannot multiply with them",
            weights_name(own), name, active_->name.c_str(), precision);
    return XF_WEIGHTS_NUM;
}

void Context::log(int32_t level, const char *component, const char *fmt, ...) const noexcept {
    if (!logs(level)) return;
    va_list args;
    va_start(args, fmt);
    std::string line;
    try {
        line = vformat(fmt, args);
    } catch (...) {  // short enough for the string object, so it needs no memory
        line = "(no memory)";
    }
    va_end(args);
    const xf_log_line entry{sizeof entry, level, 0, component, line.c_str()};
    services_.log(services_.log_user, &entry);
}

}  // namespace xf
