// A thread that runs functions in order.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace serve {

// Runs functions on one thread, in order: the preparation of long texts must not delay other connections.
class Worker {
public:
    Worker();
    ~Worker();  // runs the functions that remain
    void run(std::function<void()> function);

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> functions_;
    bool stopped_ = false;
    std::thread thread_;
};

}  // namespace serve
