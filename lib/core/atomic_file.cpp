// See atomic_file.h for the order of the steps and why.
//
// The trap: a write beyond RLIMIT_FSIZE raises SIGXFSZ, which kills the host by default. It is blocked around every
// call that can grow the file and taken away again when it was ours; the caller sees EFBIG.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "core/checked.h"

namespace xf {
namespace {

constexpr const char *kPrevious = ".prev";

class SigxfszGuard {
public:
    SigxfszGuard() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGXFSZ);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
        pthread_sigmask(SIG_BLOCK, &set_, &before_);
    }
    ~SigxfszGuard() {
        const int error_number = errno;
        sigset_t pending;
        sigpending(&pending);
        const timespec now = {0, 0};
        if (!was_pending_ && sigismember(&pending, SIGXFSZ) == 1) sigtimedwait(&set_, nullptr, &now);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = error_number;
    }
    SigxfszGuard(const SigxfszGuard &) = delete;
    SigxfszGuard &operator=(const SigxfszGuard &) = delete;

private:
    sigset_t set_, before_;
    bool was_pending_;
};

int open_folder(const std::string &folder, const IoOps &io) {
    const int fd =
        retry_interrupted([&] { return io.open(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0); });
    if (fd < 0) fail_errno(errno, "open the folder", folder);
    return fd;
}

std::string side_prefix(const std::string &name, const char *kind) {
    return format(".%s.%s.", name.substr(0, 180).c_str(), kind);
}

// Unique within the process by the counter and between processes by the pid; O_EXCL catches the rest.
std::string side_name(const std::string &name, const char *kind) {
    static std::atomic<unsigned> counter{0};
    return side_prefix(name, kind) + format("%ld.%u", static_cast<long>(getpid()), counter++);
}

// Whether a name is side_name()'s.
bool is_side_name(const char *found, const std::string &prefix) {
    if (std::strncmp(found, prefix.c_str(), prefix.size()) != 0) return false;
    const char *const rest = found + prefix.size();
    const size_t pid = std::strspn(rest, "0123456789");
    if (pid == 0 || rest[pid] != '.') return false;
    const size_t count = std::strspn(rest + pid + 1, "0123456789");
    return count > 0 && rest[pid + 1 + count] == '\0';
}

// Whether the file is ours, so old, and in no writer's hands. A second link of a saved file never is.
bool is_stale(int folder, const char *name, bool may_be_written, int64_t seconds) {
    struct stat status;
    const int fd = open_above_standard(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) return false;
    const bool stale = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
                       ::time(nullptr) - status.st_ctime >= seconds &&
                       (!may_be_written || ::flock(fd, LOCK_EX | LOCK_NB) == 0);
    ::close(fd);
    return stale;
}

const char *kind_of(mode_t mode) {
    return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

}  // namespace

AtomicFile::Target AtomicFile::resolve(const std::string &path, const IoOps &io, bool keep_previous) {
    check_path(path);
    std::string real = path;
    struct stat status = {};
    int found = io.lstat(AT_FDCWD, real.c_str(), &status);
    if (found == 0 && S_ISLNK(status.st_mode)) {
        char buffer[PATH_MAX];
        if (!io.realpath(path.c_str(), buffer)) fail_errno(errno, "follow the link", path);
        real = buffer;
        found = io.lstat(AT_FDCWD, real.c_str(), &status);
    }
    if (found < 0 && errno != ENOENT) fail_errno(errno, "examine", path);
    if (found == 0 && !S_ISREG(status.st_mode))
        throw Error(XF_ERROR_IO, format("'%s' is %s, expected a file", path.c_str(), kind_of(status.st_mode)),
                    S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
    const size_t slash = real.rfind('/');
    Target target;
    target.folder = slash == std::string::npos ? "." : real.substr(0, slash + 1);
    target.name = slash == std::string::npos ? real : real.substr(slash + 1);
    target.mode = found == 0 ? status.st_mode & 0666 : 0666;
    XF_CHECK(!target.name.empty(), XF_ERROR_INVALID_ARGUMENT, "'%s' names a folder, expected a file", path.c_str());
    XF_CHECK(!keep_previous || target.name.size() + std::strlen(kPrevious) <= NAME_MAX, XF_ERROR_INVALID_ARGUMENT,
             "the name of '%s' has %zu bytes, expected at most %zu, or '%s' would not fit behind it", path.c_str(),
             target.name.size(), NAME_MAX - std::strlen(kPrevious), kPrevious);
    return target;
}

AtomicFile::AtomicFile(const std::string &path, const IoOps &io, bool keep_previous)
    : AtomicFile(path, resolve(path, io, keep_previous), io, keep_previous) {}

AtomicFile::AtomicFile(const std::string &path, const Target &target, const IoOps &io, bool keep_previous)
    : io_(&io),
      path_(path),
      name_(target.name),
      keep_previous_(keep_previous),
      owner_(getpid()),
      folder_(open_folder(target.folder, io), io),
      fd_(create_temp(target.mode), io) {}

void AtomicFile::sweep(int folder, const std::string &name, int64_t seconds) {
    const int error_number = errno;
    const std::string written = side_prefix(name, "tmp"), link = side_prefix(name, "old");
    const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const entries = fd >= 0 ? ::fdopendir(fd) : nullptr;
    if (entries == nullptr && fd >= 0) ::close(fd);
    if (entries == nullptr) return;
    while (const dirent *const entry = ::readdir(entries)) {
        const bool is_written = is_side_name(entry->d_name, written);
        if (!is_written && !is_side_name(entry->d_name, link)) continue;
        if (is_stale(folder, entry->d_name, is_written, seconds)) (void)::unlinkat(folder, entry->d_name, 0);
    }
    ::closedir(entries);
    errno = error_number;
}

AtomicFile::~AtomicFile() { remove_temp(); }

int AtomicFile::create_temp(mode_t mode) {
    sweep(folder_.get(), name_);
    old_link_ = side_name(name_, "old");
    int fd = -1;
    for (int i = 0; i < 100 && fd < 0; ++i) {  // a killed process of the same pid may have left some
        temp_ = side_name(name_, "tmp");
        fd = retry_interrupted(
            [&] { return io_->open(folder_.get(), temp_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode); });
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) fail_errno(errno, "create a temporary file beside", path_);
    (void)::flock(fd, LOCK_EX | LOCK_NB);  // see sweep(); where there are no locks nothing is swept
    return fd;
}

void AtomicFile::reserve(uint64_t bytes) {
    XF_CHECK(state_ == State::kWriting, XF_ERROR_STATE, "'%s' is no longer being written", path_.c_str());
    if (bytes == 0) return;
    const off_t length = checked_cast<off_t>(bytes, "the size of a file");
    const SigxfszGuard guard;
    int result = io_->allocate(fd_.get(), length);
    // A timer may fire more often than a file system can give so much: then it is not asked for.
    for (int i = 0; i < 10 && result < 0 && errno == EINTR; ++i) result = io_->allocate(fd_.get(), length);
    if (result == 0 || errno == EINTR || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return;
    state_ = State::kFailed;
    fail_errno(errno, "reserve space for", path_);
}

void AtomicFile::write(const void *src, size_t bytes) {
    put(size_, src, bytes);
    size_ += bytes;
}

void AtomicFile::rewrite(uint64_t offset, const void *src, size_t bytes) {
    XF_CHECK(offset <= size_ && bytes <= size_ - offset, XF_ERROR_INTERNAL, "a rewrite beyond the end of '%s'",
             path_.c_str());
    put(offset, src, bytes);
}

void AtomicFile::put(uint64_t offset, const void *src, size_t bytes) {
    XF_CHECK(state_ == State::kWriting, XF_ERROR_STATE, "'%s' is no longer being written", path_.c_str());
    checked_cast<off_t>(checked_add<uint64_t>(offset, bytes, "the size of a file"), "the size of a file");
    const char *from = static_cast<const char *>(src);
    const SigxfszGuard guard;
    while (bytes > 0) {
        const ssize_t put =
            retry_interrupted([&] { return io_->pwrite(fd_.get(), from, bytes, static_cast<off_t>(offset)); });
        if (put <= 0) {
            state_ = State::kFailed;
            fail_errno(put < 0 ? errno : EIO, "write", path_);
        }
        from += put;
        offset += static_cast<uint64_t>(put);
        bytes -= static_cast<size_t>(put);
    }
}

void AtomicFile::commit() {
    XF_CHECK(state_ == State::kWriting, XF_ERROR_STATE, "'%s' can't be committed after a failure or twice",
             path_.c_str());
    state_ = State::kFailed;
    if (retry_interrupted([&] { return io_->fsync(fd_.get()); }) < 0) fail_errno(errno, "flush", path_);
    if (fd_.close() < 0) fail_errno(errno, "close", path_);
    if (keep_previous_) keep_old();
    if (io_->rename(folder_.get(), temp_.c_str(), name_.c_str()) < 0) fail_errno(errno, "replace", path_);
    temp_.clear();
    // Some network file systems flush no folders, and have no need to.
    const int flushed = retry_interrupted([&] { return io_->fsync(folder_.get()); });
    if (flushed < 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
        fail_errno(errno, "flush the folder of the file that is now in place,", path_);
    state_ = State::kDone;
}

// Best effort, because some file systems have no hard links. rename() does nothing when both names are already the
// same file, hence the unlink after it.
void AtomicFile::keep_old() {
    const std::string previous = name_ + kPrevious;  // nothing may fail behind the link, which would stay
    if (io_->link(folder_.get(), name_.c_str(), old_link_.c_str()) < 0) return;
    (void)io_->rename(folder_.get(), old_link_.c_str(), previous.c_str());
    if (io_->unlink(folder_.get(), old_link_.c_str()) < 0 && errno != ENOENT)
        (void)io_->unlink(folder_.get(), old_link_.c_str());
}

void AtomicFile::remove_temp() {
    if (temp_.empty() || owner_ != getpid()) return;
    if (io_->unlink(folder_.get(), temp_.c_str()) < 0 && errno != ENOENT)
        (void)io_->unlink(folder_.get(), temp_.c_str());
}

}  // namespace xf
