// No pthread_cancel() while the library works.
//
// Reading, writing and waiting are cancellation points. A thread that is cancelled at one of them unwinds through code
// that lets nothing pass, which ends the process. So a cancelled thread ends at the host's next cancellation point,
// after the call.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

namespace xf {

class CancelState {
public:
    CancelState() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &saved_); }
    ~CancelState() { pthread_setcancelstate(saved_, nullptr); }
    CancelState(const CancelState &) = delete;
    CancelState &operator=(const CancelState &) = delete;

private:
    int saved_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace xf
