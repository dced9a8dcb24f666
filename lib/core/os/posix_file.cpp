// See file.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/os/posix_differences.h"
#include "core/os/standard_numbers.h"

namespace xf {

const int kCurrentFolder = AT_FDCWD;
const char kListSeparator = ':';
static_assert(kMaxNameBytes == NAME_MAX);

bool is_absolute_path(std::string_view path) { return path.starts_with('/'); }
size_t name_offset(std::string_view path) { return path.rfind('/') + 1; }

namespace {

// The loop is for another thread that opens a file at the same time: the numbers that it has taken become free. A file
// that was created with such a number is not used, but removed.
int open_above_standard(int folder, const char *path, int flags, mode_t permissions) {
    int low[STDERR_FILENO + 1];
    int count = 0, fd = -1;
    {
        const StandardNumbersTaken taken;
        fd = ::openat(folder, path, flags, permissions);
    }
    while (fd >= 0 && fd <= STDERR_FILENO) {
        if ((flags & O_EXCL) != 0) (void)::unlinkat(folder, path, 0);  // this call created it
        if (count > STDERR_FILENO) {                                   // the host closed one of them meanwhile
            ::close(std::exchange(fd, -1));
            errno = EMFILE;
            break;
        }
        low[count++] = fd;
        fd = ::openat(folder, path, flags, permissions);
    }
    const int error_number = errno;
    while (count > 0) ::close(low[--count]);
    errno = error_number;
    return fd;
}

int open_mode(int folder, const char *path, OpenMode mode, uint32_t permissions) {
    switch (mode) {
        case OpenMode::kRead:
            // Opening a pipe without a writer must not hold the caller; O_NONBLOCK does nothing to regular files.
            return open_above_standard(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
        case OpenMode::kFolder:
            return open_above_standard(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        default:
            return open_above_standard(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
    }
}

int take(int result, const struct stat &found, FileStatus *status) {
    if (result < 0) return result;
    const mode_t mode = found.st_mode;
    status->kind = S_ISREG(mode)    ? FileKind::kRegular
                   : S_ISDIR(mode)  ? FileKind::kFolder
                   : S_ISLNK(mode)  ? FileKind::kLink
                   : S_ISFIFO(mode) ? FileKind::kPipe
                   : S_ISSOCK(mode) ? FileKind::kSocket
                                    : FileKind::kDevice;
    status->size = found.st_size;
    status->permissions = mode & 0666;
    return result;
}

int status_of(int fd, FileStatus *status) {
    struct stat found;
    return take(::fstat(fd, &found), found, status);
}

int status_of_link(int folder, const char *path, FileStatus *status) {
    struct stat found;
    return take(::fstatat(folder, path, &found, AT_SYMLINK_NOFOLLOW), found, status);
}

int resolve_path(const char *path, std::string *resolved) {
    char buffer[PATH_MAX];
    if (::realpath(path, buffer) == nullptr) return -1;
    *resolved = buffer;
    return 0;
}

const IoOps kSystem = {
    .open = open_mode,
    .close = [](int fd) { return ::close(fd); },
    .fstat = status_of,
    .lstat = status_of_link,
    .realpath = resolve_path,
    .pread = [](int fd, void *dst, size_t bytes, int64_t offset) -> int64_t { return ::pread(fd, dst, bytes, offset); },
    .pwrite = [](int fd, const void *src, size_t bytes, int64_t offset) -> int64_t {
        return ::pwrite(fd, src, bytes, offset);
    },
    .allocate = allocate_blocks,
    .fsync = flush_to_disk,
    .link = [](int folder, const char *from, const char *to) { return ::linkat(folder, from, folder, to, 0); },
    .rename = [](int folder, const char *from, const char *to) { return ::renameat(folder, from, folder, to); },
    .unlink = [](int folder, const char *path) { return ::unlinkat(folder, path, 0); },
};

}  // namespace

const IoOps &system_io() { return kSystem; }

int stat_file(const char *path, FileStatus *status) {
    struct stat found;
    return take(::stat(path, &found), found, status);
}

bool file_exists(const char *path) { return ::access(path, F_OK) == 0; }

int make_folder(const char *path) { return ::mkdir(path, 0777); }

int truncate_file(int fd) { return ::ftruncate(fd, 0); }

bool is_append_only(int fd) { return (::fcntl(fd, F_GETFL) & O_APPEND) != 0; }

int64_t read_file_some(int fd, void *dst, size_t bytes) { return ::read(fd, dst, bytes); }

void wait_readable(int fd, int milliseconds) {
    pollfd wanted{fd, POLLIN, 0};
    (void)::poll(&wanted, 1, milliseconds);
}

int list_folder(int folder, const char *path, std::string_view prefix, std::vector<std::string> *names) {
    const int fd = ::openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    const std::unique_ptr<DIR, int (*)(DIR *)> entries(::fdopendir(fd), ::closedir);
    if (entries == nullptr) {
        ::close(fd);
        return -1;
    }
    for (;;) {
        errno = 0;
        const dirent *const entry = ::readdir(entries.get());
        if (entry == nullptr) return errno == 0 ? 0 : -1;
        if (std::string_view(entry->d_name).starts_with(prefix)) names->emplace_back(entry->d_name);
    }
}

void lock_file(int fd) { (void)::flock(fd, LOCK_EX | LOCK_NB); }

void remove_abandoned(int folder, const char *name, bool lockable, int64_t seconds) {
    struct stat found, named;
    const auto is_old = [&] {
        return S_ISREG(found.st_mode) && found.st_uid == ::geteuid() && ::time(nullptr) - found.st_ctime >= seconds;
    };
    // Examined first, because opening a file of another process for writing has a risk; NFS locks need it.
    if (::fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0 || !is_old()) return;
    const int how = (lockable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    const int fd = open_above_standard(folder, name, how, 0);
    if (fd < 0) return;
    // Removed before the lock is released, and only if the name still is this file: another process may have removed it
    // and have created its own.
    if (::fstat(fd, &found) == 0 && is_old() && (!lockable || ::flock(fd, LOCK_EX | LOCK_NB) == 0) &&
        ::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_dev == found.st_dev &&
        named.st_ino == found.st_ino)
        (void)::unlinkat(folder, name, 0);
    ::close(fd);
}

FileSizeSignalBlocked::FileSizeSignalBlocked() {
    static_assert(sizeof(sigset_t) <= sizeof saved_);
    sigset_t set, before, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &set, &before);
    std::memcpy(saved_, &before, sizeof before);
}

FileSizeSignalBlocked::~FileSizeSignalBlocked() {
    const int error_number = errno;
    sigset_t before, pending;
    sigpending(&pending);
    if (!was_pending_ && sigismember(&pending, SIGXFSZ) == 1) discard_signal(SIGXFSZ);
    std::memcpy(&before, saved_, sizeof before);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error_number;
}

}  // namespace xf
