// Parallel loops over a thread pool.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/thread_pool.h"

namespace xf {

// Runs task(i) for each i in [0, count).
template <class Task>
void parallel_for(ThreadPool &pool, int64_t count, const Task &task) {
    pool.run(
        count, [](void *arg, int64_t i, int32_t) { (*static_cast<const Task *>(arg))(i); },
        const_cast<void *>(static_cast<const void *>(&task)));
}

}  // namespace xf
