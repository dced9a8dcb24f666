// A RapidJSON allocator that uses operator new. RapidJSON 1.1 does not check the result of malloc; operator new throws,
// and exceptions may pass through RapidJSON's parser and writer.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

namespace xf {

struct ThrowingAllocator {
    static const bool kNeedFree = true;
    void *Malloc(size_t bytes) { return bytes > 0 ? ::operator new(bytes) : nullptr; }
    void *Realloc(void *old, size_t old_bytes, size_t bytes) {
        void *moved = Malloc(bytes);
        if (old && moved) std::memcpy(moved, old, std::min(old_bytes, bytes));
        ::operator delete(old);
        return moved;
    }
    static void Free(void *memory) { ::operator delete(memory); }
};

}  // namespace xf
