// See process.h and posix_differences.h: what differs from other POSIX systems.
//
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <thread>

#include "core/os/posix_differences.h"
#include "core/os/process.h"

namespace xf {

std::optional<std::string> environment(const char *name) {
    const char *const value = issetugid() != 0 ? nullptr : getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

int processor_count() { return std::thread::hardware_concurrency(); }

bool random_bytes(void *dst, size_t bytes) {
    arc4random_buf(dst, bytes);
    return true;
}

void *allocate_memory(size_t bytes, size_t alignment) {
    void *ptr = nullptr;
    return posix_memalign(&ptr, alignment, bytes) == 0 ? ptr : nullptr;
}

// With its folder: the loader may search for a mere name in the current folder. Homebrew installs Zstandard.
std::string system_library_name(const std::string &name) {
#if defined(__aarch64__)
    const char *const homebrew = "/opt/homebrew/lib/";
#else
    const char *const homebrew = "/usr/local/lib/";
#endif
    return (name == "libz" ? "/usr/lib/" : homebrew) + name + ".1.dylib";
}

std::string own_folder() {
    Dl_info info{};
    static const char anchor = 0;
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr || info.dli_fname[0] != '/') return {};
    const std::string_view file = info.dli_fname;
    return std::string(file.substr(0, file.rfind('/')));
}

int allocate_blocks(int fd, int64_t bytes) {
    fstore_t space{F_ALLOCATEALL, F_PEOFPOSMODE, 0, bytes, 0};
    const int result = fcntl(fd, F_PREALLOCATE, &space);
    if (result < 0 && errno == ENOTSUP) errno = EOPNOTSUPP;  // two numbers here
    return result < 0 ? -1 : 0;
}

// fsync() leaves the data in the cache of the drive, where a power failure loses it. Some file systems have only that.
int flush_to_disk(int fd) {
    if (fcntl(fd, F_FULLFSYNC) == 0) return 0;
    return errno == ENOTSUP || errno == EINVAL || errno == ENOTTY || errno == ENOSYS ? fsync(fd) : -1;
}

int open_pipe(int ends[2]) {
    if (pipe(ends) != 0) return -1;
    for (int i = 0; i < 2; ++i) {
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

void discard_signal(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigwait(&set, &signal);
}

}  // namespace xf
