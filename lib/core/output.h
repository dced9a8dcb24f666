// Where the bytes of a file go: a file that is replaced at once or not at all (atomic_file.h), or memory.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/error.h"

namespace xf {

class Output {
public:
    virtual ~Output() = default;

    // Asks for the space first, so that what has none fails early. No error where it can't be asked.
    virtual void reserve(uint64_t bytes) = 0;
    virtual void write(const void *src, size_t bytes) = 0;                     // appends
    virtual void rewrite(uint64_t offset, const void *src, size_t bytes) = 0;  // within what was written
};

// Memory of the caller's.
class MemoryOutput final : public Output {
public:
    MemoryOutput(void *data, size_t capacity) : data_(static_cast<char *>(data)), capacity_(capacity) {}

    void reserve(uint64_t bytes) override { check(0, bytes); }
    void write(const void *src, size_t bytes) override {
        rewrite(size_, src, bytes);
        size_ += bytes;
    }
    void rewrite(uint64_t offset, const void *src, size_t bytes) override {
        check(offset, bytes);
        if (bytes > 0) std::memcpy(data_ + offset, src, bytes);
    }

private:
    void check(uint64_t offset, uint64_t bytes) const {
        XF_CHECK(offset <= capacity_ && bytes <= capacity_ - offset, XF_ERROR_BUFFER_TOO_SMALL,
                 "%llu bytes at byte %llu, the buffer has %zu", static_cast<unsigned long long>(bytes),
                 static_cast<unsigned long long>(offset), capacity_);
    }
    char *data_;
    size_t capacity_, size_ = 0;
};

}  // namespace xf
