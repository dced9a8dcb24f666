// A try-only reader-writer lock for handles: any number of readers or one writer, and no call waits.
//
// A concurrent use that is not allowed is refused (XF_ERROR_BUSY) instead of being undefined behavior. The word also
// has a bit for a handle that its owner has freed; its last user then deletes it.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace xf {

class Usage {
public:
    // Returns false if the object has a writer (for a writer: any user), or if let_go() was called.
    bool begin(bool exclusive) noexcept {
        uint32_t word = word_.load(std::memory_order_relaxed);
        for (;;) {
            if ((word & kLetGo) != 0 || (exclusive ? word != 0 : word >= kMaxReaders)) return false;
            const uint32_t next = exclusive ? kWriter : word + 1;
            if (word_.compare_exchange_weak(word, next, std::memory_order_acquire, std::memory_order_relaxed))
                return true;
        }
    }
    // Returns true if let_go() was called and this was the last user, which must then delete the object.
    bool end(bool exclusive) noexcept {
        const uint32_t before = word_.fetch_sub(exclusive ? kWriter : 1, std::memory_order_acq_rel);
        return before - (exclusive ? kWriter : 1) == kLetGo;
    }
    // Returns true if the object has no user: the caller must delete it. Otherwise the last user does.
    bool let_go() noexcept { return word_.fetch_or(kLetGo, std::memory_order_acq_rel) == 0; }

private:
    static constexpr uint32_t kLetGo = 1u << 31, kWriter = 1u << 30, kMaxReaders = kWriter - 1;
    std::atomic<uint32_t> word_{0};
};

}  // namespace xf
