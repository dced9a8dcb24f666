// The descriptors 0 to 2 of a process without standard streams.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace xf {

// Takes those numbers while a descriptor is opened, so that it gets another one: the host may print to them at any
// moment, and a write that it has begun may happen late. A number is taken by a folder, to which a write fails.
class StandardNumbersTaken {
public:
    StandardNumbersTaken() {
        for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
            if (::fcntl(fd, F_GETFD) >= 0) continue;
            const int taken = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (taken < 0) break;
            if (taken <= STDERR_FILENO)
                taken_[count_++] = taken;
            else
                ::close(taken);
        }
    }
    ~StandardNumbersTaken() {
        const int error_number = errno;
        while (count_ > 0) ::close(taken_[--count_]);
        errno = error_number;
    }
    StandardNumbersTaken(const StandardNumbersTaken &) = delete;
    StandardNumbersTaken &operator=(const StandardNumbersTaken &) = delete;

private:
    int taken_[STDERR_FILENO + 1], count_ = 0;
};

}  // namespace xf
