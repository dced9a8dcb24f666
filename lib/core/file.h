// Reading files that may be hostile.
//
// Files are read into private memory and never mapped: a file that shrinks under a mapping kills the process. The size
// is known and limited before anything is allocated. Only regular files are accepted: opening a FIFO can block forever,
// and a device has no size.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/input.h"
#include "core/os/file.h"

namespace xf {

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

// Returns the whole file. Throws XF_ERROR_LIMIT, before it allocates anything, if the file is longer than max_bytes.
std::string read_file(const std::string &path, uint64_t max_bytes, const IoOps &io = system_io());

}  // namespace xf
