// Reading bytes and finding line ends; see line_reader.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/line_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/file.h"

namespace xf {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr int kPollMs = 100;

class FileSource final : public ByteSource {
public:
    explicit FileSource(const std::string &path) : path_(path), fd_(open(path), system_io()) {
        FileStatus status;
        if (system_io().fstat(fd_.get(), &status) != 0) fail_errno(errno, "examine", path);
        if (status.kind == FileKind::kFolder) fail_errno(EISDIR, "open", path);
        // Devices such as /dev/zero never end.
        XF_CHECK(status.kind == FileKind::kRegular || status.kind == FileKind::kPipe, XF_ERROR_IO,
                 "cannot open '%s': found a special file, expected a regular file or a pipe", path.c_str());
        if (status.kind == FileKind::kRegular && status.size > 0) size_ = status.size;
    }

    // Waits for a pipe only for a limited time, so that the caller can check for cancellation.
    size_t read(char *dst, size_t size) override {
        const int64_t got = read_file_some(fd_.get(), dst, size);
        position_ += std::max<int64_t>(0, got);
        if (got >= 0) return got;
        if (errno == EAGAIN) {
            wait_readable(fd_.get(), kPollMs);
        } else if (errno != EINTR) {
            fail_errno(errno, "read", path_);
        }
        return kNoneYet;
    }

    uint64_t size_hint() const override { return size_; }
    int64_t position() const override { return position_; }

private:
    static int open(const std::string &path) {
        XF_CHECK(path.find('\0') == std::string::npos, XF_ERROR_INVALID_ARGUMENT, "the path '%s' contains a NUL byte",
                 path.c_str());
        const int fd =
            retry_interrupted([&] { return system_io().open(kCurrentFolder, path.c_str(), OpenMode::kRead, 0); });
        if (fd < 0) fail_errno(errno, "open", path);
        return fd;
    }

    std::string path_;
    Fd fd_;
    uint64_t size_ = 0;
    int64_t position_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_file_source(const std::string &path) { return std::make_unique<FileSource>(path); }

LineReader::LineReader(std::unique_ptr<ByteSource> source, size_t max_line_bytes, const Call &call)
    : source_(std::move(source)), max_line_bytes_(max_line_bytes), call_(call) {}

// Makes room in the buffer and reads one block. Returns false at the end of the source.
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

void LineReader::finish(std::string_view text, bool too_long, Line *line) {
    ++lines_;
    if (lines_ == 1 && text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    line->too_long = too_long || text.size() > max_line_bytes_;
    line->text = line->too_long ? std::string_view() : text;
}

bool LineReader::next(Line *line) {
    // The line end and the byte order mark do not count towards the limit.
    const size_t most = max_line_bytes_ + 4;
    bool too_long = false;
    size_t searched = 0;  // the first bytes from begin_, known not to contain a newline
    for (;;) {
        const size_t held = end_ - begin_;
        const void *found =
            held > searched ? std::memchr(buffer_.data() + begin_ + searched, '\n', held - searched) : nullptr;
        if (found != nullptr) {
            const char *start = buffer_.data() + begin_;
            const size_t length = static_cast<const char *>(found) - start;
            begin_ += length + 1;
            finish(too_long ? std::string_view() : std::string_view(start, length), too_long, line);
            return true;
        }
        searched = held;
        if (held > most) {
            too_long = true;
            begin_ = end_;
            searched = 0;
        }
        if (fill()) continue;
        const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
        begin_ = end_;
        if (rest.empty() && !too_long) return false;
        finish(too_long ? std::string_view() : rest, too_long, line);
        return true;
    }
}

}  // namespace xf
