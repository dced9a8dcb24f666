// Cancellation, deadline, and progress of one API call.
//
// Everything that may take long receives a Call and calls check() or progress() between units of work. A call is
// cancelled by the caller's flag (xf_call::cancelled), which may be set before the call begins, or by
// xf_context_cancel(), which stops every call that is running: a CancelSource counts its cancellations, and a call
// compares the count with that of its beginning.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "xformer/call.h"

namespace xf {

// Cancels all calls that are running on a context. cancel() is async-signal-safe.
class CancelSource {
public:
    void cancel() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
    uint32_t count() const noexcept { return count_.load(std::memory_order_relaxed); }

private:
    static_assert(std::atomic<uint32_t>::is_always_lock_free);
    std::atomic<uint32_t> count_{0};
};

class Call {
public:
    // The behavior of check() and progress() after the deadline.
    enum class Deadline {
        kFail,    // throw XF_ERROR_DEADLINE
        kPartial  // nothing: the caller asks expired() and returns what it has
    };

    // Without cancellation, deadline, and progress.
    Call() = default;
    // Both must outlive the call.
    Call(const CancelSource &source, const xf_call &call, Deadline deadline = Deadline::kFail);
    // For a part of a call that reports progress itself: the same without progress.
    explicit Call(const Call *whole);
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    // Throws XF_ERROR_CANCELLED or XF_ERROR_DEADLINE. Cheap; on the caller's thread, or a worker that may throw.
    void check() const;

    // The same, also with Deadline::kPartial: for work that has no partial result.
    void check_deadline() const;

    // Returns true if the deadline has passed.
    bool expired() const;

    // check(), and reports progress at most ten times a second, on the caller's thread; done == total is always
    // reported if anything was. task is a static string. Throws XF_ERROR_CALLBACK if the callback requests it.
    void progress(const char *task, int64_t done, int64_t total) const;

private:
    const CancelSource *source_ = nullptr;
    uint32_t count_ = 0;
    const volatile int32_t *cancelled_ = nullptr;
    std::chrono::milliseconds deadline_{0};
    Deadline at_deadline_ = Deadline::kFail;
    xf_progress_fn progress_ = nullptr;
    void *user_ = nullptr;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    mutable std::chrono::steady_clock::time_point reported_ = began_;
};

}  // namespace xf
