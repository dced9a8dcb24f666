// The declarations of zlib and Zstandard are written here, so that their headers are not needed. They are a part of
// their stable ABIs: of libz.so.1 since 1.2.0.4, of libzstd.so.1 since 1.3.1.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/decompression.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/os/process.h"

namespace xf {
namespace {

constexpr size_t kInputBytes = size_t{1} << 17;

// A view of bytes that are consumed from the front.
struct CompressedInput {
    const char *data = nullptr;
    size_t size = 0;
    void skip(size_t count) { data += count, size -= count; }
};

class Decompressor {
public:
    virtual ~Decompressor() = default;
    Decompressor() = default;
    Decompressor(const Decompressor &) = delete;
    Decompressor &operator=(const Decompressor &) = delete;

    // Consumes input and writes up to `size` bytes, of which it returns the number; 0 only if more input is needed.
    virtual size_t decode(CompressedInput *input, char *dst, size_t size) = 0;
    // Whether the input so far is complete.
    virtual bool at_end() const = 0;
};

// A library of the system. It is never unloaded.
class Library {
public:
    Library(const char *name, const std::string &path) : name_(system_library_name(name)), path_(path) {
        std::string reason = "this platform does not have it";
        if (!name_.empty()) library_ = load_library(name_.c_str(), &reason);
        XF_CHECK(library_ != nullptr, XF_ERROR_UNSUPPORTED, "cannot decompress '%s', which needs %s: %s", path.c_str(),
                 name, reason.c_str());
    }

    template <class Function>
    void find(const char *function, Function **out) const {
        *out = reinterpret_cast<Function *>(library_symbol(library_, function));
        XF_CHECK(*out != nullptr, XF_ERROR_UNSUPPORTED, "cannot decompress '%s': %s has no function %s", path_.c_str(),
                 name_.c_str(), function);
    }

private:
    std::string name_;
    const std::string &path_;
    void *library_ = nullptr;
};

[[noreturn]] void fail_damaged(const std::string &path, const char *reason) {
    fail(XF_ERROR_CORRUPT, "the compressed data of '%s' is damaged: %s", path.c_str(), reason);
}

class GzipDecompressor final : public Decompressor {
public:
    explicit GzipDecompressor(const std::string &path) : path_(path) {
        const Library library("libz", path);
        library.find("inflateInit2_", &init_);
        library.find("inflate", &inflate_);
        library.find("inflateReset", &reset_);
        library.find("inflateEnd", &end_);
        constexpr int kGzip = 15 + 16;  // the largest window, and only the gzip format
        check(init_(&stream_, kGzip, "1.2.0", sizeof stream_));
    }
    ~GzipDecompressor() override { end_(&stream_); }

    size_t decode(CompressedInput *input, char *dst, size_t size) override {
        while (at_end_ && input->size > 0 && *input->data == 0) input->skip(1);  // padding, for example of a tape
        if (input->size == 0 && at_end_) return 0;
        if (at_end_) check(reset_(&stream_));
        at_end_ = false;
        const size_t available = std::min(size, kMostBytes);
        const size_t given = std::min(input->size, kMostBytes);
        stream_.next_in = reinterpret_cast<const unsigned char *>(input->data);
        stream_.avail_in = static_cast<unsigned>(given);
        stream_.next_out = reinterpret_cast<unsigned char *>(dst);
        stream_.avail_out = static_cast<unsigned>(available);
        const int status = inflate_(&stream_, kNoFlush);
        if (status != kBufferError) check(status);  // it needs more input
        at_end_ = status == kStreamEnd;
        input->skip(given - stream_.avail_in);
        return available - stream_.avail_out;
    }
    bool at_end() const override { return at_end_; }

private:
    struct Stream {  // z_stream
        const unsigned char *next_in;
        unsigned avail_in;
        unsigned long total_in;
        unsigned char *next_out;
        unsigned avail_out;
        unsigned long total_out;
        const char *msg;
        void *state, *zalloc, *zfree, *opaque;
        int data_type;
        unsigned long adler, reserved;
    };
    static constexpr int kNoFlush = 0, kStreamEnd = 1, kNoMemory = -4, kBufferError = -5;
    static constexpr size_t kMostBytes = size_t{1} << 30;

    void check(int status) const {
        if (status == kNoMemory) throw std::bad_alloc();
        if (status < 0) fail_damaged(path_, stream_.msg != nullptr ? stream_.msg : "invalid gzip data");
    }

    std::string path_;
    int (*init_)(Stream *, int window_bits, const char *version, int size) = nullptr;
    int (*inflate_)(Stream *, int flush) = nullptr;
    int (*reset_)(Stream *) = nullptr;
    int (*end_)(Stream *) = nullptr;
    Stream stream_{};
    bool at_end_ = false;
};

class ZstandardDecompressor final : public Decompressor {
public:
    explicit ZstandardDecompressor(const std::string &path) : path_(path) {
        const Library library("libzstd", path);
        library.find("ZSTD_createDStream", &create_);
        library.find("ZSTD_decompressStream", &decompress_);
        library.find("ZSTD_isError", &is_error_);
        library.find("ZSTD_getErrorCode", &error_code_);
        library.find("ZSTD_getErrorName", &error_name_);
        library.find("ZSTD_freeDStream", &free_);
        stream_ = create_();
        if (stream_ == nullptr) throw std::bad_alloc();
    }
    ~ZstandardDecompressor() override { free_(stream_); }

    size_t decode(CompressedInput *input, char *dst, size_t size) override {
        if (input->size == 0 && at_end_) return 0;  // it would begin another frame
        OutBuffer out{dst, size, 0};
        InBuffer in{input->data, input->size, 0};
        const size_t status = decompress_(stream_, &out, &in);
        if (is_error_(status) != 0) {
            const int code = error_code_(status);
            if (code == kNoMemory) throw std::bad_alloc();
            XF_CHECK(code != kLargeWindow, XF_ERROR_UNSUPPORTED,
                     "'%s' needs more than 128 MiB to be decompressed, expected a file of `zstd --long=27` or less",
                     path_.c_str());
            XF_CHECK(code != kDictionary, XF_ERROR_UNSUPPORTED,
                     "'%s' was compressed with a dictionary, expected a file without", path_.c_str());
            fail_damaged(path_, error_name_(status));
        }
        at_end_ = status == 0;
        input->skip(in.pos);
        return out.pos;
    }
    bool at_end() const override { return at_end_; }

private:
    struct InBuffer {  // ZSTD_inBuffer
        const void *src;
        size_t size, pos;
    };
    struct OutBuffer {  // ZSTD_outBuffer
        void *dst;
        size_t size, pos;
    };
    // ZSTD_error_memory_allocation, ZSTD_error_frameParameter_windowTooLarge, ZSTD_error_dictionary_wrong
    static constexpr int kNoMemory = 64, kLargeWindow = 16, kDictionary = 32;

    std::string path_;
    void *(*create_)() = nullptr;
    size_t (*decompress_)(void *, OutBuffer *, InBuffer *) = nullptr;
    unsigned (*is_error_)(size_t) = nullptr;
    int (*error_code_)(size_t) = nullptr;
    const char *(*error_name_)(size_t) = nullptr;
    size_t (*free_)(void *) = nullptr;
    void *stream_ = nullptr;
    bool at_end_ = false;
};

class DecompressedSource final : public ByteSource {
public:
    DecompressedSource(std::unique_ptr<ByteSource> source, const std::string &path)
        : source_(std::move(source)), path_(path) {}

    size_t read(char *dst, size_t size) override {
        if (begin_size_ < begin_.size() && !ended_) {
            const size_t got = source_->read(begin_.data() + begin_size_, begin_.size() - begin_size_);
            if (got == kNoneYet) return kNoneYet;
            begin_size_ += got;
            ended_ = got == 0;
            if (begin_size_ < begin_.size() && !ended_) return kNoneYet;
            input_ = {begin_.data(), begin_size_};
            decompressor_ = make_decompressor();
        }
        if (decompressor_ != nullptr) return decode(dst, size);
        if (input_.size == 0) return ended_ ? 0 : source_->read(dst, size);
        const size_t count = std::min(size, input_.size);
        std::memcpy(dst, input_.data, count);
        input_.skip(count);
        return count;
    }

    uint64_t size_hint() const override { return source_->size_hint(); }
    int64_t position() const override { return source_->position(); }

private:
    std::unique_ptr<Decompressor> make_decompressor() const {
        const std::string_view begin(begin_.data(), begin_size_);
        if (begin.starts_with("\x1F\x8B")) return std::make_unique<GzipDecompressor>(path_);
        // Parallel compressors begin with a frame to skip.
        const bool skips = begin_size_ == begin_.size() && (begin[0] & 0xF0) == 0x50 && begin.ends_with("\x2A\x4D\x18");
        if (skips || begin.starts_with("\x28\xB5\x2F\xFD")) return std::make_unique<ZstandardDecompressor>(path_);
        return nullptr;
    }

    size_t decode(char *dst, size_t size) {
        for (;;) {
            if (input_.size > 0 || full_) {
                const size_t written = decompressor_->decode(&input_, dst, size);
                full_ = written == size;
                if (written > 0) return written;
                if (input_.size > 0) continue;  // the end of a part, and another one follows
                return kNoneYet;                // the caller may have been cancelled
            }
            if (ended_ && !decompressor_->at_end()) fail_damaged(path_, "it ends early");
            if (ended_) return 0;
            buffer_.resize(kInputBytes);
            const size_t got = source_->read(buffer_.data(), buffer_.size());
            if (got == kNoneYet) return kNoneYet;
            input_ = {buffer_.data(), got};
            ended_ = got == 0;
        }
    }

    std::unique_ptr<ByteSource> source_;
    std::string path_;
    std::array<char, 4> begin_;
    size_t begin_size_ = 0;
    std::unique_ptr<Decompressor> decompressor_;  // null: the data is not compressed
    std::vector<char> buffer_;
    CompressedInput input_;  // not yet decoded
    bool full_ = false;      // the library filled its buffer, so it may have more
    bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> decompress(std::unique_ptr<ByteSource> source, const std::string &path) {
    return std::make_unique<DecompressedSource>(std::move(source), path);
}

}  // namespace xf
