// A thread pool that is created while memory is short uses the threads that it could start, and the caller's signal
// mask does not change.
//
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include "core/failing_new.hpp"
#include "core/thread_pool.h"
#include "support/test.hpp"

namespace {

using xf::ThreadPool;

XF_TEST(a_failed_allocation_leaves_fewer_threads_and_the_signal_mask) {
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    int fewest = 99, most = 0;
    const int allocations = xf_test::fail_each_new([&] {
        const ThreadPool pool(4);
        const bool failed = xf_test::new_plan.failed;
        xf_test::new_plan.fail_at = -1;
        pthread_sigmask(SIG_SETMASK, nullptr, &after);
        for (int signal = 1; signal < NSIG; ++signal)
            CHECK_EQ(sigismember(&before, signal), sigismember(&after, signal));
        CHECK(failed ? pool.workers() < 4 : pool.workers() == 4);
        fewest = std::min(fewest, pool.workers());
        most = std::max(most, pool.workers());
    });
    CHECK_EQ(fewest, 1);
    CHECK_EQ(most, 4);
    CHECK(allocations >= 4);  // the vector and one per thread
}

XF_TEST(a_pool_with_fewer_threads_works) {
    xf_test::new_plan = {2, SIZE_MAX, false};
    ThreadPool pool(4);
    xf_test::new_plan = {};
    CHECK_EQ(pool.workers(), 2);
    std::atomic<int> sum{0};
    pool.run(
        100, [](void *arg, int64_t task, int32_t) { *static_cast<std::atomic<int> *>(arg) += static_cast<int>(task); },
        &sum);
    CHECK_EQ(sum.load(), 4950);
}

}  // namespace
