// See heap.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/heap.h"

#include <sys/mman.h>

#include <cstdlib>

#include "core/error.h"

namespace xf {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMost = static_cast<size_t>(INT64_MAX) / 2;

void *default_alloc(void *, size_t size, size_t alignment) {
    void *ptr = nullptr;
    if (posix_memalign(&ptr, alignment, size) != 0) return nullptr;
    if (alignment >= kHugePage) (void)madvise(ptr, size, MADV_HUGEPAGE);  // a wish: failure changes nothing
    return ptr;
}

void default_free(void *, void *ptr, size_t) { std::free(ptr); }

}  // namespace

Heap::Heap(const Allocator &allocator, int64_t budget) : allocator_(allocator), budget_(budget) {
    if (allocator_.alloc == nullptr) allocator_ = {nullptr, default_alloc, default_free};
}

int64_t Heap::take(int64_t size) noexcept {
    if (refused_.load(std::memory_order_relaxed) != 0) refused_.store(0, std::memory_order_relaxed);
    // Nothing is added before it is known to fit: another thread's small piece must not fail by what is refused here.
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

void *Heap::alloc(size_t bytes) noexcept {
    if (bytes == 0) bytes = 1;
    if (bytes > kMost) return nullptr;
    const auto size = static_cast<int64_t>(bytes);
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
    if (static_cast<uint64_t>(bytes) > kMost) return false;
    const int64_t now = take(bytes);
    if (now != 0) note(now);
    return now != 0;
}

std::string Heap::refusal() const {
    const long long bytes = refused_.load(std::memory_order_relaxed), held = held_.load(std::memory_order_relaxed);
    if (bytes == 0) return {};
    return format("%lld bytes more would exceed context.memory_budget %lld (%lld held)", bytes,
                  static_cast<long long>(budget_), held);
}

void Heap::free(void *ptr, size_t bytes) noexcept {
    if (ptr == nullptr) return;
    if (bytes == 0) bytes = 1;
    allocator_.free(allocator_.user, ptr, bytes);
    current_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

HeapBlock::HeapBlock(Heap *heap, size_t bytes, const char *what)
    : heap_(heap), bytes_(bytes), data_(heap->alloc(bytes)) {
    if (data_ != nullptr) return;
    const std::string budget = heap->refusal();
    if (budget.empty()) fail(XF_ERROR_NO_MEMORY, "no memory for %zu bytes of %s", bytes, what);
    fail(XF_ERROR_NO_MEMORY, "%s", budget.c_str());
}

}  // namespace xf
