// A thread pool that runs numbered tasks.
//
// Each free thread takes the next task, so a core that is shared with another process delays only its own tasks. (With
// a static split all threads wait for the slowest one: five times slower on a shared machine.) Results do not depend on
// the assignment, because work is split by its shape and never by the number of threads.
//
// A host may run the tasks on its own threads (an executor). Then the pool starts no threads and passes each job to the
// executor as one loop per worker. The loops take tasks from a shared counter, so they may run on any threads, in any
// order, and in sequence.
//
// Workers spin briefly between jobs and then sleep. The caller waits for tasks, not for workers, so a worker that wakes
// late finds no task and does no harm. For this, a task is claimed with a ticket that contains the number of the job
// and the number of tasks left. Only the ticket decides whether a task exists, because all other members may already
// belong to the next job.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "xformer/context.h"

namespace xf {

// The host's executor; parallel null: none.
struct Executor {
    void *user = nullptr;
    xf_parallel_fn parallel = nullptr;
};

// The number of threads to start: the processors of the affinity mask, limited by the quota (0: none); at least 1.
int allowed_processors(int mask, int quota);

class ThreadPool {
public:
    using Body = void (*)(void *arg, int64_t task, int32_t worker);

    // threads includes the caller's; 0 is one per processor of the affinity mask, limited by the quota of the control
    // groups. Fewer start if the system refuses. With an executor, the maximum number of loops per job.
    explicit ThreadPool(int threads, const Executor &executor = {});
    ~ThreadPool();
    ThreadPool(const ThreadPool &) = delete;
    ThreadPool &operator=(const ThreadPool &) = delete;

    int workers() const noexcept { return workers_; }

    // Runs body for each task and returns when all are done. Worker 0 is the caller. If another caller is using the
    // pool, all tasks run on the calling thread as worker 0.
    void run(int64_t tasks, Body body, void *arg) noexcept;

private:
    void run_on_host(int64_t tasks, Body body, void *arg) noexcept;
    void work(int32_t worker) noexcept;
    void drain(uint32_t job, int32_t worker) noexcept;

    Executor executor_;
    std::vector<std::thread> threads_;
    int workers_ = 1;
    int process_;                    // of the threads; a forked child has none of them
    std::atomic<bool> busy_{false};  // a job is running
    // The job, written while no ticket has a task left. Atomic because a late worker may read it while the next job is
    // written; the values are used only if the worker's ticket, with a task left, is still the current one.
    std::atomic<Body> body_{nullptr};
    std::atomic<void *> arg_{nullptr};
    std::atomic<uint32_t> tasks_{0};
    alignas(64) std::atomic<uint64_t> ticket_{0};  // job number << 32 | tasks left
    alignas(64) std::atomic<int32_t> remaining_{0};
    alignas(64) std::atomic<uint32_t> job_{0};  // what sleeping workers wait on
    std::atomic<bool> stop_{false};
};

}  // namespace xf
