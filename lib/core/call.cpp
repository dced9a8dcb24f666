// See call.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/call.h"

#include "core/error.h"

namespace xf {
namespace {

constexpr std::chrono::milliseconds kBetweenReports{100};

}  // namespace

Call::Call(const CancelSource &context, const CancelSource *own, xf_progress_fn listener, void *listener_user)
    : context_(&context),
      own_(own),
      context_epoch_(context.epoch()),
      own_epoch_(own != nullptr ? own->epoch() : 0),
      progress_(listener),
      progress_user_(listener_user) {}

void Call::check() const {
    if ((context_ != nullptr && context_->epoch() != context_epoch_) ||
        (own_ != nullptr && own_->epoch() != own_epoch_))
        fail(XF_ERROR_CANCELLED, "cancelled by the caller");
}

void Call::progress(const char *task, int64_t done, int64_t total) const {
    check();
    if (progress_ == nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    const bool told = told_ != began_;  // a call that ends before its first report makes none
    if (now - told_ < kBetweenReports && !(done == total && told)) return;
    told_ = now;
    const int32_t answer = progress_(progress_user_, task, done, total);
    XF_CHECK(answer == 0, XF_ERROR_CALLBACK, "the progress callback gave %d at %lld of %lld (%s), expected 0", answer,
             static_cast<long long>(done), static_cast<long long>(total), task);
}

}  // namespace xf
