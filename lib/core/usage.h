// Who uses an object at the moment: any number of readers, or one writer. Nobody waits.
//
// One word per handle: 0 idle, n > 0 readers, -1 a writer; and a bit that says that the owner has let go of it, so that
// the last user frees it. What can't be shared is refused (XF_ERROR_BUSY) rather than undefined.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace xf {

class Usage {
public:
    // False when a writer is there (or, for a writer, anybody), or when the object was let go.
    bool begin(bool exclusive) noexcept {
        uint32_t word = word_.load(std::memory_order_relaxed);
        for (;;) {
            if ((word & kLetGo) != 0 || (exclusive ? word != 0 : word >= kMaxReaders)) return false;
            const uint32_t next = exclusive ? kWriter : word + 1;
            if (word_.compare_exchange_weak(word, next, std::memory_order_acquire, std::memory_order_relaxed))
                return true;
        }
    }
    // True when the caller was the last user of an object that was let go: it must delete it.
    bool end(bool exclusive) noexcept {
        const uint32_t before = word_.fetch_sub(exclusive ? kWriter : 1, std::memory_order_acq_rel);
        return before - (exclusive ? kWriter : 1) == kLetGo;
    }
    // True when nobody uses the object: the caller must delete it. Else the last user will.
    bool let_go() noexcept { return word_.fetch_or(kLetGo, std::memory_order_acq_rel) == 0; }

private:
    static constexpr uint32_t kLetGo = 1u << 31, kWriter = 1u << 30, kMaxReaders = kWriter - 1;
    std::atomic<uint32_t> word_{0};
};

}  // namespace xf
