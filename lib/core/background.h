// A thread that does one job beside its caller's work.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <thread>

namespace xf {

class Background {
public:
    using Job = void (*)(void *arg);  // throws nothing

    // Starts the thread, unless the system refuses or memory is short: see alive().
    Background() noexcept;
    ~Background();  // waits for the job
    Background(const Background &) = delete;
    Background &operator=(const Background &) = delete;

    // Whether there is a thread: after a fork it is in the parent alone.
    bool alive() const noexcept;

    // While it is alive, and no other job is on.
    void start(Job job, void *arg) noexcept;
    // Returns when the job is done; at once when there is none.
    void wait() noexcept;

private:
    enum State : int { kStarting, kIdle, kJob, kStop };
    void work() noexcept;
    void become(State state) noexcept;

    std::atomic<int> state_{kStarting};
    Job job_ = nullptr;  // written while idle
    void *arg_ = nullptr;
    pid_t process_;
    std::thread thread_;
};

}  // namespace xf
