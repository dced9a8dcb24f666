// The thread pool: every task runs once, and no two tasks run at the same time with the same worker number.
//
// Tasks write plain variables that the caller reads, so a build with XF_SANITIZE=thread detects a missing
// happens-before relation.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <signal.h>

#include "support/test.hpp"

namespace {

using xf::ThreadPool;

// Counts without atomics how often each task ran: one thread runs a task, and run() publishes the result to the caller.
struct Tally {
    explicit Tally(int64_t tasks) : count(static_cast<size_t>(tasks)) {}
    std::vector<int> count;
    static void add(void *self, int64_t task, int32_t) {
        ++static_cast<Tally *>(self)->count[static_cast<size_t>(task)];
    }
    bool each(int times) const {
        for (const int c : count)
            if (c != times) return false;
        return true;
    }
};

XF_TEST(every_task_runs_once_with_any_number_of_threads) {
    for (int threads = 1; threads <= 8; ++threads) {
        ThreadPool pool(threads);
        CHECK_EQ(pool.workers(), threads);
        for (const int64_t tasks : {0, 1, 2, 3, 7, 64, 1000}) {
            Tally tally(tasks);
            for (int round = 1; round <= 5; ++round) {
                pool.run(tasks, Tally::add, &tally);
                CHECK(tally.each(round));
            }
        }
    }
}

// A host's executor with another order of tasks; the pool starts no thread.
XF_TEST(a_host_may_run_the_tasks) {
    struct Host {
        bool backwards;
        int32_t largest;
    };
    for (const bool backwards : {false, true}) {
        Host host{backwards, 0};
        ThreadPool pool(4, {&host, [](void *user, const xf_job *job) {
                                Host &self = *static_cast<Host *>(user);
                                self.largest = std::max(self.largest, job->count);
                                for (int32_t i = 0; i < job->count; ++i)
                                    job->run(job->arg, self.backwards ? job->count - 1 - i : i);
                            }});
        CHECK_EQ(pool.workers(), 4);
        for (const int64_t tasks : {0, 1, 2, 3, 64, 1000}) {
            Tally tally(tasks);
            pool.run(tasks, Tally::add, &tally);
            CHECK(tally.each(1));
        }
        CHECK_EQ(host.largest, 4);
        // For a nested call the pool is busy, on any thread.
        struct Nested {
            ThreadPool *pool;
            Tally tally{6};
        } nested{&pool};
        pool.run(
            3,
            [](void *arg, int64_t, int32_t) {
                auto *self = static_cast<Nested *>(arg);
                self->pool->run(6, Tally::add, &self->tally);
            },
            &nested);
        CHECK(nested.tally.each(3));
    }
}

XF_TEST(a_hundred_thousand_tiny_jobs) {
    for (const int threads : {2, 3}) {
        ThreadPool pool(threads);
        Tally tally(3);
        for (int job = 0; job < 50000; ++job) pool.run(3, Tally::add, &tally);
        CHECK(tally.each(50000));
    }
}

// A worker that is late for a small job must not take a task of the next, large job while that is being written.
XF_TEST(small_and_large_jobs_in_turn) {
    for (const int threads : {2, 3, 8}) {
        ThreadPool pool(threads);
        for (int job = 0; job < 20000; ++job) {
            Tally tally(job % 2 == 0 ? 2 : 3 + job % 60);
            pool.run(static_cast<int64_t>(tally.count.size()), Tally::add, &tally);
            CHECK(tally.each(1));
        }
    }
}

// While one caller uses the pool, another runs its tasks itself and does not wait.
XF_TEST(several_callers_at_once) {
    ThreadPool pool(4);
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int c = 0; c < 4; ++c)
        callers.emplace_back([&pool, &wrong, c] {
            for (int job = 0; job < 2000; ++job) {
                Tally tally(1 + (job * 7 + c) % 40);
                pool.run(static_cast<int64_t>(tally.count.size()), Tally::add, &tally);
                if (!tally.each(1)) ++wrong;
            }
        });
    for (std::thread &caller : callers) caller.join();
    CHECK_EQ(wrong.load(), 0);
}

// Backends index their scratch memory by the worker number.
XF_TEST(a_worker_index_is_in_range_and_unique) {
    constexpr int kThreads = 5;
    struct Busy {
        std::atomic<int> inside[kThreads] = {};
        std::atomic<int> wrong{0};
    } busy;
    ThreadPool pool(kThreads);
    const auto body = [](void *arg, int64_t, int32_t worker) {
        auto &b = *static_cast<Busy *>(arg);
        if (worker < 0 || worker >= kThreads) {
            ++b.wrong;
            return;
        }
        if (b.inside[worker].fetch_add(1) != 0) ++b.wrong;
        for (int spin = 0; spin < 50; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
        b.inside[worker].fetch_sub(1);
    };
    for (int job = 0; job < 2000; ++job) pool.run(20, body, &busy);
    CHECK_EQ(busy.wrong.load(), 0);
}

// A nested call, such as an operation within an operation, must not wait for itself.
XF_TEST(a_task_may_call_the_pool) {
    struct Nest {
        ThreadPool pool{3};
        std::atomic<int> inner{0};
    } nest;
    const auto outer = [](void *arg, int64_t, int32_t) {
        auto &n = *static_cast<Nest *>(arg);
        n.pool.run(
            5, [](void *a, int64_t, int32_t) { ++static_cast<Nest *>(a)->inner; }, arg);
    };
    for (int job = 0; job < 200; ++job) nest.pool.run(4, outer, &nest);
    CHECK_EQ(nest.inner.load(), 200 * 4 * 5);
}

XF_TEST(one_task_and_one_thread_stay_on_the_caller) {
    std::set<std::thread::id> seen;
    const auto note = [](void *arg, int64_t, int32_t) {
        static_cast<std::set<std::thread::id> *>(arg)->insert(std::this_thread::get_id());
    };
    ThreadPool one(1), many(4);
    one.run(50, note, &seen);
    many.run(1, note, &seen);
    CHECK_EQ(seen.size(), size_t{1});
    CHECK(seen.count(std::this_thread::get_id()) == 1);
}

XF_TEST(pools_start_and_stop_idle_or_just_used) {
    for (int i = 0; i < 200; ++i) {
        auto pool = std::make_unique<ThreadPool>(1 + i % 5);
        Tally tally(8);
        if (i % 3 != 0) pool->run(8, Tally::add, &tally);
        pool.reset();
        CHECK(i % 3 == 0 || tally.each(1));
    }
    CHECK(ThreadPool(0).workers() >= 1);
}

// Each task waits for the other, so the test hangs if a worker sleeps through the job.
XF_TEST(a_sleeping_worker_takes_part_in_the_next_job) {
    struct Meeting {
        std::atomic<int> present{0};
        std::atomic<bool> late{false};
    } meeting;
    const auto meet = [](void *arg, int64_t, int32_t) {
        auto &m = *static_cast<Meeting *>(arg);
        ++m.present;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (m.present < 2 && !m.late)
            if (std::chrono::steady_clock::now() > end)
                m.late = true;
            else
                std::this_thread::yield();
    };
    ThreadPool pool(2);
    for (int job = 0; job < 300 && !meeting.late; ++job) {
        // Workers spin for tens of microseconds: these pauses end before, at, and after the moment when they go to
        // sleep.
        std::this_thread::sleep_for(std::chrono::microseconds(job % 30 * 10));
        meeting.present = 0;
        pool.run(2, meet, &meeting);
    }
    CHECK(!meeting.late);
}

// The host's handlers run on the host's threads.
XF_TEST(workers_block_signals_and_the_mask_of_the_caller_is_kept) {
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    ThreadPool pool(3);
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (int signal = 1; signal < NSIG; ++signal) CHECK_EQ(sigismember(&before, signal), sigismember(&after, signal));
    struct Seen {
        std::thread::id caller = std::this_thread::get_id();
        std::atomic<int> open{0}, worked{0};
    } seen;
    const auto look = [](void *arg, int64_t, int32_t worker) {
        auto &s = *static_cast<Seen *>(arg);
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        if (worker != 0) ++s.worked;
        if (std::this_thread::get_id() != s.caller && sigismember(&mask, SIGTERM) == 0) ++s.open;
    };
    for (int job = 0; job < 100000 && seen.worked == 0; ++job) pool.run(64, look, &seen);
    CHECK(seen.worked > 0);
    CHECK_EQ(seen.open.load(), 0);
}

}  // namespace
