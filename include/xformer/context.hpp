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
#include <vector>

#include "xformer/backend.h"
#include "xformer/base.hpp"
#include "xformer/comm.hpp"
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

/** @brief Hears how far a long call has come: task, done, total; see xf_progress_fn. What it throws ends the call,
 * which throws it. */
using ProgressFunction = std::function<void(std::string_view, std::int64_t, std::int64_t)>;

/** @brief What a host does for a context. */
struct Host {
    LogFunction log;                         /**< empty: silence */
    xf_log_level log_level = XF_LOG_WARNING; /**< the least severe level to report */
    ProgressFunction progress;               /**< empty: nobody wants to know */
    xf_host services = XF_HOST_INIT; /**< allocator and executor; its log, progress and comm are not looked at */
    Comm *comm = nullptr;            /**< this rank among others; the context takes what it has */
};

/** @cond INTERNAL */
namespace detail {

// The functions of a host: they live until the last object of the context is gone.
struct HostFunctions {
    LogFunction log;
    ProgressFunction progress;

    static void line(void *self, xf_log_level level, const char *component, const char *message) noexcept {
        Call::protect([=] { static_cast<HostFunctions *>(self)->log(level, component, message); });
    }
    static std::int32_t tell(void *self, const char *task, std::int64_t done, std::int64_t total) noexcept {
        return Call::protect([=] { static_cast<HostFunctions *>(self)->progress(task, done, total); }) ? 0 : 1;
    }
    static void release(void *self) noexcept { delete static_cast<HostFunctions *>(self); }
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
    /** @brief Opens the device. @param config [in] options "context." @param host [in] what the host does for it */
    explicit Context(ConfigView config = {}, Host host = {}) : Context(open(config, std::move(host))) {}

    /** @brief Ends the calls that run on this context and its objects in Cancelled. From any thread, or from a signal
     *  handler. */
    void cancel() const noexcept { xf_context_cancel(get()); }
    /** @brief Tells what computes. @return one line for people, owned by the context; "" when this is empty */
    std::string_view device() const noexcept {
        const char *const line = xf_context_device(get());
        return line != nullptr ? line : "";
    }
    /** @brief Reads the memory account. @return bytes of tensors and corpora */
    xf_memory_stats memory() const {
        return detail::fill(xf_memory_stats XF_MEMORY_STATS_INIT, xf_context_get_memory, get());
    }
    /** @brief The backends, available or not. @return xf_backend_info, of which the strings are owned by the context */
    Range<detail::BackendAt> backends() const { return {xf_backend_count(get()), {get()}}; }
    /** @brief This process among the ranks of its job. @return from 0; -1 when this is empty */
    std::int32_t rank() const noexcept { return xf_context_rank(get()); }
    /** @brief The ranks of the job. @return 1 for a process alone; -1 when this is empty */
    std::int32_t rank_count() const noexcept { return xf_context_rank_count(get()); }
    /** @brief Every rank's number; all of them make this call. @param value [in] this rank's @return one for each rank
     */
    std::vector<std::int64_t> all_gather(std::int64_t value) const {
        const std::int32_t count = rank_count();
        std::vector<std::int64_t> values(count > 0 ? static_cast<std::size_t>(count) : 1);
        detail::call(xf_context_all_gather, get(), value, values.data());
        return values;
    }

private:
    static Context open(ConfigView config, Host host) {
        auto functions = std::make_unique<detail::HostFunctions>();
        functions->log = std::move(host.log);
        functions->progress = std::move(host.progress);
        xf_host &given = host.services;
        given.log_user = given.progress_user = given.release_user = functions.get();
        given.log = functions->log ? &detail::HostFunctions::line : nullptr;
        given.log_level = host.log_level;
        given.progress = functions->progress ? &detail::HostFunctions::tell : nullptr;
        given.release = &detail::HostFunctions::release;
        given.comm = host.comm != nullptr ? &host.comm->get() : nullptr;
        detail::Call call;
        xf_context *made = nullptr;
        const xf_status status = xf_context_create(config.get(), &given, &made, &call.error);
        Context context(made);
        if (status == XF_OK) {  // both are the context's from now on
            static_cast<void>(functions.release());
            if (host.comm != nullptr) static_cast<void>(host.comm->release());
        }
        call.finish(status);
        return context;
    }
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_CONTEXT_HPP */
