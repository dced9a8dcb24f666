// Files of the operating system.
//
// Everything here behaves like the POSIX function of its name, errno included, on every system. Callers decide what is
// retried and in which order.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xf {

enum class FileKind { kRegular, kFolder, kLink, kPipe, kSocket, kDevice };

struct FileStatus {
    FileKind kind;
    int64_t size;
    uint32_t permissions;  // read and write bits, 0666
};

enum class OpenMode {
    kRead,    // does not wait for a writer of a pipe
    kFolder,  // for the calls below that take a folder
    kCreate,  // for writing; fails with EEXIST if the file exists
};

// Returns whether the path does not depend on the current folder.
bool is_absolute_path(std::string_view path);
// Returns where the last name of the path begins: 0 if it has no folder.
size_t name_offset(std::string_view path);
extern const char kListSeparator;  // between the paths of a list: ':', on Windows ';'

// The `folder` of a path that is absolute or relative to the current folder.
extern const int kCurrentFolder;

// The system calls of reading and saving as a table, so that tests can make the n-th call fail for every n
// (tests/unit/core/fault_io.hpp). `folder` is a descriptor or kCurrentFolder.
struct IoOps {
    int (*open)(int folder, const char *path, OpenMode mode, uint32_t permissions);  // never returns 0, 1, or 2
    int (*close)(int fd);
    int (*fstat)(int fd, FileStatus *status);
    int (*lstat)(int folder, const char *path, FileStatus *status);
    int (*realpath)(const char *path, std::string *resolved);
    int64_t (*pread)(int fd, void *dst, size_t bytes, int64_t offset);
    int64_t (*pwrite)(int fd, const void *src, size_t bytes, int64_t offset);
    int (*allocate)(int fd, int64_t bytes);  // reserves space; the length does not change and no zeros are written
    int (*fsync)(int fd);
    int (*link)(int folder, const char *from, const char *to);
    int (*rename)(int folder, const char *from, const char *to);
    int (*unlink)(int folder, const char *path);
};

const IoOps &system_io();

inline constexpr size_t kMaxNameBytes = 255;  // of a name within a folder

// Follows links. -1 with errno.
int stat_file(const char *path, FileStatus *status);
bool file_exists(const char *path);

// Creates a folder in an existing one. -1 with errno: EEXIST if the name exists.
int make_folder(const char *path);

// Returns whether every write goes to the end of the file, whatever its offset.
bool is_append_only(int fd);

// Sets the length to 0. -1 with errno.
int truncate_file(int fd);

// Reads what is there: 0 at the end, -1 with errno EAGAIN if a pipe has nothing now. wait_readable() then waits.
int64_t read_file_some(int fd, void *dst, size_t bytes);
void wait_readable(int fd, int milliseconds);

// The names in a folder that begin with the prefix, in the order of the system. -1 with errno.
int list_folder(int folder, const char *path, std::string_view prefix, std::vector<std::string> *names);

// Takes the lock of a file that is open for writing. It is released when the descriptor is closed, also by the death of
// the process. Best effort: some file systems have no locks.
void lock_file(int fd);
// Removes the name if it is a regular file of this user that was last changed at least `seconds` ago and, with
// `lockable`, whose lock is free.
void remove_abandoned(int folder, const char *name, bool lockable, int64_t seconds);

// Turns the signal of a write beyond the process's file size limit, which kills the host by default, into EFBIG. It is
// blocked on this thread, and removed if a write of this thread raised it.
class FileSizeSignalBlocked {
public:
    FileSizeSignalBlocked();
    ~FileSizeSignalBlocked();
    FileSizeSignalBlocked(const FileSizeSignalBlocked &) = delete;
    FileSizeSignalBlocked &operator=(const FileSizeSignalBlocked &) = delete;

private:
    alignas(16) unsigned char saved_[128];  // the signal mask before
    bool was_pending_;
};

}  // namespace xf
