// Peak memory of a call: counts operator new of the whole program together with the host's allocator.
//
// Not resident memory, which depends on what the C library keeps. Include this in one file of a program only, because
// it replaces operator new.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "xformer/context.h"

namespace xf_test {

inline std::atomic<int64_t> held{0}, most_held{0};

inline void *counted_memory(size_t bytes, size_t alignment) noexcept {
    void *const memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
    if (memory == nullptr) return nullptr;
    const auto size = static_cast<int64_t>(malloc_usable_size(memory));
    const int64_t now = held.fetch_add(size) + size;
    for (int64_t most = most_held; now > most && !most_held.compare_exchange_weak(most, now);) continue;
    return memory;
}

inline void give_back(void *memory) noexcept {
    if (memory != nullptr) held.fetch_sub(static_cast<int64_t>(malloc_usable_size(memory)));
    std::free(memory);
}

inline void *counted_new(size_t bytes, size_t alignment) {
    if (void *const memory = counted_memory(bytes, alignment)) return memory;
    throw std::bad_alloc();
}

// The peak of allocated bytes since construction, minus the bytes that were allocated at that time.
class PeakOfMemory {
public:
    PeakOfMemory() : before_(held) { most_held = before_; }
    int64_t bytes() const { return most_held - before_; }
    int64_t left() const { return held - before_; }  // bytes that are still allocated

private:
    int64_t before_;
};

inline xf_host counting_host() {
    xf_host host = XF_HOST_INIT;
    host.alloc = [](void *, size_t size, size_t alignment) { return counted_memory(size, alignment); };
    host.free = [](void *, void *memory, size_t) { give_back(memory); };
    return host;
}

}  // namespace xf_test

void *operator new(size_t bytes) { return xf_test::counted_new(bytes, alignof(std::max_align_t)); }
void *operator new(size_t bytes, std::align_val_t alignment) {
    return xf_test::counted_new(bytes, static_cast<size_t>(alignment));
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
    return xf_test::counted_memory(bytes, alignof(std::max_align_t));
}
// Not inlined: the compiler would warn about free() of memory from an operator new that it cannot see.
[[gnu::noinline]] void operator delete(void *memory) noexcept { xf_test::give_back(memory); }
[[gnu::noinline]] void operator delete(void *memory, const std::nothrow_t &) noexcept { xf_test::give_back(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { xf_test::give_back(memory); }
[[gnu::noinline]] void operator delete(void *memory, std::align_val_t) noexcept { xf_test::give_back(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t, std::align_val_t) noexcept { xf_test::give_back(memory); }
