// The destination of a file that is written: a path (atomic_file.h), a descriptor (atomic_file.h), memory, or a
// callback.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/error.h"

namespace xf {

class Output {
public:
    virtual ~Output() = default;

    // Requests the space for the whole file before anything is written, so that a lack of space is found early.
    virtual void reserve(uint64_t) {}
    // Writes at an offset that is at most the number of bytes that were written.
    virtual void put(uint64_t offset, const void *src, size_t bytes) = 0;
    // Completes the file. Called once, after everything was written.
    virtual void commit() {}

    // Appends to what was written with this function.
    void write(const void *src, size_t bytes) {
        if (bytes > 0) put(end_, src, bytes);
        end_ += bytes;
    }

private:
    uint64_t end_ = 0;
};

// Memory of the caller.
class MemoryOutput final : public Output {
public:
    MemoryOutput(void *data, uint64_t capacity) : data_(static_cast<char *>(data)), capacity_(capacity) {}

    void reserve(uint64_t bytes) override { check(0, bytes); }
    void put(uint64_t offset, const void *src, size_t bytes) override {
        check(offset, bytes);
        std::memcpy(data_ + offset, src, bytes);
    }

private:
    void check(uint64_t offset, uint64_t bytes) const {
        XF_CHECK(offset <= capacity_ && bytes <= capacity_ - offset, XF_ERROR_BUFFER_TOO_SMALL,
                 "the file needs at least %" PRIu64 " bytes, the buffer has %" PRIu64, offset + bytes, capacity_);
    }

    char *data_;
    uint64_t capacity_;
};

// A function of the host: any result but 0 is XF_ERROR_IO.
class CallbackOutput final : public Output {
public:
    using Write = int32_t (*)(void *user, uint64_t offset, const void *src, size_t bytes);

    CallbackOutput(Write function, void *user) : write_(function), user_(user) {}

    void put(uint64_t offset, const void *src, size_t bytes) override {
        const int32_t result = write_(user_, offset, src, bytes);
        XF_CHECK(result == 0, XF_ERROR_IO, "the write callback returned %d for %zu bytes at %" PRIu64 ", expected 0",
                 result, bytes, offset);
    }

private:
    Write write_;
    void *user_;
};

}  // namespace xf
