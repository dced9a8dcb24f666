// A std::vector whose memory counts toward a context's budget, for large data that grows, such as the text of a corpus.
//
// Without a Heap it uses operator new. The vector shares ownership of the Heap.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/heap.h"

namespace xf {

template <class T>
class HeapAllocator {
public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    HeapAllocator() = default;
    explicit HeapAllocator(std::shared_ptr<Heap> heap) : heap_(std::move(heap)) {}
    template <class U>
    HeapAllocator(const HeapAllocator<U> &other) : heap_(other.heap()) {}

    // Throws XF_ERROR_NO_MEMORY if the budget or the host's allocator refuses.
    T *allocate(size_t count) {
        if (count > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
        const size_t bytes = count * sizeof(T);
        if (heap_ == nullptr) return static_cast<T *>(::operator new(bytes));
        void *ptr = heap_->alloc(bytes);
        if (ptr != nullptr) return static_cast<T *>(ptr);
        const std::string budget = heap_->refusal();
        if (budget.empty()) fail(XF_ERROR_NO_MEMORY, "no memory for %zu bytes", bytes);
        fail(XF_ERROR_NO_MEMORY, "%s", budget.c_str());
    }
    void deallocate(T *ptr, size_t count) noexcept {
        if (heap_ == nullptr)
            ::operator delete(ptr);
        else
            heap_->free(ptr, count * sizeof(T));
    }

    const std::shared_ptr<Heap> &heap() const { return heap_; }
    template <class U>
    bool operator==(const HeapAllocator<U> &other) const {
        return heap_ == other.heap();
    }

private:
    std::shared_ptr<Heap> heap_;
};

template <class T>
using HeapVector = std::vector<T, HeapAllocator<T>>;

}  // namespace xf
