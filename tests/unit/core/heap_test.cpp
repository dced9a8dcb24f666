// The memory account: current bytes, peak, budget, and the host's allocator.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/heap.h"

#include "support/test.hpp"

namespace {

using xf::Heap;

XF_TEST(counts_what_is_held_and_the_peak) {
    Heap heap({}, 0);
    void *a = heap.alloc(1000), *b = heap.alloc(500);
    CHECK_EQ(heap.current(), 1500);
    heap.free(a, 1000);
    CHECK_EQ(heap.current(), 500);
    CHECK_EQ(heap.peak(), 1500);
    void *c = heap.alloc(100);
    CHECK_EQ(heap.peak(), 1500);
    CHECK_EQ(heap.allocations(), 3);
    heap.free(b, 500);
    heap.free(c, 100);
    heap.free({}, 12345);
    CHECK_EQ(heap.current(), 0);
}

XF_TEST(memory_is_aligned_and_writable_small_and_huge) {
    Heap heap({}, 0);
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{4096}, size_t{5} << 20}) {
        void *p = heap.alloc(bytes);
        CHECK(p != nullptr);
        CHECK_EQ(reinterpret_cast<uintptr_t>(p) % 64, uintptr_t{0});
        std::memset(p, 0xAB, bytes);
        heap.free(p, bytes);
        CHECK_EQ(heap.current(), 0);
    }
}

XF_TEST(the_budget_is_exact_and_a_refusal_changes_nothing) {
    Heap heap({}, 1000);
    CHECK_EQ(heap.budget(), 1000);
    void *a = heap.alloc(600);
    CHECK(a != nullptr);
    CHECK(heap.alloc(401) == nullptr);
    CHECK_EQ(heap.current(), 600);
    CHECK_EQ(heap.peak(), 600);
    CHECK_EQ(heap.allocations(), 1);
    void *b = heap.alloc(400);
    CHECK(b != nullptr);
    CHECK(heap.alloc(0) == nullptr);  // an empty block takes one byte
    heap.free(a, 600);
    void *c = heap.alloc(600);
    CHECK(c != nullptr);
    heap.free(b, 400);
    heap.free(c, 600);
    CHECK_EQ(heap.peak(), 1000);
}

XF_TEST(absurd_sizes_are_rejected_without_overflow) {
    Heap heap({}, 0);
    CHECK(heap.alloc(SIZE_MAX) == nullptr);
    CHECK(heap.alloc(static_cast<size_t>(INT64_MAX)) == nullptr);
    CHECK(heap.alloc(static_cast<size_t>(INT64_MAX) / 2) == nullptr);
    CHECK_EQ(heap.current(), 0);
    CHECK_EQ(heap.peak(), 0);
}

struct HostMemory {
    std::map<void *, size_t> live;
    bool refuse = false, wrong = false;
};

XF_TEST(the_host_allocator_gets_back_what_it_gave) {
    HostMemory host;
    xf::Allocator allocator;
    allocator.user = &host;
    allocator.alloc = [](void *user, size_t size, size_t alignment) -> void * {
        auto &memory = *static_cast<HostMemory *>(user);
        void *p = nullptr;
        if (memory.refuse || posix_memalign(&p, alignment, size) != 0) return nullptr;
        memory.live[p] = size;
        return p;
    };
    allocator.free = [](void *user, void *ptr, size_t size) {
        auto &memory = *static_cast<HostMemory *>(user);
        memory.wrong = memory.wrong || memory.live.count(ptr) == 0 || memory.live[ptr] != size;
        memory.live.erase(ptr);
        std::free(ptr);
    };
    Heap heap(allocator, 0);
    void *a = heap.alloc(0), *b = heap.alloc(70), *c = heap.alloc(size_t{4} << 20);
    CHECK_EQ(host.live.size(), size_t{3});
    host.refuse = true;
    CHECK(heap.alloc(8) == nullptr);
    CHECK_EQ(heap.current(), 1 + 70 + (4 << 20));
    heap.free(a, 0);
    heap.free(b, 70);
    heap.free(c, size_t{4} << 20);
    CHECK(host.live.empty());
    CHECK(!host.wrong);
    CHECK_EQ(heap.current(), 0);
}

XF_TEST(many_threads_stay_within_the_budget) {
    constexpr int64_t kBudget = 10000;
    Heap heap({}, kBudget);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t)
        threads.emplace_back([&heap, t] {
            for (size_t i = 0; i < 5000; ++i) {
                const size_t bytes = 1 + (i * 37 + t * 911) % 4000;
                void *p = heap.alloc(bytes);
                heap.free(p, bytes);
            }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK_EQ(heap.current(), 0);
    CHECK(heap.peak() <= kBudget);
    CHECK(heap.peak() > 0);
}

XF_TEST(refused_allocations_do_not_count) {
    Heap heap({}, 1000);
    std::atomic<bool> stop{false};
    std::thread greedy([&] {
        while (!stop)
            if (void *p = heap.alloc(size_t{1} << 30); p != nullptr) heap.free(p, size_t{1} << 30);
    });
    int refused = 0;
    for (int i = 0; i < 200000; ++i) {
        void *p = heap.alloc(48);
        refused += p == nullptr;
        heap.free(p, 48);
    }
    stop = true;
    greedy.join();
    CHECK_EQ(refused, 0);
    CHECK_EQ(heap.current(), 0);
}

}  // namespace
