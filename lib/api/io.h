// Sources and sinks of the public API (io.h) as Input and Output.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "core/file.h"
#include "core/output.h"
#include "xformer/io.h"

namespace xf {

std::shared_ptr<const Input> open_source(const xf_source *source);

// The destination of a file, and the size that the caller asked for.
class Sink {
public:
    // Checks the sink; opens nothing.
    explicit Sink(const xf_sink *sink);

    // "memory", a path, ...: for messages.
    const std::string &name() const { return name_; }
    // Empty unless the sink is a path.
    std::string path() const { return sink_.kind == XF_IO_PATH ? name_ : std::string(); }

    // Opens the sink, calls write(Output *), which also commits, and stores the size.
    template <class Write>
    void save(Write write) const {
        const std::unique_ptr<Output> output = open();
        uint64_t size = 0;
        Counted counted(output.get(), &size);
        try {
            write(static_cast<Output *>(&counted));
        } catch (const Error &error) {
            if (error.status() == XF_ERROR_BUFFER_TOO_SMALL && sink_.size != nullptr) *sink_.size = size;
            throw;
        }
        if (sink_.size != nullptr) *sink_.size = size;
    }

private:
    // Counts the bytes on their way to another output.
    class Counted final : public Output {
    public:
        Counted(Output *to, uint64_t *size) : to_(*to), size_(*size) {}
        void reserve(uint64_t bytes) override {
            size_ = bytes;
            reserved_ = true;
            to_.reserve(bytes);
        }
        void put(uint64_t offset, const void *src, size_t bytes) override {
            if (!reserved_) size_ = std::max(size_, offset + bytes);
            to_.put(offset, src, bytes);
        }
        void commit() override { to_.commit(); }

    private:
        Output &to_;
        uint64_t &size_;
        bool reserved_ = false;
    };

    std::unique_ptr<Output> open() const;

    xf_sink sink_;
    std::string name_;
};

}  // namespace xf
