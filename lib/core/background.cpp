// See background.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/background.h"

#include <unistd.h>

#include <new>

#include "core/float_state.h"
#include "core/signals_blocked.h"
#include "core/thread_ready.h"

namespace xf {

Background::Background() noexcept : process_(getpid()) {
    const SignalsBlocked blocked;
    try {
        thread_ = std::thread([this] { work(); });
    } catch (...) {  // no thread to be had: not alive
        return;
    }
    state_.wait(kStarting, std::memory_order_acquire);
    if (state_.load(std::memory_order_acquire) == kStop) thread_.join();
}

Background::~Background() {
    if (process_ != getpid()) {  // the number of the parent's thread is nobody's here, or another's
        ::new (static_cast<void *>(&thread_)) std::thread();
        return;
    }
    if (!thread_.joinable()) return;
    wait();
    become(kStop);
    thread_.join();
}

bool Background::alive() const noexcept { return thread_.joinable() && process_ == getpid(); }

void Background::become(State state) noexcept {
    state_.store(state, std::memory_order_seq_cst);  // notify_all() first looks whether anyone sleeps: thread_pool.cpp
    state_.notify_all();
}

void Background::start(Job job, void *arg) noexcept {
    job_ = job;
    arg_ = arg;
    become(kJob);
}

void Background::wait() noexcept {
    if (!alive()) return;
    while (state_.load(std::memory_order_acquire) == kJob) state_.wait(kJob, std::memory_order_acquire);
}

void Background::work() noexcept {
    become(thread_ready() ? kIdle : kStop);  // jobs may catch what is thrown
    const FloatState state;                  // what a thread inherits is its maker's
    for (;;) {
        const int now = state_.load(std::memory_order_acquire);
        if (now == kStop) return;
        if (now == kIdle) {
            state_.wait(kIdle, std::memory_order_acquire);
            continue;
        }
        job_(arg_);
        become(kIdle);
    }
}

}  // namespace xf
