// Bytes that may be read at any offset, and that may be hostile: a file, memory, or what a host gives on demand.
//
// Who reads a model sees this interface alone, so a limit, a check or a checksum can't be forgotten for one of them.
// The size is told once, at the start, and everything is held to it. The trap: two reads of one place may differ,
// because a file is written to, memory belongs to a host, and a callback may say what it likes. So what was checked is
// what was copied, and it is never fetched again.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace xf {

class Input {
public:
    virtual ~Input() = default;
    Input(const Input &) = delete;
    Input &operator=(const Input &) = delete;

    const std::string &name() const { return name_; }  // for messages: a path, or "memory"
    uint64_t size() const { return size_; }

    // All of [offset, offset + bytes); XF_ERROR_CORRUPT when it ends before, XF_ERROR_IO when reading fails.
    void read_at(uint64_t offset, void *dst, size_t bytes) const;

protected:
    explicit Input(std::string name, uint64_t size = 0) : name_(std::move(name)), size_(size) {}
    // The same; the range is within size().
    virtual void fetch(uint64_t offset, void *dst, size_t bytes) const = 0;

    std::string name_;
    uint64_t size_;
};

// Bytes that stay the caller's and live as long as the object.
class MemoryInput final : public Input {
public:
    MemoryInput(const void *data, uint64_t size, std::string name = "memory")
        : Input(std::move(name), size), data_(static_cast<const char *>(data)) {}

private:
    void fetch(uint64_t offset, void *dst, size_t bytes) const override;
    const char *data_;
};

// Bytes that a function of the host gives: anything but 0 is XF_ERROR_IO.
class CallbackInput final : public Input {
public:
    using Read = int32_t (*)(void *user, uint64_t offset, void *dst, size_t bytes);

    CallbackInput(Read read, void *user, uint64_t size) : Input("the read callback", size), read_(read), user_(user) {}

private:
    void fetch(uint64_t offset, void *dst, size_t bytes) const override;
    Read read_;
    void *user_;
};

}  // namespace xf
