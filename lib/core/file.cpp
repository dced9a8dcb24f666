// The real system calls, and reading; see file.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <utility>

#include "core/checked.h"

namespace xf {
namespace {

const IoOps kPosix = {
    .open = open_above_standard,
    .close = [](int fd) { return ::close(fd); },
    .fstat = [](int fd, struct stat *status) { return ::fstat(fd, status); },
    .lstat = [](int folder, const char *path,
                struct stat *status) { return ::fstatat(folder, path, status, AT_SYMLINK_NOFOLLOW); },
    .realpath = [](const char *path, char *resolved) { return ::realpath(path, resolved); },
    .pread = [](int fd, void *dst, size_t bytes, off_t offset) { return ::pread(fd, dst, bytes, offset); },
    .pwrite = [](int fd, const void *src, size_t bytes, off_t offset) { return ::pwrite(fd, src, bytes, offset); },
    .allocate = [](int fd, off_t bytes) { return ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes); },
    .fsync = [](int fd) { return ::fsync(fd); },
    .link = [](int folder, const char *from, const char *to) { return ::linkat(folder, from, folder, to, 0); },
    .rename = [](int folder, const char *from, const char *to) { return ::renameat(folder, from, folder, to); },
    .unlink = [](int folder, const char *path) { return ::unlinkat(folder, path, 0); },
};

// O_NONBLOCK: a FIFO without a writer must not hold the caller; it means nothing for regular files.
int open_to_read(const std::string &path, const IoOps &io) {
    check_path(path);
    const int fd = retry_interrupted(
        [&] { return io.open(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0); });
    if (fd < 0) fail_errno(errno, "open", path);
    return fd;
}

}  // namespace

const IoOps &posix_io() { return kPosix; }

int open_above_standard(int folder, const char *path, int flags, mode_t mode) {
    const int fd = ::openat(folder, path, flags, mode);
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    const int above = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error_number = errno == EINVAL ? EMFILE : errno;  // EINVAL: 3 is beyond the limit already
    ::close(fd);
    if (above < 0 && (flags & O_EXCL) != 0) (void)::unlinkat(folder, path, 0);  // it is new, and nobody's
    errno = error_number;
    return above;
}

int Fd::close() {
    if (fd_ < 0) return 0;
    const int result = io_->close(std::exchange(fd_, -1));
    return result < 0 && errno == EINTR ? 0 : result;  // Linux has given the descriptor back: closing again is a bug
}

void check_path(const std::string &path) {
    XF_CHECK(!path.empty(), XF_ERROR_INVALID_ARGUMENT, "the path is empty, expected the name of a file");
    XF_CHECK(path.find('\0') == std::string::npos, XF_ERROR_INVALID_ARGUMENT,
             "the path '%s' has a NUL byte inside, expected none", path.c_str());
}

InputFile::InputFile(std::string path, const IoOps &io)
    : Input(std::move(path)), io_(&io), own_(open_to_read(name_, io), io), fd_(own_.get()) {
    examine();
}

InputFile::InputFile(int fd, const IoOps &io) : Input(format("descriptor %d", fd)), io_(&io), own_(-1, io), fd_(fd) {
    examine();
}

void InputFile::examine() {
    struct stat status = {};
    if (io_->fstat(fd_, &status) < 0) {
        XF_CHECK(errno != EBADF, XF_ERROR_INVALID_ARGUMENT, "'%s' is not open, expected one of a regular file",
                 name_.c_str());
        fail_errno(errno, "examine", name_);
    }
    if (S_ISDIR(status.st_mode))
        throw Error(XF_ERROR_IO, format("'%s' is a folder, expected a file", name_.c_str()), EISDIR);
    if (!S_ISREG(status.st_mode))
        throw Error(XF_ERROR_IO, format("'%s' is a device, FIFO or socket, expected a regular file", name_.c_str()),
                    EINVAL);
    size_ = checked_cast<uint64_t>(status.st_size, "the size of a file");
}

void InputFile::fetch(uint64_t offset, void *dst, size_t bytes) const {
    char *to = static_cast<char *>(dst);
    while (bytes > 0) {
        const ssize_t got = retry_interrupted([&] { return io_->pread(fd_, to, bytes, static_cast<off_t>(offset)); });
        if (got < 0) fail_errno(errno, "read", name_);
        XF_CHECK(got > 0, XF_ERROR_CORRUPT, "'%s' ended at byte %llu while it was read, expected %llu bytes",
                 name_.c_str(), static_cast<unsigned long long>(offset), static_cast<unsigned long long>(size_));
        to += got;
        offset += static_cast<uint64_t>(got);
        bytes -= static_cast<size_t>(got);
    }
}

std::string read_file(const std::string &path, uint64_t max_bytes, const IoOps &io) {
    const InputFile file(path, io);
    XF_CHECK(file.size() <= max_bytes, XF_ERROR_LIMIT, "'%s' has %llu bytes, expected at most %llu", path.c_str(),
             static_cast<unsigned long long>(file.size()), static_cast<unsigned long long>(max_bytes));
    std::string text(checked_cast<size_t>(file.size(), "the size of a file"), '\0');
    file.read_at(0, text.data(), text.size());
    return text;
}

}  // namespace xf
