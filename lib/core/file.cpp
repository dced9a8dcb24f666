// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <cinttypes>
#include <cstring>
#include <utility>

#include "core/checked.h"

namespace xf {
namespace {

int open_to_read(const std::string &path, const IoOps &io) {
    check_path(path);
    const int fd = retry_interrupted([&] { return io.open(kCurrentFolder, path.c_str(), OpenMode::kRead, 0); });
    if (fd < 0) fail_errno(errno, "open", path);
    return fd;
}

}  // namespace

void Input::read_at(uint64_t offset, void *dst, size_t bytes) const {
    XF_CHECK(offset <= size_ && bytes <= size_ - offset, XF_ERROR_CORRUPT,
             "'%s' has %" PRIu64 " bytes, expected %zu at byte %" PRIu64, name_.c_str(), size_, bytes, offset);
    if (bytes > 0) fetch(offset, dst, bytes);
}

std::string read_all(const Input &input, uint64_t max_bytes) {
    XF_CHECK(input.size() <= max_bytes, XF_ERROR_LIMIT, "'%s' has %" PRIu64 " bytes; the maximum is %" PRIu64,
             input.name().c_str(), input.size(), max_bytes);
    std::string text(checked_cast<size_t>(input.size(), "the size of a file"), '\0');
    input.read_at(0, text.data(), text.size());
    return text;
}

void MemoryInput::fetch(uint64_t offset, void *dst, size_t bytes) const { std::memcpy(dst, data_ + offset, bytes); }

void CallbackInput::fetch(uint64_t offset, void *dst, size_t bytes) const {
    const int32_t result = read_(user_, offset, dst, bytes);
    if (result == 0) return;
    throw Error(
        XF_ERROR_IO,
        format("the read callback returned %d for %zu bytes at byte %" PRIu64 ", expected 0", result, bytes, offset),
        result);
}

int Fd::close() {
    if (fd_ < 0) return 0;
    const int result = io_->close(std::exchange(fd_, -1));
    return result < 0 && errno == EINTR ? 0 : result;  // closed already: another file may have the number
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
    FileStatus status = {};
    if (io_->fstat(fd_, &status) < 0) {
        XF_CHECK(errno != EBADF, XF_ERROR_INVALID_ARGUMENT, "'%s' is not open, expected one of a regular file",
                 name_.c_str());
        fail_errno(errno, "examine", name_);
    }
    if (status.kind == FileKind::kFolder)
        throw Error(XF_ERROR_IO, format("'%s' is a folder, expected a file", name_.c_str()), EISDIR);
    if (status.kind != FileKind::kRegular)
        throw Error(XF_ERROR_IO, format("'%s' is a device, FIFO or socket, expected a regular file", name_.c_str()),
                    EINVAL);
    size_ = checked_cast<uint64_t>(status.size, "the size of a file");
}

void InputFile::fetch(uint64_t offset, void *dst, size_t bytes) const {
    char *to = static_cast<char *>(dst);
    while (bytes > 0) {
        const int64_t got = retry_interrupted([&] { return io_->pread(fd_, to, bytes, offset); });
        if (got < 0) fail_errno(errno, "read", name_);
        XF_CHECK(got > 0, XF_ERROR_CORRUPT,
                 "'%s' ended at byte %" PRIu64 " while it was read, expected %" PRIu64 " bytes", name_.c_str(), offset,
                 size_);
        to += got;
        offset += got;
        bytes -= got;
    }
}

}  // namespace xf
