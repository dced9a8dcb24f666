// Helpers for communication plugins.
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
inline int32_t set_error(int32_t status, xf_error *err, const char *form, ...) __attribute__((format(printf, 3, 4)));
inline int32_t set_error(int32_t status, xf_error *err, const char *form, ...) {
    if (err != nullptr) {
        va_list args;
        va_start(args, form);
        err->status = status;
        std::vsnprintf(err->message, sizeof err->message, form, args);
        va_end(args);
    }
    return status;
}

// Runs work, which may never return, on a new thread. Returns false if it did not finish in time; the thread is then
// left running. Throws if the thread cannot be created.
template <class Work>
bool finishes_within(double seconds, Work work) {
    auto done = std::make_shared<std::promise<void>>();
    std::future<void> end = done->get_future();
    std::thread([done, work] {
        work();
        done->set_value();
    }).detach();
    return end.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
}

}  // namespace xf
