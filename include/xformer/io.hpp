/*
 * xformer/io.hpp - io.h for C++: sources to load from and sinks to save to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_IO_HPP
#define XFORMER_IO_HPP

#include <functional>
#include <vector>

#include "xformer/base.hpp"
#include "xformer/io.h"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief Copies the bytes at an offset to the span; see xf_source::read. If it throws, the call fails with that
 *  exception.
 */
using ReadFunction = std::function<void(std::uint64_t offset, span<unsigned char> bytes)>;

/** @brief Stores the bytes at an offset; see xf_sink::write. If it throws, the call fails with that exception. */
using WriteFunction = std::function<void(std::uint64_t offset, span<const unsigned char> bytes)>;

/** @brief Where a file is loaded from. The data that it refers to must outlive the call that uses it. */
class Source {
public:
    /** @brief A file name. @param path [in] a string or a std::filesystem::path */
    template <class Path, std::enable_if_t<std::is_convertible_v<const Path &, CString>, int> = 0>
    Source(const Path &path) {
        source_.kind = XF_IO_PATH;
        source_.path = CString(path).c_str();
    }
    /** @brief Bytes in memory. @param bytes [in] contiguous unsigned chars */
    template <class Bytes, std::enable_if_t<std::is_convertible_v<const Bytes &, span<const unsigned char>>, int> = 0>
    Source(const Bytes &bytes) {
        const span<const unsigned char> all(bytes);
        source_.kind = XF_IO_MEMORY;
        source_.data = all.data();
        source_.size = all.size();
    }
    /** @brief A source of the C API. @param source [in] copied */
    Source(const xf_source &source) noexcept : source_(source) {}
    /** @brief An open descriptor of a regular file. @param fd [in] open for reading; not closed @return the source */
    static Source descriptor(int fd) noexcept {
        xf_source source = XF_SOURCE_INIT;
        source.kind = XF_IO_DESCRIPTOR;
        source.fd = fd;
        return Source(source);
    }
    /** @brief A callback. @param size [in] size of the file in bytes @param read [in] copies a range
     *  @return the source */
    static Source callback(std::uint64_t size, ReadFunction read) {
        xf_source source = XF_SOURCE_INIT;
        source.kind = XF_IO_CALLBACK;
        source.size = size;
        Source made(source);
        made.read_ = std::move(read);
        return made;
    }

    /** @brief Returns the struct for the C API. @return valid while this object exists and is not moved */
    xf_source get() const noexcept {
        xf_source source = source_;
        if (read_) {
            source.read = &Source::call;
            source.user = const_cast<ReadFunction *>(&read_);
        }
        return source;
    }

private:
    static std::int32_t call(void *user, std::uint64_t offset, void *dst, std::size_t bytes) noexcept {
        const span<unsigned char> room(static_cast<unsigned char *>(dst), bytes);
        return detail::Guard::protect([&] { (*static_cast<const ReadFunction *>(user))(offset, room); }) ? 0 : 1;
    }
    xf_source source_ = XF_SOURCE_INIT;
    ReadFunction read_;
};

/** @brief Where a file is saved to. The data that it refers to must outlive the call that uses it. */
class Sink {
public:
    /** @brief A file name, replaced atomically. @param path [in] a string or a std::filesystem::path */
    template <class Path, std::enable_if_t<std::is_convertible_v<const Path &, CString>, int> = 0>
    Sink(const Path &path) {
        sink_.kind = XF_IO_PATH;
        sink_.path = CString(path).c_str();
    }
    /** @brief A sink of the C API. @param sink [in] copied */
    Sink(const xf_sink &sink) noexcept : sink_(sink) {}
    /** @brief A memory block.
     *  @param room [out] receives the bytes
     *  @param size [out] size of the file in bytes, also if the room is too small; may be NULL
     *  @return the sink */
    static Sink memory(span<unsigned char> room, std::uint64_t *size = nullptr) noexcept {
        xf_sink sink = XF_SINK_INIT;
        sink.kind = XF_IO_MEMORY;
        sink.data = room.data();
        sink.capacity = room.size();
        sink.size = size;
        return Sink(sink);
    }
    /** @brief An open descriptor of a regular file. @param fd [in] open for writing; not closed @return the sink */
    static Sink descriptor(int fd) noexcept {
        xf_sink sink = XF_SINK_INIT;
        sink.kind = XF_IO_DESCRIPTOR;
        sink.fd = fd;
        return Sink(sink);
    }
    /** @brief A callback. @param write [in] stores bytes at an offset @return the sink */
    static Sink callback(WriteFunction write) {
        xf_sink sink = XF_SINK_INIT;
        sink.kind = XF_IO_CALLBACK;
        Sink made(sink);
        made.write_ = std::move(write);
        return made;
    }

    /** @brief Returns the struct for the C API. @return valid while this object exists and is not moved */
    xf_sink get() const noexcept {
        xf_sink sink = sink_;
        if (write_) {
            sink.write = &Sink::call;
            sink.user = const_cast<WriteFunction *>(&write_);
        }
        return sink;
    }

private:
    static std::int32_t call(void *user, std::uint64_t offset, const void *src, std::size_t bytes) noexcept {
        const span<const unsigned char> data(static_cast<const unsigned char *>(src), bytes);
        return detail::Guard::protect([&] { (*static_cast<const WriteFunction *>(user))(offset, data); }) ? 0 : 1;
    }
    xf_sink sink_ = XF_SINK_INIT;
    WriteFunction write_;
};

/** @cond INTERNAL */
namespace detail {
// The bytes that a call saves: save(sink, error).
template <class Save>
std::vector<unsigned char> saved_bytes(const Save &save) {
    std::vector<unsigned char> bytes;
    fit(bytes, [&](std::vector<unsigned char> &room, std::size_t *needed, xf_error *error) {
        std::uint64_t size = 0;
        const xf_sink sink = Sink::memory(room, &size).get();
        const xf_status status = save(&sink, error);
        *needed = static_cast<std::size_t>(size);
        return status;
    });
    return bytes;
}
}  // namespace detail
/** @endcond */

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_IO_HPP */
