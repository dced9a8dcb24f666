// Measures the overhead of running two tasks on two threads that are awake: the time minus that of one task.
//
//     fork_join        no arguments
//
// Each task spins for kTask; a call counts when each of the two threads had one.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "core/thread_pool.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kTask = 5.0;  // microseconds
constexpr int kCalls = 100000;

double since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

void spin(void *workers, int64_t task, int32_t worker) {
    static_cast<int32_t *>(workers)[task] = worker;
    const Clock::time_point start = Clock::now();
    while (since(start) < kTask) {
    }
}

}  // namespace

int main() {
    xf::ThreadPool pool(2, {});
    std::vector<double> costs;
    for (int i = 0; i < kCalls; ++i) {
        int32_t workers[2] = {};
        const Clock::time_point start = Clock::now();
        pool.run(2, spin, workers);
        const double time = since(start);
        if (workers[0] != workers[1]) costs.push_back(time - kTask);
    }
    std::sort(costs.begin(), costs.end());
    if (costs.empty()) {
        std::puts("one thread did all: nothing was measured");
        return 1;
    }
    const size_t n = costs.size();
    std::printf(
        "shared by two threads: %zu of %d calls; microseconds beyond a task: median %.2f, 90 %% %.2f, 99 %% %.2f\n", n,
        kCalls, costs[n / 2], costs[n * 9 / 10], costs[n * 99 / 100]);
    return 0;
}
