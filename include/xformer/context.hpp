/*
 * xformer/context.hpp - context.h and backend.h for C++: device, threads, memory, log.
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

/** @brief Receives log lines; see xf_log_fn. Must not use its context, except to call cancel().
 *
 *  It may throw. The call then continues, but reports no more log lines. At the end, the call frees its result and
 *  throws the exception, even if the call itself failed. The effects of the call, for example a training step, are not
 *  undone. If the call was made from C, the exception is dropped. */
using LogFunction = std::function<void(const xf_log_line &)>;

/** @brief Refers to the transport of a rank; a Comm of experimental.hpp converts to it. */
struct CommRef {
    const xf_comm *comm = nullptr; /**< the transport; NULL: a single process */
    bool *taken = nullptr;         /**< set to true when a context has taken ownership of the transport */
};

/** @brief Services that a host provides to a context. */
struct Host {
    LogFunction log;                 /**< empty: nothing is logged */
    std::int32_t log_level = 0;      /**< the least severe level to report, XF_LOG_...; 0: XF_LOG_WARNING */
    xf_host services = XF_HOST_INIT; /**< allocator and executor; the other members are ignored */
    CommRef comm;                    /**< the transport of this rank; the context takes ownership */
};

/** @cond INTERNAL */
namespace detail {

// The log function of a host, which exists until the last object of the context has been freed.
struct HostFunctions {
    LogFunction log;

    static void line(void *self, const xf_log_line *line) noexcept {
        Guard::protect([=] { static_cast<HostFunctions *>(self)->log(*line); });
    }
    static void release(void *self) noexcept { delete static_cast<HostFunctions *>(self); }
};

struct BackendAt {
    const xf_context *context = nullptr;
    xf_backend_info operator()(std::size_t index) const {
        return fill(xf_backend_info XF_BACKEND_INFO_INIT, xf_context_get_backend, context, index);
    }
};

}  // namespace detail
/** @endcond */

/** @brief The root object: device, threads, memory, log. Objects created from it keep it alive. */
class Context : public Owner<View<xf_context>, xf_context, xf_context_free> {
public:
    using Owner::Owner;
    /** @brief Creates a context. @param config [in] "context." options @param host [in] services of the host */
    explicit Context(ConfigView config = {}, Host host = {}) : Context(open(config, std::move(host))) {}

    /** @brief Cancels all calls that are running on the context and its objects. Any thread or signal handler may
     *  call it. */
    void cancel() const noexcept { xf_context_cancel(get()); }
    /** @brief Reports device, backend, precision, threads, and rank. @return its strings are owned by the context */
    xf_context_info info() const {
        return detail::fill(xf_context_info XF_CONTEXT_INFO_INIT, xf_context_get_info, get());
    }
    /** @brief Reports the memory account. @return bytes of tensors, workspaces, and corpora */
    xf_memory_stats memory() const {
        return detail::fill(xf_memory_stats XF_MEMORY_STATS_INIT, xf_context_get_memory, get());
    }
    /** @brief Returns the backends, available or not. @return a range of xf_backend_info; its strings are owned by the
     *  context */
    Range<detail::BackendAt> backends() const { return {xf_context_backend_count(get()), {get()}}; }

private:
    static Context open(ConfigView config, Host host) {
        auto functions = std::make_unique<detail::HostFunctions>();
        functions->log = std::move(host.log);
        xf_host &given = host.services;
        given.log_user = given.release_user = functions.get();
        given.log = functions->log ? &detail::HostFunctions::line : nullptr;
        given.log_level = host.log_level;
        given.release = &detail::HostFunctions::release;
        given.comm = host.comm.comm;
        detail::Guard guard;
        xf_context *created = nullptr;
        const xf_status status = xf_context_create(config.get(), &given, &created, &guard.error);
        Context context(created);
        if (status == XF_OK) {  // the context owns both now
            static_cast<void>(functions.release());
            if (host.comm.taken != nullptr) *host.comm.taken = true;
        }
        guard.finish(status);
        return context;
    }
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_CONTEXT_HPP */
