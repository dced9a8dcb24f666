// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <algorithm>
#include <new>

#include "core/float_state.h"
#include "core/os/process.h"

namespace xf {
namespace {

// About 50 microseconds: longer than the gap between operations of a decoding step, much shorter than a time slice.
constexpr int kSpins = 2000;
constexpr int64_t kMaxTasks = int64_t{1} << 31;

void pause_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

int allowed_processors(int mask, int quota) { return std::max(1, quota > 0 ? std::min(mask, quota) : mask); }

ThreadPool::ThreadPool(int threads, const Executor &executor) : executor_(executor), process_(process_id()) {
    if (threads <= 0) threads = allowed_processors(processor_count(), cpu_quota());
    if (executor_.parallel != nullptr) {
        workers_ = threads;
        return;
    }
    const SignalsBlocked blocked;
    try {
        threads_.reserve(threads - 1);
        for (int32_t worker = 1; worker < threads; ++worker) threads_.emplace_back([this, worker] { work(worker); });
    } catch (...) {
        // No more threads, or no memory for them: continue with those that started. Results are the same. An exception
        // must not leave here: destroying the running threads without a join would end the process.
    }
    workers_ = threads_.size() + 1;
}

ThreadPool::~ThreadPool() {
    if (process_ != process_id()) {
        // In a forked child these threads do not exist, and the C library may reuse their ids.
        for (std::thread &thread : threads_) ::new (static_cast<void *>(&thread)) std::thread();
        return;
    }
    stop_.store(true, std::memory_order_relaxed);
    job_.fetch_add(1, std::memory_order_seq_cst);  // as in run()
    job_.notify_all();
    for (std::thread &thread : threads_) thread.join();
}

void ThreadPool::run(int64_t tasks, Body body, void *arg) noexcept {
    if (tasks <= 0) return;
    // While this thread waits, a host's executor may run another call on it. If the pool is busy, a call runs all of
    // its tasks itself.
    if (tasks == 1 || workers_ == 1 || tasks >= kMaxTasks || busy_.exchange(true, std::memory_order_acquire)) {
        for (int64_t task = 0; task < tasks; ++task) body(arg, task, 0);
        return;
    }
    if (executor_.parallel != nullptr) {
        run_on_host(tasks, body, arg);
        busy_.store(false, std::memory_order_release);
        return;
    }
    const uint32_t job = job_.load(std::memory_order_relaxed) + 1;
    body_.store(body, std::memory_order_relaxed);
    arg_.store(arg, std::memory_order_relaxed);
    tasks_.store(tasks, std::memory_order_relaxed);
    remaining_.store(tasks, std::memory_order_relaxed);
    ticket_.store(uint64_t{job} << 32 | static_cast<uint32_t>(tasks), std::memory_order_release);
    // Sequentially consistent, because notify_all() first reads the number of sleepers. A worker increments that number
    // and then reads job_; this thread writes job_ and then reads the number. With a weaker order the read may pass the
    // write (x86 has a store buffer): this thread reads 0, the worker reads the old job number, and it sleeps through
    // the job.
    job_.store(job, std::memory_order_seq_cst);
    job_.notify_all();
    drain(job, 0);
    for (int spin = 0;; ++spin) {
        const int32_t left = remaining_.load(std::memory_order_acquire);
        if (left == 0) break;
        if (spin < kSpins)
            pause_cpu();
        else
            remaining_.wait(left, std::memory_order_acquire);
    }
    busy_.store(false, std::memory_order_release);
}

void ThreadPool::run_on_host(int64_t tasks, Body body, void *arg) noexcept {
    struct Job {
        Body body;
        void *arg;
        int64_t tasks;
        std::atomic<int64_t> next{0};
    } job{body, arg, tasks};
    const auto run = [](void *of, int32_t worker) {
        if (!thread_ready()) return;
        const FloatState state;  // the host's thread may flush denormals
        Job &mine = *static_cast<Job *>(of);
        for (int64_t task; (task = mine.next.fetch_add(1, std::memory_order_relaxed)) < mine.tasks;)
            mine.body(mine.arg, task, worker);
    };
    const xf_job request{sizeof request, run, &job, static_cast<int32_t>(std::min<int64_t>(workers_, tasks)), 0};
    executor_.parallel(executor_.user, &request);
    for (int64_t task; (task = job.next.fetch_add(1, std::memory_order_relaxed)) < tasks;) body(arg, task, 0);
}

void ThreadPool::drain(uint32_t job, int32_t worker) noexcept {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    for (;;) {
        const uint32_t left = ticket;  // the lower half
        if (ticket >> 32 != job || left == 0) return;
        const Body body = body_.load(std::memory_order_relaxed);
        void *const arg = arg_.load(std::memory_order_relaxed);
        const uint32_t tasks = tasks_.load(std::memory_order_relaxed);
        // Success proves that a task of the job was left, and so that what was read above is still that job's.
        if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel, std::memory_order_acquire))
            continue;
        body(arg, tasks - left, worker);
        // seq_cst as in run(): here the caller sleeps, and no later call would wake it.
        if (remaining_.fetch_sub(1, std::memory_order_seq_cst) == 1) remaining_.notify_all();
        ticket = ticket_.load(std::memory_order_acquire);
    }
}

void ThreadPool::work(int32_t worker) noexcept {
    if (!thread_ready()) return;  // tasks are the caller's, too
    uint32_t seen = 0;
    for (;;) {
        uint32_t job = job_.load(std::memory_order_acquire);
        for (int spin = 0; job == seen && spin < kSpins; ++spin) {
            pause_cpu();
            job = job_.load(std::memory_order_acquire);
        }
        if (job == seen) {
            job_.wait(seen, std::memory_order_acquire);
            continue;
        }
        if (stop_.load(std::memory_order_relaxed)) return;
        seen = job;
        drain(job, worker);
    }
}

}  // namespace xf
