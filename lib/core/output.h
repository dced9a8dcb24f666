// The destination of a file that is written: a path (atomic_file.h), a descriptor (file.h), memory, or a callback.
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

    // Requests the space for the whole file before anything is written, so that a lack of space is found early.
    virtual void reserve(uint64_t bytes) = 0;
    virtual void write(const void *src, size_t bytes) = 0;                     // appends
    virtual void rewrite(uint64_t offset, const void *src, size_t bytes) = 0;  // within what was written
    // Completes the file. Called once, after everything was written.
    virtual void commit() = 0;
};

// Destinations that are written at any offset.
class RandomOutput : public Output {
public:
    void write(const void *src, size_t bytes) final {
        rewrite(end_, src, bytes);
        end_ += bytes;
    }
    void rewrite(uint64_t offset, const void *src, size_t bytes) final {
        if (bytes > 0) put(offset, src, bytes);
    }

private:
    virtual void put(uint64_t offset, const void *src, size_t bytes) = 0;
    uint64_t end_ = 0;
};

// Memory of the caller.
class MemoryOutput final : public RandomOutput {
public:
    MemoryOutput(void *data, uint64_t capacity) : data_(static_cast<char *>(data)), capacity_(capacity) {}

    void reserve(uint64_t bytes) override { check(0, bytes); }
    void commit() override {}

private:
    void put(uint64_t offset, const void *src, size_t bytes) override {
        check(offset, bytes);
        std::memcpy(data_ + offset, src, bytes);
    }
    void check(uint64_t offset, uint64_t bytes) const {
        XF_CHECK(offset <= capacity_ && bytes <= capacity_ - offset, XF_ERROR_BUFFER_TOO_SMALL,
                 "the file needs at least %llu bytes, the buffer has %llu",
                 static_cast<unsigned long long>(offset + bytes), static_cast<unsigned long long>(capacity_));
    }

    char *data_;
    uint64_t capacity_;
};

// A function of the host: any result but 0 is XF_ERROR_IO.
class CallbackOutput final : public RandomOutput {
public:
    using Write = int32_t (*)(void *user, uint64_t offset, const void *src, size_t bytes);

    CallbackOutput(Write function, void *user) : write_(function), user_(user) {}

    void reserve(uint64_t) override {}
    void commit() override {}

private:
    void put(uint64_t offset, const void *src, size_t bytes) override {
        const int32_t result = write_(user_, offset, src, bytes);
        XF_CHECK(result == 0, XF_ERROR_IO, "the write callback returned %d for %zu bytes at %llu, expected 0", result,
                 bytes, static_cast<unsigned long long>(offset));
    }

    Write write_;
    void *user_;
};

}  // namespace xf
