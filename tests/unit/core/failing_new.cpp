// The operator new of failing_new.hpp, and the operator delete that matches it.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/failing_new.hpp"

void *operator new(size_t bytes) { return xf_test::planned_new(bytes, alignof(std::max_align_t)); }
void *operator new(size_t bytes, std::align_val_t alignment) {
    return xf_test::planned_new(bytes, static_cast<size_t>(alignment));
}
// Not part of the plan, because its callers handle failures; it must match the operator delete below.
void *operator new(size_t bytes, const std::nothrow_t &) noexcept { return std::malloc(bytes); }
// Not inlined: the compiler would warn about free() of memory from an operator new that it cannot see.
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, const std::nothrow_t &) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }
