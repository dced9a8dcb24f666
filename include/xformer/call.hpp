/*
 * xformer/call.hpp - call.h for C++: cancellation, deadline, and progress of one call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_CALL_HPP
#define XFORMER_CALL_HPP

#include <atomic>
#include <chrono>
#include <functional>

#include "xformer/base.hpp"
#include "xformer/call.h"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief A cancel flag. May be shared by several calls. */
class CancelToken {
public:
    /** @brief Cancels running and later calls that use the token. Any thread or signal handler may call it. */
    void cancel() noexcept { flag_.store(1, std::memory_order_relaxed); }
    /** @brief Resets the token, so that later calls are not cancelled. */
    void reset() noexcept { flag_.store(0, std::memory_order_relaxed); }
    /** @brief Returns whether cancel() was called. @return true if so */
    bool cancelled() const noexcept { return flag_.load(std::memory_order_relaxed) != 0; }
    /** @brief Returns the flag for xf_call::cancelled. @return owned by the token */
    const volatile std::int32_t *get() const noexcept {
        return reinterpret_cast<const volatile std::int32_t *>(&flag_);
    }

private:
    std::atomic<std::int32_t> flag_{0};
    static_assert(sizeof(std::atomic<std::int32_t>) == sizeof(std::int32_t) &&
                      std::atomic<std::int32_t>::is_always_lock_free,
                  "the library reads the flag as an int32_t");
};

/** @brief Receives the progress of a call; see xf_progress_fn. An exception stops the call, which then throws it. */
using ProgressFunction = std::function<void(const xf_progress &)>;

/** @brief Parameters of one call. Functions that may take a long time accept them as the last argument.
 *
 *     xformer::Call call;
 *     call.deadline = std::chrono::milliseconds(200);
 *     std::cout << decoder.translate("Choose File - Save.", {}, call);
 */
struct Call {
    const CancelToken *cancel = nullptr;   /**< cancels the call; NULL: none; must outlive the call */
    std::chrono::milliseconds deadline{0}; /**< time limit from the start of the call; 0: no deadline */
    ProgressFunction progress;             /**< empty: progress is not reported */
};

/** @cond INTERNAL */
namespace detail {

// An xf_call with the members of a Call, which must outlive it.
class CallStruct {
public:
    explicit CallStruct(const Call &call) noexcept {
        call_.cancelled = call.cancel != nullptr ? call.cancel->get() : nullptr;
        call_.deadline_ms = call.deadline.count();
        call_.progress = call.progress ? &CallStruct::report : nullptr;
        call_.user = const_cast<ProgressFunction *>(&call.progress);
    }
    const xf_call *get() const noexcept { return &call_; }

private:
    static std::int32_t report(void *user, const xf_progress *progress) noexcept {
        return Guard::protect([=] { (*static_cast<const ProgressFunction *>(user))(*progress); }) ? 0 : 1;
    }
    xf_call call_ = XF_CALL_INIT;
};

}  // namespace detail
/** @endcond */

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_CALL_HPP */
