// See atomic_file.h for the order of the steps and why.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/atomic_file.h"

#include <atomic>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/checked.h"
#include "core/os/process.h"

namespace xf {
namespace {

constexpr const char *kPrevious = ".prev";

int open_folder(const std::string &folder, const IoOps &io) {
    const int fd = retry_interrupted([&] { return io.open(kCurrentFolder, folder.c_str(), OpenMode::kFolder, 0); });
    if (fd < 0) fail_errno(errno, "open the folder", folder);
    return fd;
}

std::string side_prefix(const std::string &name, const char *kind) {
    return format(".%s.%s.", name.substr(0, 180).c_str(), kind);
}

// Unique within the process by the counter, and between processes by the id; OpenMode::kCreate rejects the rest.
std::string side_name(const std::string &name, const char *kind) {
    static std::atomic<unsigned> counter{0};
    return side_prefix(name, kind) + format("%d.%u", process_id(), counter++);
}

// Returns whether side_name() made the name.
bool is_side_name(const char *found, const std::string &prefix) {
    if (std::strncmp(found, prefix.c_str(), prefix.size()) != 0) return false;
    const char *const rest = found + prefix.size();
    const size_t pid = std::strspn(rest, "0123456789");
    if (pid == 0 || rest[pid] != '.') return false;
    const size_t count = std::strspn(rest + pid + 1, "0123456789");
    return count > 0 && rest[pid + 1 + count] == '\0';
}

const char *kind_name(FileKind kind) {
    return kind == FileKind::kFolder   ? "a folder"
           : kind == FileKind::kPipe   ? "a pipe"
           : kind == FileKind::kSocket ? "a socket"
                                       : "a device";
}

// Reserves space without changing the length. False with errno if there is none; file systems that cannot reserve
// count as success.
bool reserve_at(int fd, uint64_t bytes, const IoOps &io) {
    if (bytes == 0) return true;
    const auto length = checked_cast<int64_t>(bytes, "the size of a file");
    const FileSizeSignalBlocked guard;
    int result = io.allocate(fd, length);
    // A timer may fire more often than a file system can reserve so much: then it is not asked for.
    for (int i = 0; i < 10 && result < 0 && errno == EINTR; ++i) result = io.allocate(fd, length);
    return result == 0 || errno == EINTR || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL;
}

// Writes all bytes at an offset. False with errno.
bool write_at(int fd, uint64_t offset, const void *src, size_t bytes, const IoOps &io) {
    checked_cast<int64_t>(checked_add<uint64_t>(offset, bytes, "the size of a file"), "the size of a file");
    const char *from = static_cast<const char *>(src);
    const FileSizeSignalBlocked guard;
    while (bytes > 0) {
        const int64_t put = retry_interrupted([&] { return io.pwrite(fd, from, bytes, offset); });
        if (put <= 0) {
            if (put == 0) errno = EIO;
            return false;
        }
        from += put;
        offset += put;
        bytes -= put;
    }
    return true;
}

}  // namespace

AtomicFile::Target AtomicFile::resolve(const std::string &path, const IoOps &io) {
    check_path(path);
    std::string real = path;
    FileStatus status = {};
    int found = io.lstat(kCurrentFolder, real.c_str(), &status);
    if (found == 0 && status.kind == FileKind::kLink) {
        if (io.realpath(path.c_str(), &real) < 0) fail_errno(errno, "follow the link", path);
        found = io.lstat(kCurrentFolder, real.c_str(), &status);
    }
    if (found < 0 && errno != ENOENT) fail_errno(errno, "examine", path);
    if (found == 0 && status.kind != FileKind::kRegular)
        throw Error(XF_ERROR_IO, format("'%s' is %s, expected a file", path.c_str(), kind_name(status.kind)),
                    status.kind == FileKind::kFolder ? EISDIR : EINVAL);
    const size_t offset = name_offset(real);
    Target target;
    target.folder = offset == 0 ? "." : real.substr(0, offset);
    target.name = real.substr(offset);
    target.permissions = found == 0 ? status.permissions : 0666;
    XF_CHECK(!target.name.empty(), XF_ERROR_INVALID_ARGUMENT, "'%s' names a folder, expected a file", path.c_str());
    XF_CHECK(target.name.size() + std::strlen(kPrevious) <= kMaxNameBytes, XF_ERROR_INVALID_ARGUMENT,
             "the name of '%s' has %zu bytes, expected at most %zu, or '%s' cannot be appended", path.c_str(),
             target.name.size(), kMaxNameBytes - std::strlen(kPrevious), kPrevious);
    return target;
}

AtomicFile::AtomicFile(const std::string &path, const IoOps &io)
    : io_(&io),
      path_(path),
      target_(resolve(path, io)),
      owner_(process_id()),
      folder_(open_folder(target_.folder, io), io),
      fd_(create_temp(), io) {}

void AtomicFile::sweep(int folder, const std::string &name, int64_t seconds) {
    const int error_number = errno;
    const std::string written = side_prefix(name, "tmp"), link = side_prefix(name, "old");
    std::vector<std::string> found;
    (void)list_folder(folder, ".", std::string_view(written).substr(0, written.size() - std::strlen("tmp.")), &found);
    for (const std::string &each : found) {
        const bool is_written = is_side_name(each.c_str(), written);
        if (!is_written && !is_side_name(each.c_str(), link)) continue;
        // The second link of a saved file is never locked.
        remove_abandoned(folder, each.c_str(), is_written, seconds);
    }
    errno = error_number;
}

AtomicFile::~AtomicFile() { remove_temp(); }

int AtomicFile::create_temp() {
    sweep(folder_.get(), target_.name);
    int fd = -1;
    for (int i = 0; i < 100 && fd < 0; ++i) {  // a killed process with the same id may have left some
        temp_ = side_name(target_.name, "tmp");
        fd = retry_interrupted(
            [&] { return io_->open(folder_.get(), temp_.c_str(), OpenMode::kCreate, target_.permissions); });
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) fail_errno(errno, "create a temporary file beside", path_);
    lock_file(fd);  // see sweep(), which deletes nothing on a file system without locks
    return fd;
}

void AtomicFile::reserve(uint64_t bytes) {
    XF_CHECK(writing_, XF_ERROR_STATE, "'%s' is no longer being written", path_.c_str());
    if (reserve_at(fd_.get(), bytes, *io_)) return;
    writing_ = false;
    fail_errno(errno, "reserve space for", path_);
}

void AtomicFile::put(uint64_t offset, const void *src, size_t bytes) {
    XF_CHECK(writing_, XF_ERROR_STATE, "'%s' is no longer being written", path_.c_str());
    if (write_at(fd_.get(), offset, src, bytes, *io_)) return;
    writing_ = false;
    fail_errno(errno, "write", path_);
}

void AtomicFile::commit() {
    XF_CHECK(writing_, XF_ERROR_STATE, "'%s' can't be committed after a failure or twice", path_.c_str());
    writing_ = false;
    if (retry_interrupted([&] { return io_->fsync(fd_.get()); }) < 0) fail_errno(errno, "flush", path_);
    if (fd_.close() < 0) fail_errno(errno, "close", path_);
    keep_old();
    if (io_->rename(folder_.get(), temp_.c_str(), target_.name.c_str()) < 0) fail_errno(errno, "replace", path_);
    temp_.clear();
    // Some network file systems cannot flush folders and do not need to.
    const int flushed = retry_interrupted([&] { return io_->fsync(folder_.get()); });
    if (flushed < 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
        fail_errno(errno, "flush the folder of the file that is now in place,", path_);
}

// Best effort, because some file systems have no hard links. rename() does nothing if both names are already the same
// file, so unlink() follows it.
void AtomicFile::keep_old() {
    // Allocated first: a failure after link() would leave the link.
    const std::string previous = target_.name + kPrevious;
    std::string link;
    int linked = -1;
    for (int i = 0; i < 100 && linked < 0; ++i) {  // like temp_
        link = side_name(target_.name, "old");
        linked = io_->link(folder_.get(), target_.name.c_str(), link.c_str());
        if (linked < 0 && errno != EEXIST) break;
    }
    if (linked < 0) return;
    (void)io_->rename(folder_.get(), link.c_str(), previous.c_str());
    if (io_->unlink(folder_.get(), link.c_str()) < 0 && errno != ENOENT) (void)io_->unlink(folder_.get(), link.c_str());
}

void AtomicFile::remove_temp() {
    if (temp_.empty() || owner_ != process_id()) return;
    if (io_->unlink(folder_.get(), temp_.c_str()) < 0 && errno != ENOENT)
        (void)io_->unlink(folder_.get(), temp_.c_str());
}

DescriptorOutput::DescriptorOutput(int fd, const IoOps &io) : io_(&io), fd_(fd), name_(format("descriptor %d", fd)) {
    FileStatus status = {};
    if (io.fstat(fd, &status) < 0) {
        XF_CHECK(errno != EBADF, XF_ERROR_INVALID_ARGUMENT, "'%s' is not open; open a regular file for writing",
                 name_.c_str());
        fail_errno(errno, "examine", name_);
    }
    if (status.kind != FileKind::kRegular)
        throw Error(XF_ERROR_IO, format("'%s' is %s, expected a regular file", name_.c_str(), kind_name(status.kind)),
                    status.kind == FileKind::kFolder ? EISDIR : EINVAL);
    XF_CHECK(!is_append_only(fd), XF_ERROR_INVALID_ARGUMENT,
             "'%s' appends every write (O_APPEND), expected one that writes at any offset", name_.c_str());
    if (retry_interrupted([&] { return truncate_file(fd); }) < 0) fail_errno(errno, "truncate", name_);
}

void DescriptorOutput::reserve(uint64_t bytes) {
    if (!reserve_at(fd_, bytes, *io_)) fail_errno(errno, "reserve space for", name_);
}

void DescriptorOutput::put(uint64_t offset, const void *src, size_t bytes) {
    if (!write_at(fd_, offset, src, bytes, *io_)) fail_errno(errno, "write", name_);
}

void DescriptorOutput::commit() {
    if (retry_interrupted([&] { return io_->fsync(fd_); }) < 0) fail_errno(errno, "flush", name_);
}

}  // namespace xf
