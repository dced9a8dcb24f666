// Sources of untrusted bytes with random access: a file, memory, or a callback of the host.
//
// All model loading goes through Input, so limits and checksums apply to every source. The size is fixed at the start.
// Two reads of the same range may return different bytes, because another process may write to the file and the host
// owns the memory and the callback. Therefore code must check its copy of the data and never read the range again.
//
// Files are read into private memory and never mapped: a file that shrinks under a mapping kills the process. Only
// regular files are accepted: opening a FIFO can block forever, and a device has no size.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/os/file.h"

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

// Repeats a call that a signal interrupted, at most 1,000 times: a broken file system must not hold the caller forever.
template <class Call>
auto retry_interrupted(Call call) {
    auto result = call();
    for (int i = 0; i < 1000 && result < 0 && errno == EINTR; ++i) result = call();
    return result;
}

// A descriptor that is closed with its owner. A close() that fails has closed the descriptor too.
class Fd {
public:
    Fd(int fd, const IoOps &io) : fd_(fd), io_(&io) {}
    Fd(const Fd &) = delete;
    Fd &operator=(const Fd &) = delete;
    ~Fd() { close(); }
    int get() const { return fd_; }
    int close();  // 0, or -1 with errno; an interrupted close succeeds

private:
    int fd_;
    const IoOps *io_;
};

// Throws XF_ERROR_INVALID_ARGUMENT if the path is empty or contains a NUL, where open() would cut it off.
void check_path(const std::string &path);

// A regular file, open for reading at any offset.
class InputFile final : public Input {
public:
    explicit InputFile(std::string path, const IoOps &io = system_io());
    // A descriptor that the caller owns. Its position is neither used nor changed. Throws XF_ERROR_INVALID_ARGUMENT if
    // it is not open.
    explicit InputFile(int fd, const IoOps &io = system_io());

    bool is_path() const override { return own_.get() >= 0; }

private:
    void examine();
    void fetch(uint64_t offset, void *dst, size_t bytes) const override;

    const IoOps *io_;
    Fd own_;  // -1 if the caller owns the descriptor
    int fd_;
};

}  // namespace xf
