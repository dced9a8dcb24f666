// What the plugins that carry messages share.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <thread>

#include "xformer/status.h"

namespace xf {

// Fills err, which may be null, and returns status.
inline int32_t say(int32_t status, xf_error *err, const char *form, ...) __attribute__((format(printf, 3, 4)));
inline int32_t say(int32_t status, xf_error *err, const char *form, ...) {
    if (err != nullptr) {
        va_list args;
        va_start(args, form);
        err->status = status;
        std::vsnprintf(err->message, sizeof err->message, form, args);
        va_end(args);
    }
    return status;
}

// Runs what may never return on a thread that is then left behind. False when it did not end in time; throws when there
// is no memory or no thread.
template <class Work>
bool ends_in(double seconds, Work work) {
    auto done = std::make_shared<std::promise<void>>();
    std::future<void> end = done->get_future();
    std::thread([done, work] {
        work();
        done->set_value();
    }).detach();
    return end.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
}

}  // namespace xf
