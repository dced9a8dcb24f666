// What a long call knows of its caller: whether it is cancelled, and who wants to hear how far it has come.
//
// A cancel is an epoch: cancelling counts it up, and a call that noted another number when it began stops. So a cancel
// while nothing runs does nothing, and one cancel stops all calls that run. Everything that takes long is given a Call
// and asks it between pieces of work: this is the one protocol.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "xformer/context.h"

namespace xf {

// What can be cancelled: a context, a decoder, a trainer. cancel() is async-signal-safe.
class CancelSource {
public:
    void cancel() noexcept { epoch_.fetch_add(1, std::memory_order_relaxed); }
    uint32_t epoch() const noexcept { return epoch_.load(std::memory_order_relaxed); }

private:
    static_assert(std::atomic<uint32_t>::is_always_lock_free);
    std::atomic<uint32_t> epoch_{0};
};

class Call {
public:
    // One that nobody cancels or watches.
    Call() = default;
    // context and own (may be null) must outlive the call. listener may be null.
    Call(const CancelSource &context, const CancelSource *own, xf_progress_fn listener, void *listener_user);
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    // Throws XF_ERROR_CANCELLED when one of the sources was cancelled since the call began. Cheap; on the caller's
    // thread or a worker that may throw.
    void check() const;

    // check(), and tells the host, on whose thread this must be, at most ten times a second; done == total always.
    // task is a static word. Throws XF_ERROR_CALLBACK when the host wants to stop.
    void progress(const char *task, int64_t done, int64_t total) const;

    std::chrono::steady_clock::time_point began() const { return began_; }

private:
    const CancelSource *context_ = nullptr, *own_ = nullptr;
    uint32_t context_epoch_ = 0, own_epoch_ = 0;
    xf_progress_fn progress_ = nullptr;
    void *progress_user_ = nullptr;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    mutable std::chrono::steady_clock::time_point told_ = began_;
};

}  // namespace xf
