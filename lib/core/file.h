// Reading files that may be hostile, and the table of system calls that all file code goes through.
//
// Files are read() into private memory, never mapped: a file that shrinks under a mapping kills the process. The
// size is known and limited before anything is allocated. The trap: open() of a FIFO blocks for ever and a device
// has no size, so both are refused.
//
// IoOps exists for tests: they fail the n-th call for every n (tests/core/fault_io.hpp).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/input.h"

namespace xf {

// Each member acts like the POSIX function of its name, errno included. `folder` is a descriptor or AT_FDCWD.
struct IoOps {
    int (*open)(int folder, const char *path, int flags, mode_t mode);
    int (*close)(int fd);
    int (*fstat)(int fd, struct stat *status);
    int (*lstat)(int folder, const char *path, struct stat *status);
    char *(*realpath)(const char *path, char *resolved);
    ssize_t (*pread)(int fd, void *dst, size_t bytes, off_t offset);
    ssize_t (*pwrite)(int fd, const void *src, size_t bytes, off_t offset);
    int (*allocate)(int fd, off_t bytes);  // space without changing the length; never emulated by writing zeros
    int (*fsync)(int fd);
    int (*link)(int folder, const char *from, const char *to);
    int (*rename)(int folder, const char *from, const char *to);
    int (*unlink)(int folder, const char *path);
};

const IoOps &posix_io();

// Repeats a call that a signal interrupted. Bounded, so that a broken file system can't hold the caller for ever.
template <class Call>
auto retry_interrupted(Call call) {
    auto result = call();
    for (int i = 0; i < 1000 && result < 0 && errno == EINTR; ++i) result = call();
    return result;
}

// open() with a result above 2. In a process without standard streams an opened file is given their numbers, and what
// the host prints would end up in it. -1 with errno.
int open_above_standard(int folder, const char *path, int flags, mode_t mode);

// A descriptor that is closed with its owner. close() may be checked; its failure still gives the descriptor back.
class Fd {
public:
    Fd(int fd, const IoOps &io) : fd_(fd), io_(&io) {}
    Fd(const Fd &) = delete;
    Fd &operator=(const Fd &) = delete;
    ~Fd() { close(); }
    int get() const { return fd_; }
    int close();  // 0 or -1 with errno; an interrupted close has closed

private:
    int fd_;
    const IoOps *io_;
};

// Throws XF_ERROR_INVALID_ARGUMENT for an empty path and for one with a NUL inside, which open() would cut off.
void check_path(const std::string &path);

// A regular file, open for reading at any offset.
class InputFile final : public Input {
public:
    explicit InputFile(std::string path, const IoOps &io = posix_io());
    // A descriptor that stays the caller's; its position is neither used nor changed. XF_ERROR_INVALID_ARGUMENT when it
    // is not open.
    explicit InputFile(int fd, const IoOps &io = posix_io());

private:
    void examine();
    void fetch(uint64_t offset, void *dst, size_t bytes) const override;

    const IoOps *io_;
    Fd own_;  // closed with the object; -1 for a descriptor of the caller's
    int fd_;
};

// The whole file; XF_ERROR_LIMIT, before anything is allocated, when it is longer than max_bytes.
std::string read_file(const std::string &path, uint64_t max_bytes, const IoOps &io = posix_io());

}  // namespace xf
