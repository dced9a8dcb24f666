// System calls that fail on demand, for tests of the file code.
//
// Each call through FaultIo::ops() has a number, from 1. arm() makes the n-th one fail, or it and all after it. A
// failing close has closed, as on Linux. unlink() works even in the for-ever mode unless asked otherwise: a full disk
// removes files well, and tests want to see that nothing is left.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/file.h"

namespace xf_test {

struct FaultIo {
    static constexpr int kShortCount = -1;  // not an errno: half of what was asked, at least one byte

    static inline int calls = 0, fail_at = 0, error_number = 0;
    static inline bool forever = false, fail_unlink = false, fired = false;

    static void arm(int at, int error, bool for_ever) {
        calls = 0;
        fail_at = at;
        error_number = error;
        forever = for_ever;
        fired = false;
    }
    static void disarm() { arm(0, 0, false); }

    static const xf::IoOps &ops() {
        static const xf::IoOps table = {
            .open = [](int folder, const char *path, int flags,
                       mode_t mode) { return fails() ? -1 : xf::posix_io().open(folder, path, flags, mode); },
            .close =
                [](int fd) {
                    const int result = xf::posix_io().close(fd);
                    return fails() ? -1 : result;
                },
            .fstat = [](int fd, struct stat *status) { return fails() ? -1 : xf::posix_io().fstat(fd, status); },
            .lstat = [](int folder, const char *path,
                        struct stat *status) { return fails() ? -1 : xf::posix_io().lstat(folder, path, status); },
            .realpath = [](const char *path,
                           char *resolved) { return fails() ? nullptr : xf::posix_io().realpath(path, resolved); },
            .pread =
                [](int fd, void *dst, size_t bytes, off_t offset) {
                    if (hit() && error_number != kShortCount) return ssize_t{-1};
                    return xf::posix_io().pread(fd, dst, shortened(bytes), offset);
                },
            .pwrite =
                [](int fd, const void *src, size_t bytes, off_t offset) {
                    if (hit() && error_number != kShortCount) return ssize_t{-1};
                    return xf::posix_io().pwrite(fd, src, shortened(bytes), offset);
                },
            .allocate = [](int fd, off_t bytes) { return fails() ? -1 : xf::posix_io().allocate(fd, bytes); },
            .fsync = [](int fd) { return fails() ? -1 : xf::posix_io().fsync(fd); },
            .link = [](int folder, const char *from,
                       const char *to) { return fails() ? -1 : xf::posix_io().link(folder, from, to); },
            .rename = [](int folder, const char *from,
                         const char *to) { return fails() ? -1 : xf::posix_io().rename(folder, from, to); },
            .unlink =
                [](int folder, const char *path) {
                    const bool failed = fails() && (!forever || fail_unlink);
                    return failed ? -1 : xf::posix_io().unlink(folder, path);
                },
        };
        return table;
    }

private:
    static inline bool short_now = false;
    static bool hit() {
        ++calls;
        const bool now = fail_at > 0 && (forever ? calls >= fail_at : calls == fail_at);
        fired = fired || now;
        short_now = now && error_number == kShortCount;
        if (now) errno = error_number;
        return now;
    }
    static bool fails() { return hit() && error_number != kShortCount; }
    static size_t shortened(size_t bytes) { return short_now ? (bytes + 1) / 2 : bytes; }
};

// A folder of its own for a test, removed with all in it.
class TempFolder {
public:
    TempFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "xf_test_XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string operator/(const std::string &name) const { return path_ + "/" + name; }
    const std::string &path() const { return path_; }

    int count_temps() const {  // files that a save leaves behind when it goes wrong
        int count = 0;
        for (const auto &entry : std::filesystem::directory_iterator(path_))
            count += entry.path().filename().string().starts_with(".");
        return count;
    }

private:
    std::string path_;
};

inline int open_descriptors() {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder)) ++count;
    closedir(folder);
    return count;
}

}  // namespace xf_test
