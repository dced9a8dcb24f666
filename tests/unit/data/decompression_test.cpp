// Compressed text is read like the text itself, however its bytes arrive; damaged and incomplete data are errors. The
// texts are compressed by the libraries that decompress them, which are loaded by name.
//
// SPDX-License-Identifier: Apache-2.0
#include "data/decompression.h"

#include <cstring>

#include "core/os/process.h"
#include "data/text_corpus.hpp"
#include "support/test.hpp"

namespace {

template <class Function>
Function *function_of(const char *library, const char *name) {
    std::string reason;
    void *const file = xf::load_library(xf::system_library_name(library).c_str(), &reason);
    if (file == nullptr) return nullptr;
    return reinterpret_cast<Function *>(xf::library_symbol(file, name));
}

struct Deflation {  // z_stream
    const char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state, *zalloc, *zfree, *opaque;
    int data_type;
    unsigned long adler, reserved;
};

// Empty if the library is not installed.
std::string gzip(const std::string &text) {
    const auto init =
        function_of<int(Deflation *, int, int, int, int, int, const char *, int)>("libz", "deflateInit2_");
    const auto deflate = function_of<int(Deflation *, int)>("libz", "deflate");
    const auto end = function_of<int(Deflation *)>("libz", "deflateEnd");
    if (init == nullptr || deflate == nullptr || end == nullptr) return "";
    Deflation stream{};
    std::string out(text.size() + 1000, 0);
    CHECK_EQ(init(&stream, 6, 8, 15 + 16, 8, 0, "1.2.0", sizeof stream), 0);
    stream.next_in = text.data(), stream.avail_in = static_cast<unsigned>(text.size());
    stream.next_out = out.data(), stream.avail_out = static_cast<unsigned>(out.size());
    CHECK_EQ(deflate(&stream, 4), 1);
    out.resize(stream.total_out);
    end(&stream);
    return out;
}

std::string zstandard(const std::string &text) {
    const auto compress = function_of<size_t(void *, size_t, const void *, size_t, int)>("libzstd", "ZSTD_compress");
    if (compress == nullptr) return "";
    std::string out(text.size() + 1000, 0);
    out.resize(compress(out.data(), out.size(), text.data(), text.size(), 3));
    return out;
}

const auto kCompressors = {&gzip, &zstandard};

// Returns a few bytes per call, after each `idle` calls without any.
class Trickle final : public xf::ByteSource {
public:
    Trickle(std::string bytes, size_t most, size_t idle) : bytes_(std::move(bytes)), most_(most), idle_(idle) {}
    size_t read(char *dst, size_t size) override {
        if (++calls_ % (idle_ + 1) != 0) return kNoneYet;
        const size_t count = std::min({size, bytes_.size() - at_, most_});
        std::copy_n(bytes_.data() + at_, count, dst);
        at_ += count;
        return count;
    }
    uint64_t size_hint() const override { return bytes_.size(); }
    int64_t position() const override { return static_cast<int64_t>(at_); }

private:
    std::string bytes_;
    size_t most_, idle_, at_ = 0, calls_ = 0;
};

// Reads through a buffer of `size` bytes.
std::string read_all(const std::string &bytes, size_t most, size_t size, size_t idle = 1) {
    const auto source = xf::decompress(std::make_unique<Trickle>(bytes, most, idle), "file");
    std::string text, buffer(size, 0);
    for (;;) {
        const size_t got = source->read(buffer.data(), size);
        if (got == 0) return text;
        if (got != xf::ByteSource::kNoneYet) text.append(buffer, 0, got);
    }
}

std::string some_text(size_t lines) {
    std::string text;
    for (size_t i = 0; i < lines; ++i)
        text += "line " + std::to_string(i * i * 7919 % 10007) + "\tZeile " + std::to_string(i) + "\n";
    return text;
}

}  // namespace

XF_TEST(text_that_is_not_compressed_is_unchanged) {
    for (const std::string text : {"", "a", "\x1F", "\x28\xB5\x2F", "abc", "abcd", "abcdefgh\n"})
        for (const size_t most : {1, 3, 100}) CHECK_EQ(read_all(text, most, 5), text);
    const std::string text = some_text(50000);
    CHECK(read_all(text, 1 << 20, 1 << 16) == text);
}

XF_TEST(compressed_text_is_read_like_text) {
    for (const auto compress : kCompressors) {
        if (compress("a").empty()) {
            std::puts("a library is not installed: skipped");
            continue;
        }
        for (const size_t lines : {0, 1, 100, 100000}) {
            const std::string text = some_text(lines), packed = compress(text);
            CHECK(lines < 2 || packed.size() < text.size());
            if (lines == 100) {
                CHECK(read_all(packed, 10, 100, 50) == text);  // a slow pipe
                // Text remains after the last input; 1 byte also ends at the end of the text.
                for (const size_t size : {1, 7}) CHECK(read_all(packed, 1 << 20, size, 0) == text);
            }
            for (const size_t most : {size_t{1}, size_t{7}, size_t{1} << 20}) {
                if (lines == 100000 && most < 100) continue;
                CHECK(read_all(packed, most, 3 + most) == text);
                // Several parts, also empty ones.
                CHECK(read_all(packed + compress("") + packed + compress("") + compress("end"), most, 1000) ==
                      text + text + "end");
            }
        }
    }
}

XF_TEST(padding_and_other_formats) {
    const std::string text = some_text(30), zeros(1000, 0);
    if (const std::string packed = gzip(text); !packed.empty()) {
        for (const size_t most : {1, 1 << 20})
            CHECK(read_all(packed + zeros + packed + zeros, most, 100) == text + text);
        CHECK_FAILS(read_all(packed + zeros + "more", 100, 100), XF_ERROR_CORRUPT);
    }
    if (const std::string packed = zstandard(text); !packed.empty()) {
        const std::string skipped("\x50\x2A\x4D\x18\x03\0\0\0abc", 11);
        for (const size_t most : {1, 1 << 20}) CHECK(read_all(skipped + packed + skipped, most, 100) == text);
        // The headers of a frame with a window of 256 MiB, and of a frame with the dictionary 7.
        const std::string magic = "\x28\xB5\x2F\xFD";
        CHECK_FAILS(read_all(magic + std::string("\0\x90", 2) + zeros, 100, 100), XF_ERROR_UNSUPPORTED);
        CHECK_FAILS(read_all(magic + std::string("\1\0\7", 3) + zeros, 100, 100), XF_ERROR_UNSUPPORTED);
    }
}

// At least these are installed where the tests run.
XF_TEST(the_libraries_of_debian_are_found) {
#if defined(__GLIBC__) && !defined(XF_TEST_EMULATED)
    for (const auto compress : kCompressors) CHECK(!compress("a").empty());
#endif
}

XF_TEST(incomplete_and_damaged_data_are_errors) {
    const std::string text = some_text(30);
    for (const auto compress : kCompressors) {
        const std::string packed = compress(text);
        for (size_t size = 4; size < packed.size(); ++size) {
            CHECK_FAILS(read_all(packed.substr(0, size), 1 << 20, 4096), XF_ERROR_CORRUPT);
            CHECK_FAILS(read_all(packed + packed.substr(0, size), 1 << 20, 4096), XF_ERROR_CORRUPT);
        }
        if (packed.empty()) continue;
        CHECK_FAILS(read_all(packed + "more", 5, 10), XF_ERROR_CORRUPT);
        size_t noticed = 0;
        for (size_t i = 4; i < packed.size(); ++i) {
            std::string damaged = packed;
            damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
            try {
                read_all(damaged, 1 << 20, 4096);
            } catch (const xf::Error &error) {
                noticed += error.status() == XF_ERROR_CORRUPT ? 1 : 0;
                CHECK_EQ(std::strncmp(error.what(), "the compressed data of 'file' is damaged: ", 42), 0);
            }
        }
        CHECK(noticed > 0);  // the format of Zstandard may have no checksum
    }
}

XF_TEST(a_corpus_may_be_compressed) {
    const xf_test::TempFolder folder;
    const std::string text = some_text(1000);
    const auto plain = xf::Corpus::open_tsv(folder.write("plain.tsv", text), {});
    for (const auto compress : kCompressors) {
        if (compress("a").empty()) continue;
        const auto packed = xf::Corpus::open_tsv(folder.write("packed", compress(text)), {});
        CHECK_EQ(packed->size(), plain->size());
        for (const int64_t i : {0, 500, 999})
            CHECK(packed->source(i) == plain->source(i) && packed->target(i) == plain->target(i));
        const std::string path = folder.write("packed", compress(text).substr(0, 100));
        CHECK_FAILS(xf::Corpus::open_tsv(path, {}), XF_ERROR_CORRUPT);
    }
}
