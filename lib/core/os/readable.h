// A file descriptor that is readable while something is available, for the event loop of a host.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace xf {

class Readable {
public:
    // Throws XF_ERROR_IO if the process has no free descriptors.
    Readable();
    ~Readable();
    Readable(const Readable &) = delete;
    Readable &operator=(const Readable &) = delete;

    int descriptor() const { return ends_[0]; }
    // Makes the descriptor readable, or not. Not thread-safe.
    void set(bool readable) noexcept;

private:
    int ends_[2];  // of a pipe, which contains one byte or none
    bool readable_ = false;
};

}  // namespace xf
