// Lines of a file or of memory, one at a time, with a bound on memory that no input can break.
//
// Training data are hostile until proved: a file may be one line of 100 GB, a device that never ends, or change while
// it is read. So a line longer than the bound is never held: it is read to its end, thrown away and reported as cut.
// The trap: a view handed out is valid only until the next call.
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

// Where bytes come from.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    // What read() gives when a pipe had nothing for a moment, or a signal came.
    static constexpr size_t kNoneYet = SIZE_MAX;
    // Reads up to `size` bytes; 0 only at the end. Throws on a read error.
    virtual size_t read(char *dst, size_t size) = 0;
    // A guess at the bytes still to come, 0 if unknown. Only good for reserving.
    virtual uint64_t size_hint() const = 0;
};

// A regular file or a pipe; everything else is an error ("cannot open 'x': Is a directory").
std::unique_ptr<ByteSource> open_file_source(const std::string &path);

// Bytes that the caller keeps alive.
std::unique_ptr<ByteSource> memory_source(std::string_view bytes);

class LineReader {
public:
    struct Line {
        std::string_view text;  // without its line end (LF or CR LF) and, on line 1, without a byte order mark
        bool cut = false;       // longer than max_line_bytes; text is empty
    };

    // The call, which must outlive the reader, is asked before each block of at most 1 MiB is read, however long a line
    // is, and now and then while a pipe has none.
    LineReader(std::unique_ptr<ByteSource> source, size_t max_line_bytes, const Call &call);

    // False at the end. A last line needs no newline; a newline at the end begins no further line.
    bool next(Line *line);

    int64_t lines() const { return lines_; }  // read so far, so the number of the line last given, from 1
    uint64_t size_hint() const { return source_->size_hint(); }

private:
    bool fill();
    void finish(std::string_view text, bool cut, Line *line);

    std::unique_ptr<ByteSource> source_;
    size_t max_line_bytes_;
    const Call &call_;
    std::vector<char> buffer_;
    size_t begin_ = 0;  // buffer_[begin_, end_) is read and not yet given out
    size_t end_ = 0;
    int64_t lines_ = 0;
    bool at_end_ = false;
};

}  // namespace xf
