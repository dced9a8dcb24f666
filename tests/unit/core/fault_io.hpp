// System calls that fail on demand, for tests of the file code.
//
// Calls through FaultIo::ops() are numbered from 1. arm() makes the n-th call fail, or also all later ones. As on
// Linux, a failing close has closed the descriptor. unlink() succeeds even in the permanent mode unless fail_unlink is
// set: a full disk can delete files, and tests check that nothing remains.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dirent.h>
#include <unistd.h>
#if defined(_WIN32)
#include <windows.h>
#endif

#include "core/file.h"
#include "support/temp_folder.hpp"

namespace xf_test {

struct FaultIo {
    static constexpr int kShortCount = -1;  // not an errno: transfers half of the bytes, at least one

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
            .open =
                [](int folder, const char *path, xf::OpenMode mode, uint32_t permissions) {
                    return fails() ? -1 : xf::system_io().open(folder, path, mode, permissions);
                },
            .close =
                [](int fd) {
                    const int result = xf::system_io().close(fd);
                    return fails() ? -1 : result;
                },
            .fstat = [](int fd, xf::FileStatus *status) { return fails() ? -1 : xf::system_io().fstat(fd, status); },
            .lstat = [](int folder, const char *path,
                        xf::FileStatus *status) { return fails() ? -1 : xf::system_io().lstat(folder, path, status); },
            .realpath = [](const char *path,
                           std::string *resolved) { return fails() ? -1 : xf::system_io().realpath(path, resolved); },
            .pread = [](int fd, void *dst, size_t bytes, int64_t offset) -> int64_t {
                if (hit() && error_number != kShortCount) return -1;
                return xf::system_io().pread(fd, dst, shortened(bytes), offset);
            },
            .pwrite = [](int fd, const void *src, size_t bytes, int64_t offset) -> int64_t {
                if (hit() && error_number != kShortCount) return -1;
                return xf::system_io().pwrite(fd, src, shortened(bytes), offset);
            },
            .allocate = [](int fd, int64_t bytes) { return fails() ? -1 : xf::system_io().allocate(fd, bytes); },
            .fsync = [](int fd) { return fails() ? -1 : xf::system_io().fsync(fd); },
            .link = [](int folder, const char *from,
                       const char *to) { return fails() ? -1 : xf::system_io().link(folder, from, to); },
            .rename = [](int folder, const char *from,
                         const char *to) { return fails() ? -1 : xf::system_io().rename(folder, from, to); },
            .unlink =
                [](int folder, const char *path) {
                    const bool failed = fails() && (!forever || fail_unlink);
                    return failed ? -1 : xf::system_io().unlink(folder, path);
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

// Temporary files that a failed save has left.
inline int count_temps(const TempFolder &folder) {
    int count = 0;
    for (const auto &entry : std::filesystem::directory_iterator(folder.path()))
        count += entry.path().filename().string().starts_with(".");
    return count;
}

inline int open_descriptors() {
#if defined(_WIN32)
    DWORD count = 0;
    GetProcessHandleCount(GetCurrentProcess(), &count);
#else
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder)) ++count;
    closedir(folder);
#endif
    return count;
}

}  // namespace xf_test
