/*
 * xformer/context.hpp - context.h and backend.h for C++: the root of everything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_CONTEXT_HPP
#define XFORMER_CONTEXT_HPP

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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

// Who hears the log of a context. The library is given a number and not a pointer: what was made from the context may
// outlive the function, and is silent then.
class Log {
public:
    Log() {
        const std::lock_guard<std::mutex> lock(book().mutex);
        number_ = ++book().last;
    }
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;
    ~Log() { set({}, XF_LOG_ERROR); }

    void set(LogFunction function, xf_log_level level) {
        std::shared_ptr<Target> target;
        if (function) target = std::make_shared<Target>(Target{std::move(function), level});
        const std::lock_guard<std::mutex> lock(book().mutex);
        if (target != nullptr)
            book().targets[number_] = std::move(target);
        else
            book().targets.erase(number_);
    }
    // The library's own filter is set when a context is made, this one at any time.
    void listen(xf_host *host) const {
        host->log = &Log::line;
        host->log_user = reinterpret_cast<void *>(number_);
        host->log_level = XF_LOG_DEBUG;
    }

private:
    struct Target {
        LogFunction function;
        xf_log_level level;
    };
    struct Book {
        std::mutex mutex;
        std::uintptr_t last = 0;
        std::map<std::uintptr_t, std::shared_ptr<Target>> targets;
    };
    static Book &book() {
        static Book *const one = new Book;  // never destroyed: a context may be, after it
        return *one;
    }
    static void line(void *number, xf_log_level level, const char *component, const char *message) noexcept {
        std::shared_ptr<Target> target;
        {
            const std::lock_guard<std::mutex> lock(book().mutex);
            const auto found = book().targets.find(reinterpret_cast<std::uintptr_t>(number));
            if (found != book().targets.end() && level <= found->second->level) target = found->second;
        }
        if (target != nullptr) Call::protect([=] { target->function(level, component, message); });
    }

    std::uintptr_t number_ = 0;
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
    /** @brief Opens the device. @param config [in] options "context."
     *  @param host [in] the host's services; with a log of its own set_log() is not to be had */
    explicit Context(ConfigView config = {}, xf_host host = XF_HOST_INIT)
        : Context(host.log == nullptr ? std::make_unique<detail::Log>() : nullptr, config, host) {}
    /** @brief Takes another's handle and log function. @param other [in,out] empty afterwards */
    Context(Context &&other) noexcept = default;
    /** @brief Takes another's handle and log function. @param other [in,out] empty afterwards @return this */
    Context &operator=(Context &&other) noexcept {
        log_ = std::move(other.log_);
        Owner::operator=(std::move(other));
        return *this;
    }
    ~Context() = default;
    /** @brief Gives the handle away, without the log function. @return the caller's to free */
    [[nodiscard]] xf_context *release() noexcept { return log_.reset(), Owner::release(); }

    /** @brief Sets who receives the log. The function ends with this object; what outlives it is silent. So neither set
     *  it nor destroy the context while another thread is in a call of an object made from it.
     *  @param function [in] empty: silence
     *  @param level [in] the least severe level to report */
    void set_log(LogFunction function, xf_log_level level = XF_LOG_WARNING) {
        if (log_ != nullptr)
            log_->set(std::move(function), level);
        else if (function)
            throw Error(XF_ERROR_INVALID_ARGUMENT, "the context is empty, or was not made here without a log");
    }
    /** @brief Ends the calls that run on this context and what was made from it at the moment in Cancelled. From any
     *  thread, or from a signal handler. */
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
    /** @brief The backends, available or not. @return xf_backend_info, of which the strings are owned by the context */
    Range<detail::BackendAt> backends() const { return {xf_backend_count(get()), {get()}}; }

private:
    Context(std::unique_ptr<detail::Log> log, ConfigView config, xf_host host)
        : Context(detail::make<Context>(xf_context_create, config.get(), listened(log.get(), &host))) {
        log_ = std::move(log);
    }
    static const xf_host *listened(const detail::Log *log, xf_host *host) {
        if (log != nullptr) log->listen(host);
        return host;
    }

    std::unique_ptr<detail::Log> log_;
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_CONTEXT_HPP */
