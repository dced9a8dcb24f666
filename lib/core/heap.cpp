// SPDX-License-Identifier: Apache-2.0
#include "core/heap.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "core/error.h"
#include "core/os/process.h"

namespace xf {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr uint64_t kMost = std::min<uint64_t>(INT64_MAX / 2, PTRDIFF_MAX);

void *default_alloc(void *, size_t size, size_t alignment) { return allocate_memory(size, alignment); }
void default_free(void *, void *ptr, size_t) { free_memory(ptr); }

}  // namespace

Heap::Heap(const Allocator &allocator, int64_t budget) : allocator_(allocator), budget_(budget) {
    if (allocator_.alloc == nullptr) allocator_ = {nullptr, default_alloc, default_free};
}

int64_t Heap::take(int64_t size) noexcept {
    if (refused_.load(std::memory_order_relaxed) != 0) refused_.store(0, std::memory_order_relaxed);
    // Add only what fits: a refused request must not make a small request of another thread fail.
    int64_t held = current_.load(std::memory_order_relaxed);
    while (budget_ == 0 || size <= budget_ - held)
        if (current_.compare_exchange_weak(held, held + size, std::memory_order_relaxed)) return held + size;
    held_.store(held, std::memory_order_relaxed);
    refused_.store(size, std::memory_order_relaxed);
    return 0;
}

void Heap::note(int64_t now) noexcept {
    allocations_.fetch_add(1, std::memory_order_relaxed);
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
}

void *Heap::alloc(uint64_t bytes) noexcept {
    if (bytes == 0) bytes = 1;
    if (bytes > kMost) return nullptr;
    const int64_t size = bytes;
    const int64_t now = take(size);
    if (now == 0) return nullptr;
    void *ptr = allocator_.alloc(allocator_.user, bytes, bytes >= 2 * kHugePage ? kHugePage : 64);
    if (ptr == nullptr) {
        current_.fetch_sub(size, std::memory_order_relaxed);
        return nullptr;
    }
    note(now);
    return ptr;
}

bool Heap::account(int64_t bytes) noexcept {
    if (bytes <= 0) {
        current_.fetch_add(bytes, std::memory_order_relaxed);
        return true;
    }
    if (std::cmp_greater(bytes, kMost)) return false;
    const int64_t now = take(bytes);
    if (now != 0) note(now);
    return now != 0;
}

std::string Heap::refusal() const {
    const int64_t bytes = refused_.load(std::memory_order_relaxed), held = held_.load(std::memory_order_relaxed);
    if (bytes == 0) return {};
    return format("%" PRId64 " bytes more would exceed context.memory_budget %" PRId64 " (%" PRId64 " held)", bytes,
                  budget_, held);
}

void Heap::fail_alloc(uint64_t bytes, const char *what) const {
    const std::string budget = refusal();
    if (!budget.empty()) fail(XF_ERROR_NO_MEMORY, "%s", budget.c_str());
    fail(XF_ERROR_NO_MEMORY, "no memory for %" PRIu64 " bytes%s%s", bytes, what != nullptr ? " of " : "",
         what != nullptr ? what : "");
}

void Heap::free(void *ptr, uint64_t bytes) noexcept {
    if (ptr == nullptr) return;
    if (bytes == 0) bytes = 1;
    allocator_.free(allocator_.user, ptr, bytes);
    current_.fetch_sub(bytes, std::memory_order_relaxed);
}

HeapBlock::HeapBlock(Heap *heap, uint64_t bytes, const char *what)
    : heap_(heap), bytes_(bytes), data_(heap->alloc(bytes)) {
    if (data_ == nullptr) heap->fail_alloc(bytes, what);
}

}  // namespace xf
