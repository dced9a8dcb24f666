// See file.h. A descriptor is a Windows handle that is converted to int. Windows promises that 32 bits suffice; a
// number of a C runtime would be useless to a program that has another one.
//
// Paths are UTF-8. Differences from POSIX:
//   - A file that is open elsewhere can be replaced or deleted only if its owner allows that, as this library does.
//   - A folder cannot be flushed: fsync() of it fails with EINVAL. rename() returns after the change is on the disk.
//   - A folder that is open cannot be renamed.
//   - A new file has the access rights of its folder, so `permissions` is ignored.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/os/file.h"

#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <cwchar>
#include <memory>
#include <utility>

#include "core/os/windows.h"

namespace xf {

const int kCurrentFolder = -100;
const char kListSeparator = ';';
static_assert(kMaxNameBytes == 255);

bool is_absolute_path(std::string_view path) {
    const auto separates = [&](size_t at) { return path.size() > at && (path[at] == '/' || path[at] == '\\'); };
    return (separates(0) && separates(1)) || (path.size() > 2 && path[1] == ':' && separates(2));
}

size_t name_offset(std::string_view path) {
    const size_t separator = path.find_last_of("/\\");
    if (separator != std::string_view::npos) return separator + 1;
    return path.size() > 1 && path[1] == ':' ? 2 : 0;
}

namespace {

int fail_with(int error_number) {
    errno = error_number;
    return -1;
}

// Returns -1, with errno for the last error.
int fail_system() {
    switch (GetLastError()) {
        case ERROR_FILE_NOT_FOUND:
        case ERROR_PATH_NOT_FOUND:
        case ERROR_INVALID_DRIVE:
        case ERROR_BAD_NETPATH:
        case ERROR_BAD_NET_NAME:
            return fail_with(ENOENT);
        case ERROR_ACCESS_DENIED:
            return fail_with(EACCES);
        case ERROR_WRITE_PROTECT:
            return fail_with(EROFS);
        case ERROR_SHARING_VIOLATION:
        case ERROR_LOCK_VIOLATION:
        case ERROR_USER_MAPPED_FILE:
            return fail_with(EBUSY);
        case ERROR_FILE_EXISTS:
        case ERROR_ALREADY_EXISTS:
            return fail_with(EEXIST);
        case ERROR_DIRECTORY:
            return fail_with(ENOTDIR);
        case ERROR_FILENAME_EXCED_RANGE:
            return fail_with(ENAMETOOLONG);
        case ERROR_HANDLE_DISK_FULL:
        case ERROR_DISK_FULL:
            return fail_with(ENOSPC);
        case ERROR_FILE_TOO_LARGE:
            return fail_with(EFBIG);
        case ERROR_TOO_MANY_OPEN_FILES:
            return fail_with(EMFILE);
        case ERROR_NOT_ENOUGH_MEMORY:
        case ERROR_OUTOFMEMORY:
        case ERROR_NO_SYSTEM_RESOURCES:
            return fail_with(ENOMEM);
        case ERROR_INVALID_HANDLE:
            return fail_with(EBADF);
        case ERROR_NOT_SUPPORTED:
        case ERROR_CALL_NOT_IMPLEMENTED:
        case ERROR_INVALID_FUNCTION:
            return fail_with(EOPNOTSUPP);
        case ERROR_INVALID_PARAMETER:
        case ERROR_INVALID_NAME:
        case ERROR_BAD_PATHNAME:
            return fail_with(EINVAL);
        case ERROR_CANT_RESOLVE_FILENAME:
            return fail_with(ELOOP);
        case ERROR_NO_UNICODE_TRANSLATION:
            return fail_with(EILSEQ);
        default:
            return fail_with(EIO);
    }
}

int done(BOOL success) { return success ? 0 : fail_system(); }

// Handles are multiples of 4; Windows ignores the lowest bits. Negative ones are not files.
HANDLE handle_of(int fd) {
    return fd > 0 && fd % 4 == 0 ? reinterpret_cast<HANDLE>(intptr_t{fd}) : INVALID_HANDLE_VALUE;
}

// The name of an open folder. It remains valid, because the folder cannot be renamed.
bool folder_path(int folder, std::wstring *path) {
    std::wstring text(MAX_PATH, L'\0');
    for (;;) {
        const DWORD length = GetFinalPathNameByHandleW(handle_of(folder), text.data(), text.size(), 0);
        if (length == 0) return false;
        const bool complete = length < text.size();
        text.resize(length);
        if (complete) break;
    }
    constexpr std::wstring_view kServer = L"\\\\?\\UNC\\", kLong = L"\\\\?\\";
    if (text.starts_with(kServer)) text.replace(0, kServer.size(), L"\\\\");
    if (text.starts_with(kLong)) text.erase(0, kLong.size());
    *path = text;
    return true;
}

// The absolute path of a name in a folder. Returns false with the last error.
bool resolve_name(int folder, const char *name, std::wstring *path) {
    std::wstring text;
    if (!to_wide(name, &text)) return false;
    if (folder != kCurrentFolder) {
        std::wstring parent;
        if (!folder_path(folder, &parent)) return false;
        // A colon would name a stream of another file.
        if (text.find(L':') != std::wstring::npos) {
            SetLastError(ERROR_INVALID_NAME);
            return false;
        }
        text = parent + L'\\' + text;
    }
    return absolute_path(text, path);
}

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

class Handle {
public:
    explicit Handle(HANDLE handle) : handle_(handle) {}
    ~Handle() {
        const DWORD error = GetLastError();
        if (valid()) CloseHandle(handle_);
        SetLastError(error);
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    HANDLE get() const { return handle_; }
    bool valid() const { return handle_ != INVALID_HANDLE_VALUE; }
    int release() { return static_cast<int>(reinterpret_cast<intptr_t>(std::exchange(handle_, INVALID_HANDLE_VALUE))); }

private:
    HANDLE handle_;
};

Handle open_handle(int folder, const char *name, DWORD access, DWORD share, DWORD disposition, DWORD flags) {
    std::wstring path;
    if (!resolve_name(folder, name, &path)) return Handle(INVALID_HANDLE_VALUE);
    return Handle(CreateFileW(path.c_str(), access, share, nullptr, disposition, flags, nullptr));
}

int status_of_handle(HANDLE handle, FileStatus *status) {
    SetLastError(NO_ERROR);
    const DWORD type = GetFileType(handle);
    if (type == FILE_TYPE_UNKNOWN) return GetLastError() == NO_ERROR ? fail_with(EBADF) : fail_system();
    *status = {type == FILE_TYPE_PIPE ? FileKind::kPipe : FileKind::kDevice, 0, 0666};
    if (type != FILE_TYPE_DISK) return 0;
    BY_HANDLE_FILE_INFORMATION found;
    if (!GetFileInformationByHandle(handle, &found)) return fail_system();
    const DWORD attributes = found.dwFileAttributes;
    FILE_ATTRIBUTE_TAG_INFO tag{};
    if (attributes & FILE_ATTRIBUTE_REPARSE_POINT)
        (void)GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof tag);
    const bool link = tag.ReparseTag == IO_REPARSE_TAG_SYMLINK || tag.ReparseTag == IO_REPARSE_TAG_MOUNT_POINT;
    status->kind = link                                    ? FileKind::kLink
                   : attributes & FILE_ATTRIBUTE_DIRECTORY ? FileKind::kFolder
                                                           : FileKind::kRegular;
    status->size = int64_t{found.nFileSizeHigh} << 32 | found.nFileSizeLow;
    if (attributes & FILE_ATTRIBUTE_READONLY) status->permissions = 0444;
    return 0;
}

int status_of_path(int folder, const char *path, DWORD flags, FileStatus *status) {
    const Handle file =
        open_handle(folder, path, FILE_READ_ATTRIBUTES, kShareAll, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags);
    return file.valid() ? status_of_handle(file.get(), status) : fail_system();
}

int open_mode(int folder, const char *path, OpenMode mode, uint32_t) {
    const bool creates = mode == OpenMode::kCreate, lists = mode == OpenMode::kFolder;
    // FILE_FLAG_BACKUP_SEMANTICS also opens folders, like open() of POSIX. It bypasses access rights only in programs
    // that have enabled the privilege.
    Handle file = open_handle(
        folder, path, creates ? GENERIC_WRITE : GENERIC_READ, lists ? FILE_SHARE_READ | FILE_SHARE_WRITE : kShareAll,
        creates ? CREATE_NEW : OPEN_EXISTING, creates ? FILE_ATTRIBUTE_NORMAL : FILE_FLAG_BACKUP_SEMANTICS);
    if (!file.valid()) return fail_system();
    FileStatus status;
    if (lists && status_of_handle(file.get(), &status) < 0) return -1;
    if (lists && status.kind != FileKind::kFolder) return fail_with(ENOTDIR);
    return file.release();
}

int status_of(int fd, FileStatus *status) { return status_of_handle(handle_of(fd), status); }

int status_of_link(int folder, const char *path, FileStatus *status) {
    return status_of_path(folder, path, FILE_FLAG_OPEN_REPARSE_POINT, status);
}

int resolve_path(const char *path, std::string *resolved) {
    Handle file =
        open_handle(kCurrentFolder, path, FILE_READ_ATTRIBUTES, kShareAll, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    if (!file.valid()) return fail_system();
    const int fd = file.release();
    std::wstring text;
    const bool found = folder_path(fd, &text) && to_utf8(text, resolved);
    const int result = found ? 0 : fail_system();
    CloseHandle(handle_of(fd));
    return result;
}

// Reads or writes at an offset. The position of the handle belongs to the caller.
template <class Transfer, class Data>
int64_t transfer_at(Transfer transfer, int fd, Data data, size_t bytes, int64_t offset) {
    const HANDLE handle = handle_of(fd);
    LARGE_INTEGER position{};
    const bool has_position = SetFilePointerEx(handle, {}, &position, FILE_CURRENT);
    OVERLAPPED at{};
    at.Offset = static_cast<DWORD>(offset);
    at.OffsetHigh = static_cast<DWORD>(offset >> 32);
    DWORD moved = 0;
    const auto count = static_cast<DWORD>(std::min<size_t>(bytes, size_t{1} << 30));
    BOOL success = transfer(handle, data, count, &moved, &at);
    if (!success && GetLastError() == ERROR_IO_PENDING) success = GetOverlappedResult(handle, &at, &moved, TRUE);
    const DWORD error = success ? NO_ERROR : GetLastError();
    if (has_position) (void)SetFilePointerEx(handle, position, nullptr, FILE_BEGIN);
    SetLastError(error);
    if (success || error == ERROR_HANDLE_EOF) return moved;
    return fail_system();
}

int flush_to_disk(int fd) {
    FileStatus status;
    if (status_of(fd, &status) < 0) return -1;
    if (status.kind == FileKind::kFolder) return fail_with(EINVAL);
    return done(FlushFileBuffers(handle_of(fd)));
}

// A virus scanner or an indexer opens new files for a moment, and then they cannot be renamed or deleted.
template <class Change>
int retry_shared(Change change) {
    for (int wait = 1;; wait *= 2) {
        if (change()) return 0;
        const DWORD error = GetLastError();
        if ((error != ERROR_SHARING_VIOLATION && error != ERROR_ACCESS_DENIED) || wait > 128) return fail_system();
        Sleep(wait);
    }
}

int rename_file(int folder, const char *from, const char *to) {
    std::wstring old_path, new_path;
    if (!resolve_name(folder, from, &old_path) || !resolve_name(folder, to, &new_path)) return fail_system();
    const DWORD attributes = GetFileAttributesW(new_path.c_str());
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_READONLY)) return fail_with(EACCES);
    // Not ReplaceFileW(), which renames the old file first: a process that is killed in between leaves no file.
    const DWORD flags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
    return retry_shared([&] { return MoveFileExW(old_path.c_str(), new_path.c_str(), flags); });
}

int link_file(int folder, const char *from, const char *to) {
    std::wstring old_path, new_path;
    if (!resolve_name(folder, from, &old_path) || !resolve_name(folder, to, &new_path)) return fail_system();
    return done(CreateHardLinkW(new_path.c_str(), old_path.c_str(), nullptr));
}

int unlink_file(int folder, const char *name) {
    std::wstring path;
    if (!resolve_name(folder, name, &path)) return fail_system();
    return retry_shared([&] { return DeleteFileW(path.c_str()); });
}

template <class Info>
int set_information(int fd, FILE_INFO_BY_HANDLE_CLASS kind, Info info) {
    return done(SetFileInformationByHandle(handle_of(fd), kind, &info, sizeof info));
}

const IoOps kSystem = {
    .open = open_mode,
    .close = [](int fd) { return done(CloseHandle(handle_of(fd))); },
    .fstat = status_of,
    .lstat = status_of_link,
    .realpath = resolve_path,
    .pread = [](int fd, void *dst, size_t bytes,
                int64_t offset) { return transfer_at(ReadFile, fd, dst, bytes, offset); },
    .pwrite = [](int fd, const void *src, size_t bytes,
                 int64_t offset) { return transfer_at(WriteFile, fd, src, bytes, offset); },
    .allocate =
        [](int fd, int64_t bytes) {
            return set_information(fd, FileAllocationInfo, FILE_ALLOCATION_INFO{{.QuadPart = bytes}});
        },
    .fsync = flush_to_disk,
    .link = link_file,
    .rename = rename_file,
    .unlink = unlink_file,
};

// Far beyond the data: a lock keeps other handles from reading and writing what it covers.
OVERLAPPED lock_range() {
    OVERLAPPED range{};
    range.OffsetHigh = 0x7fffffff;
    return range;
}

bool try_lock(HANDLE handle) {
    OVERLAPPED range = lock_range();
    return LockFileEx(handle, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &range);
}

bool pipe_is_empty(HANDLE handle) {
    DWORD available = 0;
    return GetFileType(handle) == FILE_TYPE_PIPE && PeekNamedPipe(handle, nullptr, 0, nullptr, &available, nullptr) &&
           available == 0;
}

}  // namespace

const IoOps &system_io() { return kSystem; }

int stat_file(const char *path, FileStatus *status) { return status_of_path(kCurrentFolder, path, 0, status); }

bool file_exists(const char *path) {
    std::wstring name;
    return resolve_name(kCurrentFolder, path, &name) && GetFileAttributesW(name.c_str()) != INVALID_FILE_ATTRIBUTES;
}

int make_folder(const char *path) {
    std::wstring name;
    return resolve_name(kCurrentFolder, path, &name) && CreateDirectoryW(name.c_str(), nullptr) != 0 ? 0
                                                                                                     : fail_system();
}

bool is_append_only(int) { return false; }

int truncate_file(int fd) { return set_information(fd, FileEndOfFileInfo, FILE_END_OF_FILE_INFO{}); }

int64_t read_file_some(int fd, void *dst, size_t bytes) {
    const HANDLE handle = handle_of(fd);
    if (pipe_is_empty(handle)) return fail_with(EAGAIN);
    DWORD got = 0;
    if (ReadFile(handle, dst, static_cast<DWORD>(std::min<size_t>(bytes, size_t{1} << 30)), &got, nullptr)) return got;
    // Without a writer a pipe is at its end.
    return GetLastError() == ERROR_BROKEN_PIPE || GetLastError() == ERROR_HANDLE_EOF ? 0 : fail_system();
}

void wait_readable(int fd, int milliseconds) {
    for (int i = 0; i < milliseconds && pipe_is_empty(handle_of(fd)); ++i) Sleep(1);
}

int list_folder(int folder, const char *path, std::string_view prefix, std::vector<std::string> *names) {
    std::wstring pattern;
    if (std::strcmp(path, ".") == 0 && folder != kCurrentFolder) {
        std::wstring name;
        if (!folder_path(folder, &name) || !absolute_path(name, &pattern)) return fail_system();
    } else if (!resolve_name(folder, path, &pattern)) {
        return fail_system();
    }
    pattern += L"\\*";
    WIN32_FIND_DATAW entry;
    const HANDLE search = FindFirstFileW(pattern.c_str(), &entry);
    if (search == INVALID_HANDLE_VALUE) return fail_system();
    const std::unique_ptr<void, BOOL (*)(HANDLE)> closer(search, [](HANDLE handle) { return FindClose(handle); });
    do {
        std::string name;  // names that are not Unicode are skipped, because no path could name them
        if (to_utf8(entry.cFileName, &name) && name.starts_with(prefix)) names->push_back(name);
    } while (FindNextFileW(search, &entry));
    return GetLastError() == ERROR_NO_MORE_FILES ? 0 : fail_system();
}

void lock_file(int fd) { (void)try_lock(handle_of(fd)); }

// The user is not compared: who may delete a file here is decided by its access rights only.
static bool is_abandoned(int folder, const char *name, bool lockable, int64_t seconds) {
    const Handle file = open_handle(folder, name, GENERIC_READ, kShareAll, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT);
    FileStatus status;
    FILE_BASIC_INFO times;
    if (!file.valid() || status_of_handle(file.get(), &status) < 0 || status.kind != FileKind::kRegular) return false;
    if (!GetFileInformationByHandleEx(file.get(), FileBasicInfo, &times, sizeof times)) return false;
    FILETIME now;
    GetSystemTimeAsFileTime(&now);
    constexpr int64_t kTicksPerSecond = 10'000'000;
    const int64_t ticks = int64_t{now.dwHighDateTime} << 32 | now.dwLowDateTime;
    // FAT has no time of changes.
    const int64_t changed = std::max(times.ChangeTime.QuadPart, times.LastWriteTime.QuadPart);
    return ticks - changed >= seconds * kTicksPerSecond && (!lockable || try_lock(file.get()));
}

void remove_abandoned(int folder, const char *name, bool lockable, int64_t seconds) {
    if (is_abandoned(folder, name, lockable, seconds)) (void)system_io().unlink(folder, name);
}

// Windows has no such signal.
FileSizeSignalBlocked::FileSizeSignalBlocked() : saved_{}, was_pending_(false) {}
FileSizeSignalBlocked::~FileSizeSignalBlocked() {
    (void)saved_;
    (void)was_pending_;
}

}  // namespace xf
