// Worker threads that run numbered tasks.
//
// Which thread runs a task is decided as threads become free, so a core that another process shares slows only its own
// tasks (a static split waits for the slowest: five times slower on a shared machine). Results do not depend on it,
// because tasks are cut by the shape of the work and never by the number of threads.
//
// A host may run the tasks instead (its executor): then no thread is started, and each job is given to it as one piece
// per worker. Pieces take tasks from one counter until none is left, so it does not matter on which threads they run,
// in which order, or whether one after the other.
//
// Workers spin briefly between jobs, then sleep. The caller waits for tasks, not for workers: a worker that wakes late
// finds nothing left and harms nobody. That is why a task is claimed by a ticket that carries the job's number and how
// many tasks are left: whether there is one must be known from the ticket alone, because all else may already be the
// next job's.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace xf {

// The host's: runs task(arg, index) for each index below count and returns when all are done. parallel null: none.
struct Executor {
    void *user = nullptr;
    void (*parallel)(void *user, int32_t count, void (*task)(void *arg, int32_t index), void *arg) = nullptr;
};

// How many threads are worth starting: what the affinity mask has, or fewer by quota (0: none); at least 1.
int allowed_processors(int mask, int quota);

class ThreadPool {
public:
    using Body = void (*)(void *arg, int64_t task, int32_t worker);

    // threads counts the caller's own; 0 is one per processor this process may use, by its affinity mask and the quota
    // of its control groups. Fewer start when the system refuses. With an executor: the most pieces that it is given at
    // once.
    explicit ThreadPool(int threads, const Executor &executor = {});
    ~ThreadPool();
    ThreadPool(const ThreadPool &) = delete;
    ThreadPool &operator=(const ThreadPool &) = delete;

    int workers() const noexcept { return workers_; }
    // Whether the host runs the tasks: then it wants no threads beside its own.
    bool hosted() const noexcept { return executor_.parallel != nullptr; }

    // Runs body for each task and returns when all are done. Worker 0 is the caller. When another caller uses the
    // pool at the moment, all tasks run on the calling thread as worker 0.
    void run(int64_t tasks, Body body, void *arg) noexcept;

private:
    void run_on_host(int64_t tasks, Body body, void *arg) noexcept;
    void work(int32_t worker) noexcept;
    void drain(uint32_t job, int32_t worker) noexcept;

    Executor executor_;
    std::vector<std::thread> threads_;
    int workers_ = 1;
    pid_t process_;                  // in which they run: after a fork they are in the parent alone
    std::atomic<bool> busy_{false};  // some caller's job is on
    // The job: written while no ticket has a task left. Atomic because a late worker may read while the next is
    // written; what it read is used only if its ticket, with a task left, is still the current one.
    std::atomic<Body> body_{nullptr};
    std::atomic<void *> arg_{nullptr};
    std::atomic<uint32_t> tasks_{0};
    alignas(64) std::atomic<uint64_t> ticket_{0};  // job number << 32 | tasks left
    alignas(64) std::atomic<int32_t> remaining_{0};
    alignas(64) std::atomic<uint32_t> job_{0};  // what sleeping workers wait on
    std::atomic<bool> stop_{false};
};

}  // namespace xf
