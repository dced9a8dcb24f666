// Counts what this program and, as symbols are found, the libxformer.so in it allocate with operator new.
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdlib>
#include <new>

extern std::atomic<long> allocations;
std::atomic<long> allocations{0};

namespace {
void *allocate(std::size_t size) noexcept {
    ++allocations;
    return std::malloc(size != 0 ? size : 1);
}

void *allocate_or_throw(std::size_t size) {
    if (void *const memory = allocate(size)) return memory;
    throw std::bad_alloc();
}
}  // namespace

void *operator new(std::size_t size) { return allocate_or_throw(size); }
void *operator new[](std::size_t size) { return allocate_or_throw(size); }
void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return allocate(size); }
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept { return allocate(size); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }
