// See context.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/context.h"

#include <unistd.h>

#include <algorithm>
#include <exception>

namespace xf {

Context::Context(const Options &options, const xf_allocator *allocator)
    : pid_(getpid()),
      heap_(allocator, options.i64("context.memory_budget")),
      pool_(static_cast<int>(options.i64("context.threads"))),
      isa_(options.str("context.isa")),
      dtype_(options.str("context.precision") == "bf16" ? XF_BF16 : XF_FP32),
      graphs_(options.boolean("context.graphs")) {
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
        try {
            static_cast<Context *>(user)->log(static_cast<xf_log_level>(level), component, message);
        } catch (...) {  // no exception may cross into a plugin; a log line is not worth a failure
        }
    };
    host_.isa = isa_.c_str();
    open_device(options.str("context.device"));
}

// The best device that the name may mean and that opens: a GPU may be full. What did not open is listed with its
// reason.
void Context::open_device(const std::string &name) {
    std::exception_ptr first;
    int32_t index = 0;
    for (BackendEntry *entry : registry_.select(name, &index)) {
        std::string reasons;
        const int32_t begin = std::max(index, 0), end = index < 0 ? entry->device_count : index + 1;
        for (int32_t i = begin; i < end; ++i) {
            try {
                XF_CHECK((entry->ops->dtypes & (1u << dtype_)) != 0, XF_ERROR_UNSUPPORTED,
                         "backend %s computes in fp32 alone, context.precision is bf16, which cuda has",
                         entry->name.c_str());
                device_ = std::make_unique<Device>(*entry->ops, host_, heap_, i);
                active_ = *entry;
                description_ = format("%s on %s:%d, %s, %d thread%s, %s", active_.name.c_str(), active_.kind.c_str(), i,
                                      active_.ops->device_info(device_->handle()), pool_.workers(),
                                      pool_.workers() == 1 ? "" : "s", dtype_ == XF_BF16 ? "bf16" : "fp32");
                return;
            } catch (const Error &error) {
                // Another backend would not give the instruction set that was asked for.
                if (error.status() == XF_ERROR_UNSUPPORTED && isa_ != "auto") throw;
                if (!first) first = std::current_exception();
                reasons += (reasons.empty() ? "" : "; ") + std::string(error.what());
            }
        }
        entry->device_count = 0;
        entry->reason = std::move(reasons);
    }
    std::rethrow_exception(first);
}

void Context::set_log(xf_log_fn fn, void *user, xf_log_level level) {
    const std::lock_guard<std::mutex> lock(log_mutex_);
    log_fn_ = fn;
    log_user_ = user;
    log_level_ = level;
}

void Context::log(xf_log_level level, const char *component, const std::string &message) const {
    xf_log_fn fn;
    void *user;
    {
        const std::lock_guard<std::mutex> lock(log_mutex_);
        if (log_fn_ == nullptr || level > log_level_) return;
        fn = log_fn_;
        user = log_user_;
    }
    fn(user, level, component, message.c_str());
}

}  // namespace xf
