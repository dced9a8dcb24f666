/*
 * xformer/context.hpp - context.h and backend.h for C++: the root of everything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_CONTEXT_HPP
#define XFORMER_CONTEXT_HPP

#include <functional>
#include <memory>
#include <string_view>

#include "xformer/backend.h"
#include "xformer/base.hpp"
#include "xformer/config.hpp"
#include "xformer/context.h"
#include "xformer/range.hpp"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief Receives log lines: level, component, message. Called within calls, on their threads; of its context it may
 *  use cancel() alone.
 *
 *  It may throw. The call then runs to its end without further lines, and throws that in place of its own error or of
 *  its result, which is freed; what the call did (a step of training, say) is done. Where C made the call it is
 *  dropped. */
using LogFunction = std::function<void(xf_log_level, std::string_view, std::string_view)>;

/** @cond INTERNAL */
namespace detail {

// A log function, while it is the context's.
class Log {
public:
    Log(xf_context *context, LogFunction function, xf_log_level level)
        : context_(context), function_(std::move(function)) {
        call(xf_context_set_log, context, &Log::line, static_cast<void *>(this), level);
    }
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;
    ~Log() { xf_context_set_log(context_, nullptr, nullptr, XF_LOG_ERROR, nullptr); }

private:
    static void line(void *self, xf_log_level level, const char *component, const char *message) noexcept {
        Call::protect([=] { static_cast<Log *>(self)->function_(level, component, message); });
    }

    xf_context *context_;
    LogFunction function_;
};

struct BackendAt {
    const xf_context *context = nullptr;
    xf_backend_info operator()(std::size_t index) const {
        return fill(xf_backend_info XF_BACKEND_INFO_INIT, xf_backend_get, context, index);
    }
};

}  // namespace detail
/** @endcond */

/** @brief Device, threads, memory, log, cancel. What is made from it may outlive it. */
class Context : public Owner<View<xf_context>, xf_context, xf_context_free> {
public:
    using Owner::Owner;
    /** @brief Opens the device. @param config [in] options "context." @param allocator [in] the host's, or NULL */
    explicit Context(ConfigView config = {}, const xf_allocator *allocator = nullptr)
        : Context(detail::make<Context>(xf_context_create, config.get(), allocator)) {}
    /** @brief Takes another's handle and log function. @param other [in,out] empty afterwards */
    Context(Context &&other) noexcept = default;
    /** @brief Takes another's handle and log function. @param other [in,out] empty afterwards @return this */
    Context &operator=(Context &&other) noexcept {
        log_ = std::move(other.log_);  // first, because it silences the old context
        Owner::operator=(std::move(other));
        return *this;
    }
    ~Context() = default;
    /** @brief Gives the handle away, without the log function. @return the caller's to free */
    [[nodiscard]] xf_context *release() noexcept { return log_.reset(), Owner::release(); }

    /** @brief Sets who receives the log. The function ends with this object; what outlives it is silent. So neither set
     *  it nor destroy the context while another thread is in a call of an object made from it.
     *  @param function [in] empty: silence
     *  @param level [in] the least weighty level that is wanted */
    void set_log(LogFunction function, xf_log_level level = XF_LOG_WARNING) {
        log_.reset();
        if (function) log_ = std::make_unique<detail::Log>(get(), std::move(function), level);
    }
    /** @brief Asks the long call that runs on this context, or else the next one, to end in Cancelled. From any thread,
     *  or from a signal handler. */
    void cancel() const noexcept { xf_context_cancel(get()); }
    /** @brief Tells what computes. @return one line for people, owned by the context; "" when this is empty */
    std::string_view device() const noexcept {
        const char *const line = xf_context_device(get());
        return line != nullptr ? line : "";
    }
    /** @brief Reads the memory account. @return bytes of tensors */
    xf_memory_stats memory() const {
        return detail::fill(xf_memory_stats XF_MEMORY_STATS_INIT, xf_context_get_memory, get());
    }
    /** @brief Loads a plugin, to look it over. @param path [in] file name */
    void load_backend(CString path) { detail::call(xf_backend_load, get(), path.c_str()); }
    /** @brief The backends, available or not. @return xf_backend_info, of which the strings are owned by the context */
    Range<detail::BackendAt> backends() const { return {xf_backend_count(get()), {get()}}; }

private:
    std::unique_ptr<detail::Log> log_;
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_CONTEXT_HPP */
