// Reads lines from a file or from memory in bounded memory.
//
// Training data is untrusted: a file may consist of one line of 100 GB, be an endless device, or change while it is
// read. A line longer than the limit is never stored; it is read to its end, discarded, and reported as too long. A
// returned view is valid only until the next call.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/call.h"

namespace xf {

// A source of bytes.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    // Returned by read() if a pipe had no data for a short time, or after a signal.
    static constexpr size_t kNoneYet = SIZE_MAX;
    // Reads up to `size` bytes; returns 0 only at the end. Throws on a read error.
    virtual size_t read(char *dst, size_t size) = 0;
    // An estimate of the remaining bytes, for reserving memory; 0 if unknown.
    virtual uint64_t size_hint() const = 0;
    // The bytes that were read so far, of compressed data before it is decompressed.
    virtual int64_t position() const = 0;
};

// Opens a regular file or a pipe. Everything else is an error ("cannot open 'x': Is a directory").
std::unique_ptr<ByteSource> open_file_source(const std::string &path);

class LineReader {
public:
    struct Line {
        std::string_view text;  // without the line end (LF or CR LF) and, in line 1, without a byte order mark
        bool too_long = false;  // more than max_line_bytes; text is empty
    };

    // The call must outlive the reader. Cancellation is checked before each block of at most 1 MiB, and repeatedly
    // while a pipe has no data.
    LineReader(std::unique_ptr<ByteSource> source, size_t max_line_bytes, const Call &call);

    // Returns false at the end. The last line needs no newline, and a newline at the end does not begin another line.
    bool next(Line *line);

    int64_t lines() const { return lines_; }  // lines read so far, which is the 1-based number of the last line
    uint64_t size_hint() const { return source_->size_hint(); }
    int64_t position() const { return source_->position(); }

private:
    bool fill();
    void finish(std::string_view text, bool too_long, Line *line);

    std::unique_ptr<ByteSource> source_;
    size_t max_line_bytes_;
    const Call &call_;
    std::vector<char> buffer_;
    size_t begin_ = 0;  // buffer_[begin_, end_) has been read but not returned
    size_t end_ = 0;
    int64_t lines_ = 0;
    bool at_end_ = false;
};

}  // namespace xf
