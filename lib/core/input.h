// A source of untrusted bytes with random access: a file, memory, or a callback of the host.
//
// All model loading goes through this interface, so limits and checksums apply to every source. The size is fixed at
// the start. Two reads of the same range may return different bytes, because another process may write to the file and
// the host owns the memory and the callback. Therefore code must check its copy of the data and never read the range
// again.
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
    virtual bool is_path() const { return false; }  // whether the name is a path

    // Reads [offset, offset + bytes). Throws XF_ERROR_CORRUPT if the source ends before, XF_ERROR_IO if reading fails.
    void read_at(uint64_t offset, void *dst, size_t bytes) const;

protected:
    explicit Input(std::string name, uint64_t size = 0) : name_(std::move(name)), size_(size) {}
    // Implements read_at(); the range is within size().
    virtual void fetch(uint64_t offset, void *dst, size_t bytes) const = 0;

    std::string name_;
    uint64_t size_;
};

// All bytes; XF_ERROR_LIMIT, before anything is allocated, if there are more than max_bytes.
std::string read_all(const Input &input, uint64_t max_bytes);

// Memory that the caller owns and that must outlive the object.
class MemoryInput final : public Input {
public:
    MemoryInput(const void *data, uint64_t size, std::string name = "memory")
        : Input(std::move(name), size), data_(static_cast<const char *>(data)) {}

private:
    void fetch(uint64_t offset, void *dst, size_t bytes) const override;
    const char *data_;
};

// Bytes from a callback of the host. A nonzero return value becomes XF_ERROR_IO.
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
