// SPDX-License-Identifier: Apache-2.0
#include "core/call.h"

#include <cinttypes>

#include "core/error.h"

namespace xf {
namespace {

constexpr std::chrono::milliseconds kBetweenReports{100};

}  // namespace

Call::Call(const CancelSource &source, const xf_call &call, Deadline deadline)
    : source_(&source),
      count_(source.count()),
      cancelled_(call.cancelled),
      deadline_(call.deadline_ms),
      at_deadline_(deadline),
      progress_(call.progress),
      user_(call.user) {}

Call::Call(const Call *whole)
    : source_(whole->source_),
      count_(whole->count_),
      cancelled_(whole->cancelled_),
      deadline_(whole->deadline_),
      at_deadline_(whole->at_deadline_),
      began_(whole->began_) {}

void Call::check() const {
    if ((cancelled_ != nullptr && *cancelled_ != 0) || (source_ != nullptr && source_->count() != count_))
        fail(XF_ERROR_CANCELLED, "the caller cancelled the call");
    if (at_deadline_ == Deadline::kFail) check_deadline();
}

void Call::check_deadline() const {
    XF_CHECK(!expired(), XF_ERROR_DEADLINE, "the call's deadline of %" PRId64 " ms has passed",
             int64_t{deadline_.count()});
}

bool Call::expired() const { return deadline_.count() > 0 && std::chrono::steady_clock::now() - began_ >= deadline_; }

void Call::progress(const char *task, int64_t done, int64_t total) const {
    check();
    if (progress_ == nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    const bool reported = reported_ != began_;
    if (now - reported_ < kBetweenReports && !(done == total && reported)) return;
    reported_ = now;
    const xf_progress progress{sizeof progress, task, done, total};
    const int32_t result = progress_(user_, &progress);
    XF_CHECK(result == 0, XF_ERROR_CALLBACK,
             "the progress callback returned %d at %" PRId64 " of %" PRId64 " (%s), expected 0", result, done, total,
             task);
}

}  // namespace xf
