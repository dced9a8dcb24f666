// See thread_pool.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "core/cpu_quota.h"
#include "core/float_state.h"
#include "core/signals_blocked.h"
#include "core/thread_ready.h"

namespace xf {
namespace {

// About 50 microseconds: longer than the gap between two operations of a decoding step, far shorter than a time slice.
constexpr int kSpins = 2000;
constexpr int64_t kMaxTasks = int64_t{1} << 31;

void pause_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

int processors_of_mask() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

int allowed_processors(int mask, int quota) { return std::max(1, quota > 0 ? std::min(mask, quota) : mask); }

ThreadPool::ThreadPool(int threads, const Executor &executor) : executor_(executor), process_(getpid()) {
    if (threads <= 0) threads = allowed_processors(processors_of_mask(), cpu_quota());
    if (executor_.parallel != nullptr) {
        workers_ = threads;
        return;
    }
    const SignalsBlocked blocked;
    try {
        threads_.reserve(static_cast<size_t>(threads - 1));
        for (int32_t worker = 1; worker < threads; ++worker) threads_.emplace_back([this, worker] { work(worker); });
    } catch (...) {
        // No more threads, or no memory for them: go on with those that started. Results are the same. Nothing may
        // leave from here: the threads that run would be destroyed unjoined, which ends the process.
    }
    workers_ = static_cast<int>(threads_.size()) + 1;
}

ThreadPool::~ThreadPool() {
    if (process_ != getpid()) {
        // The C library reuses their stacks for the child's own threads: their numbers are nobody's, or another's.
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
    // A host's executor may run another call's work, or this one's pieces, on the thread that waits here: what finds
    // the pool taken does its work alone.
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
    tasks_.store(static_cast<uint32_t>(tasks), std::memory_order_relaxed);
    remaining_.store(static_cast<int32_t>(tasks), std::memory_order_relaxed);
    ticket_.store(uint64_t{job} << 32 | static_cast<uint32_t>(tasks), std::memory_order_release);
    // Sequentially consistent, for notify_all() first looks whether anyone sleeps. A worker that goes to sleep counts
    // itself and then reads job_; here job_ is written and then the count is read. With less than seq_cst that read may
    // pass the write (x86 has a store buffer): the count is still 0 while the worker still reads the old number, and it
    // sleeps through the job.
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
    const auto count = static_cast<int32_t>(std::min<int64_t>(workers_, tasks));
    executor_.parallel(
        executor_.user, count,
        [](void *of, int32_t worker) {
            if (!thread_ready()) return;
            const FloatState state;  // the host's thread may flush denormals
            Job &mine = *static_cast<Job *>(of);
            for (int64_t task; (task = mine.next.fetch_add(1, std::memory_order_relaxed)) < mine.tasks;)
                mine.body(mine.arg, task, worker);
        },
        &job);
    for (int64_t task; (task = job.next.fetch_add(1, std::memory_order_relaxed)) < tasks;) body(arg, task, 0);
}

void ThreadPool::drain(uint32_t job, int32_t worker) noexcept {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    for (;;) {
        const uint32_t left = static_cast<uint32_t>(ticket);
        if (static_cast<uint32_t>(ticket >> 32) != job || left == 0) return;
        const Body body = body_.load(std::memory_order_relaxed);
        void *const arg = arg_.load(std::memory_order_relaxed);
        const uint32_t tasks = tasks_.load(std::memory_order_relaxed);
        // Success proves that a task of the job was left, and so that what was read above is still that job's.
        if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel, std::memory_order_acquire))
            continue;
        body(arg, tasks - left, worker);
        // seq_cst as in run(): here the caller is the one that sleeps, and nobody would wake it later.
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
