// Global operator new that fails when a test says so. It replaces the one of the whole program: to be included by one
// file of a test program.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace xf_test {

// Of this thread. Trivial, so that operator new may look at it at any time.
struct NewPlan {
    int64_t fail_at = -1;         // how many allocations still succeed before one fails; below 0: none fails
    size_t too_large = SIZE_MAX;  // from here on they fail
    bool failed = false;
    bool lasts = false;  // all behind the one that fails, too
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

// Runs body once for each allocation that may fail, and a last time in which none does. What it throws is the body's
// to judge.
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

void *operator new(size_t bytes) { return xf_test::planned_new(bytes, alignof(std::max_align_t)); }
void *operator new(size_t bytes, std::align_val_t alignment) {
    return xf_test::planned_new(bytes, static_cast<size_t>(alignment));
}
// What asks this way copes without: it takes no part in the plan, but must fit the operator delete below.
void *operator new(size_t bytes, const std::nothrow_t &) noexcept { return std::malloc(bytes); }
// Out of line, or the compiler sees a free() of what an operator new that it can't see into gave, and warns.
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, const std::nothrow_t &) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }
