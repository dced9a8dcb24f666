// An operator new that fails on demand. failing_new.cpp, which the program must contain, replaces the global one.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace xf_test {

// The plan of a thread. Trivial, so that operator new can read it at any time.
struct NewPlan {
    int64_t fail_at = -1;         // allocations that succeed before one fails; negative: none fails
    size_t too_large = SIZE_MAX;  // allocations of at least this size fail
    bool failed = false;
    bool lasts = false;  // all later allocations fail, too
};
inline thread_local NewPlan new_plan;

inline void *planned_new(size_t bytes, size_t alignment) {
    NewPlan &plan = new_plan;
    const bool fails = bytes >= plan.too_large || plan.fail_at == 0;
    if (plan.fail_at > 0 || (plan.fail_at == 0 && !plan.lasts)) --plan.fail_at;
    void *memory = nullptr;
    if (!fails) memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
    if (memory != nullptr) return memory;
    plan.failed = true;
    throw std::bad_alloc();
}

// Runs body once for each of its allocations, which fails, and finally without a failure. The body handles exceptions.
template <class Body>
int fail_each_new(Body body) {
    for (int n = 0;; ++n) {
        new_plan = {n, SIZE_MAX, false, false};
        body();
        const bool failed = new_plan.failed;
        new_plan = {};
        if (!failed) return n;
    }
}

}  // namespace xf_test
