// Allocations that fail where the hash of an input says: linked into the programs NAME_oom and fuzz_replay. Ordinary
// fuzzers keep the operator new of the sanitizer, which also detects mismatched deallocation.
//
// Three kinds of failure: only the n-th allocation, all from the n-th on, and all above a size. n is small for most
// inputs and large for some, because a call makes between three and many thousand allocations.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <new>

#include "../../support/fnv.h"
#include "fuzz.hpp"

namespace fuzz {
namespace {

struct Plan {
    bool on = false, happened = false, for_ever = false;
    uint64_t at = 0;  // how many still succeed
    size_t too_large = SIZE_MAX;
};
thread_local Plan plan;

bool take(size_t bytes) {
    if (!plan.on) return true;
    bool fails = bytes >= plan.too_large || plan.at == 0;
    if (plan.at > 0)
        --plan.at;
    else if (plan.for_ever == false && plan.too_large == SIZE_MAX)
        plan.on = false;  // that one alone
    plan.happened |= fails;
    return !fails;
}

}  // namespace

bool shortages = true;  // replay turns them off and on

Shortage::Shortage(const uint8_t *data, size_t size) {
    plan = {};
    take_one = &take;
    if (!shortages) return;
    uint64_t hash = XF_TEST_FNV_INIT;
    fnv_add(&hash, data, size);
    hash ^= hash >> 29;
    const unsigned kind = hash % 4, bits = (hash >> 2) % 14;
    plan.at = (hash >> 8) % (uint64_t{2} << bits);
    plan.for_ever = kind == 1;
    if (kind == 2) {
        plan.at = UINT64_MAX;
        plan.too_large = size_t{1} << ((hash >> 8) % 20);
    }
    plan.on = kind != 3;
}
Shortage::~Shortage() { plan.on = false; }
bool Shortage::happened() { return plan.happened; }
void Shortage::end() { plan.on = false; }

static void *get(size_t bytes, size_t alignment) {
    void *memory = nullptr;
    if (take(bytes)) memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace fuzz

void *operator new(size_t bytes) { return fuzz::get(bytes, alignof(std::max_align_t)); }
void *operator new(size_t bytes, std::align_val_t alignment) {
    return fuzz::get(bytes, static_cast<size_t>(alignment));
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
    return fuzz::take_one == nullptr || fuzz::take_one(bytes) ? std::malloc(bytes) : nullptr;
}
// Out of line, or the compiler sees a free() of what an operator new that it can't see into gave, and warns.
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, const std::nothrow_t &) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }
