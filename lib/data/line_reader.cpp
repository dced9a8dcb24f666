// Reading bytes and finding line ends; see line_reader.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/file.h"

namespace xf {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr int kPatienceMs = 100;

class FileSource final : public ByteSource {
public:
    explicit FileSource(const std::string &path) : path_(path) {
        XF_CHECK(path.find('\0') == std::string::npos, XF_ERROR_INVALID_ARGUMENT, "the path '%s' holds a NUL byte",
                 path.c_str());
        do {
            // O_NONBLOCK: opening a pipe to which nobody writes would wait for ever; so it is an empty file.
            fd_ = open_above_standard(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
        } while (fd_ < 0 && errno == EINTR);
        if (fd_ < 0) fail_errno(errno, "open", path);
        try {
            examine();
        } catch (...) {
            ::close(fd_);
            throw;
        }
    }
    FileSource(const FileSource &) = delete;
    FileSource &operator=(const FileSource &) = delete;
    ~FileSource() override { ::close(fd_); }

    // A pipe is not waited for in read(), which a signal need not end: who waits can be cancelled.
    size_t read(char *dst, size_t size) override {
        const ssize_t got = ::read(fd_, dst, size);
        if (got >= 0) return static_cast<size_t>(got);
        if (errno == EAGAIN) {
            pollfd wanted{fd_, POLLIN, 0};
            (void)::poll(&wanted, 1, kPatienceMs);
        } else if (errno != EINTR) {
            fail_errno(errno, "read", path_);
        }
        return kNoneYet;
    }

    uint64_t size_hint() const override { return size_; }

private:
    void examine() {
        struct stat info;
        if (::fstat(fd_, &info) != 0) fail_errno(errno, "examine", path_);
        if (S_ISDIR(info.st_mode)) fail_errno(EISDIR, "open", path_);
        // A device such as /dev/zero or /dev/full never ends.
        XF_CHECK(S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode), XF_ERROR_IO,
                 "cannot open '%s': expected a regular file or a pipe, found another kind of file", path_.c_str());
        if (S_ISREG(info.st_mode) && info.st_size > 0) size_ = static_cast<uint64_t>(info.st_size);
    }

    std::string path_;
    int fd_ = -1;
    uint64_t size_ = 0;
};

class MemorySource final : public ByteSource {
public:
    explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
    size_t read(char *dst, size_t size) override {
        const size_t count = std::min(size, bytes_.size());
        if (count > 0) std::memcpy(dst, bytes_.data(), count);
        bytes_.remove_prefix(count);
        return count;
    }
    uint64_t size_hint() const override { return bytes_.size(); }

private:
    std::string_view bytes_;
};

}  // namespace

std::unique_ptr<ByteSource> open_file_source(const std::string &path) { return std::make_unique<FileSource>(path); }

std::unique_ptr<ByteSource> memory_source(std::string_view bytes) { return std::make_unique<MemorySource>(bytes); }

LineReader::LineReader(std::unique_ptr<ByteSource> source, size_t max_line_bytes, const Call &call)
    : source_(std::move(source)), max_line_bytes_(max_line_bytes), call_(call) {}

// Makes room, then reads one block. False at the end of the source.
bool LineReader::fill() {
    if (at_end_) return false;
    call_.check();
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ == buffer_.size()) buffer_.resize(buffer_.empty() ? kBlockBytes : 2 * buffer_.size());
    size_t got;
    while ((got = source_->read(buffer_.data() + end_, std::min(kBlockBytes, buffer_.size() - end_))) ==
           ByteSource::kNoneYet)
        call_.check();
    at_end_ = got == 0;
    end_ += got;
    return got > 0;
}

void LineReader::finish(std::string_view text, bool cut, Line *line) {
    ++lines_;
    if (lines_ == 1 && text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    line->cut = cut || text.size() > max_line_bytes_;
    line->text = line->cut ? std::string_view() : text;
}

bool LineReader::next(Line *line) {
    // Line end and byte order mark do not count against the bound.
    const size_t most = max_line_bytes_ + 4;
    bool cut = false;
    size_t searched = 0;  // bytes from begin_ that hold no newline
    for (;;) {
        const size_t held = end_ - begin_;
        const void *found =
            held > searched ? std::memchr(buffer_.data() + begin_ + searched, '\n', held - searched) : nullptr;
        if (found != nullptr) {
            const char *start = buffer_.data() + begin_;
            const size_t length = static_cast<size_t>(static_cast<const char *>(found) - start);
            begin_ += length + 1;
            finish(cut ? std::string_view() : std::string_view(start, length), cut, line);
            return true;
        }
        searched = held;
        if (held > most) {
            cut = true;
            begin_ = end_;
            searched = 0;
        }
        if (fill()) continue;
        const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
        begin_ = end_;
        if (rest.empty() && !cut) return false;
        finish(cut ? std::string_view() : rest, cut, line);
        return true;
    }
}

}  // namespace xf
