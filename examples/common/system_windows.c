/*
 * system_windows.c - see system.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "system.h"

#if defined(_WIN32)

#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>
/* after windows.h */
#include <shellapi.h>

#include "common.h"

#undef fopen
#undef open
#undef stat
#undef access
#undef remove
#undef rename
#undef read

/* Returns UTF-16, which the caller frees; NULL with errno if the text is not UTF-8. */
static wchar_t *widen(const char *text) {
    const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    if (length == 0) {
        errno = EILSEQ;
        return NULL;
    }
    wchar_t *wide = allocate((size_t)length * sizeof *wide);
    MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, length);
    return wide;
}

/* Returns UTF-8, which the caller frees. */
static char *narrow(const wchar_t *wide) {
    const int length = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = allocate((size_t)length + 1);
    text[0] = '\0';
    WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, length, NULL, NULL);
    return text;
}

static UINT console_input, console_output;

static void restore_console(void) {
    SetConsoleCP(console_input);
    SetConsoleOutputCP(console_output);
}

void start_process(int *argc, char ***argv) {
    int count = 0;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    if (wide != NULL) {
        char **arguments = allocate(((size_t)count + 1) * sizeof *arguments);
        for (int i = 0; i < count; ++i) arguments[i] = narrow(wide[i]);
        arguments[count] = NULL;
        LocalFree(wide);
        *argc = count;
        *argv = arguments;
    }
    for (int fd = 0; fd < 3; ++fd) _setmode(fd, _O_BINARY);
    console_input = GetConsoleCP();
    console_output = GetConsoleOutputCP();
    if (console_output == 0) return; /* the process has no console */
    SetConsoleCP(CP_UTF8);
    SetConsoleOutputCP(CP_UTF8);
    atexit(restore_console);
    DWORD mode;
    const HANDLE output = GetStdHandle(STD_OUTPUT_HANDLE);
    if (GetConsoleMode(output, &mode)) SetConsoleMode(output, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

static void (*interrupt_handler)(int);

static BOOL WINAPI on_event(DWORD event) {
    interrupt_handler((int)event);
    /* After these the process ends when the handler returns. Windows waits at most 5 seconds for that. */
    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) Sleep(INFINITE);
    return TRUE;
}

void on_interrupt(void (*handler)(int)) {
    interrupt_handler = handler;
    SetConsoleCtrlHandler(on_event, TRUE); /* a process that was started to ignore Ctrl-C still ignores it */
}

static HANDLE open_to_examine(const char *path) {
    wchar_t *name = widen(path);
    if (name == NULL) return INVALID_HANDLE_VALUE;
    const HANDLE file = CreateFileW(name, FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                    NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    free(name);
    return file;
}

bool is_same_file(const char *one, const char *other) {
    const HANDLE a = open_to_examine(one), b = open_to_examine(other);
    BY_HANDLE_FILE_INFORMATION x, y;
    const bool same = GetFileInformationByHandle(a, &x) && GetFileInformationByHandle(b, &y) &&
                      x.dwVolumeSerialNumber == y.dwVolumeSerialNumber && x.nFileIndexHigh == y.nFileIndexHigh &&
                      x.nFileIndexLow == y.nFileIndexLow;
    if (a != INVALID_HANDLE_VALUE) CloseHandle(a);
    if (b != INVALID_HANDLE_VALUE) CloseHandle(b);
    return same;
}

char *last_name(const char *path) {
    const char *name = path;
    for (const char *c = path; *c != '\0'; ++c)
        if (*c == '/' || *c == '\\' || *c == ':') name = c + 1;
    return (char *)name;
}

bool is_ready(int fd) {
    const HANDLE handle = (HANDLE)_get_osfhandle(fd);
    DWORD available = 0;
    if (GetFileType(handle) == FILE_TYPE_PIPE)
        return !PeekNamedPipe(handle, NULL, 0, NULL, &available, NULL) || available > 0;
    return !is_terminal(fd); /* a terminal returns one line at a time */
}

bool program_path(char *path, size_t size) {
    wchar_t wide[4096];
    const DWORD length = GetModuleFileNameW(NULL, wide, 4096);
    return length > 0 && length < 4096 && WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, (int)size, NULL, NULL) > 0;
}

struct folder {
    HANDLE search;
    WIN32_FIND_DATAW entry;
    bool found;
    struct dirent name;
};

DIR *opendir(const char *path) {
    const size_t size = strlen(path) + 3;
    char *pattern = allocate(size);
    snprintf(pattern, size, "%s/*", path);
    wchar_t *wide = widen(pattern);
    free(pattern);
    if (wide == NULL) return NULL;
    struct folder *folder = allocate(sizeof *folder);
    folder->search = FindFirstFileW(wide, &folder->entry);
    folder->found = folder->search != INVALID_HANDLE_VALUE;
    free(wide);
    if (folder->found) return folder;
    free(folder);
    errno = ENOENT;
    return NULL;
}

struct dirent *readdir(DIR *folder) {
    if (!folder->found) return NULL;
    WideCharToMultiByte(CP_UTF8, 0, folder->entry.cFileName, -1, folder->name.d_name, sizeof folder->name.d_name, NULL,
                        NULL);
    folder->found = FindNextFileW(folder->search, &folder->entry);
    return &folder->name;
}

int closedir(DIR *folder) {
    FindClose(folder->search);
    free(folder);
    return 0;
}

FILE *utf8_fopen(const char *path, const char *mode) {
    wchar_t *name = widen(path), *how = widen(mode);
    FILE *file = name != NULL && how != NULL ? _wfopen(name, how) : NULL;
    free(name);
    free(how);
    return file;
}

int utf8_open(const char *path, int flags, ...) {
    wchar_t *name = widen(path);
    if (name == NULL) return -1;
    const int fd = _wopen(name, flags | _O_BINARY, _S_IREAD | _S_IWRITE);
    free(name);
    return fd;
}

int utf8_stat(const char *path, struct stat *status) {
    wchar_t *name = widen(path);
    struct _stat64 found;
    if (name == NULL) return -1;
    const int result = _wstat64(name, &found);
    free(name);
    memset(status, 0, sizeof *status);
    if (result == 0) status->st_mode = found.st_mode;
    return result;
}

int utf8_access(const char *path, int mode) {
    wchar_t *name = widen(path);
    if (name == NULL) return -1;
    const int result = _waccess(name, mode);
    free(name);
    return result;
}

int utf8_remove(const char *path) {
    wchar_t *name = widen(path);
    if (name == NULL) return -1;
    const int result = _wremove(name);
    free(name);
    return result;
}

int utf8_rename(const char *from, const char *to) {
    wchar_t *old_name = widen(from), *new_name = widen(to);
    const bool renamed = old_name != NULL && new_name != NULL &&
                         MoveFileExW(old_name, new_name, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH);
    if (!renamed && old_name != NULL && new_name != NULL)
        errno = GetLastError() == ERROR_FILE_NOT_FOUND || GetLastError() == ERROR_PATH_NOT_FOUND ? ENOENT : EACCES;
    free(old_name);
    free(new_name);
    return renamed ? 0 : -1;
}

char *utf8_realpath(const char *path) {
    wchar_t wide[4096];
    const HANDLE file = open_to_examine(path);
    const DWORD length = file != INVALID_HANDLE_VALUE ? GetFinalPathNameByHandleW(file, wide, 4096, 0) : 0;
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    return length > 0 && length < 4096 ? narrow(wide) : NULL;
}

/* A terminal gives Unicode only by its own function. */
ssize_t utf8_read(int fd, void *buffer, size_t size) {
    wchar_t wide[1024];
    DWORD count = 0;
    if (!is_terminal(fd)) return _read(fd, buffer, size < 1 << 30 ? (unsigned)size : 1 << 30);
    const DWORD most = size / 3 < 1024 ? (DWORD)(size / 3) : 1024;
    if (!ReadConsoleW((HANDLE)_get_osfhandle(fd), wide, most, &count, NULL)) {
        errno = EIO;
        return -1;
    }
    if (count == 0 || wide[0] == 26) return 0; /* Ctrl-C, or Ctrl-Z at the begin of a line */
    return WideCharToMultiByte(CP_UTF8, 0, wide, (int)count, buffer, (int)size, NULL, NULL);
}

int is_terminal(int fd) {
    DWORD mode;
    return GetConsoleMode((HANDLE)_get_osfhandle(fd), &mode) ? 1 : 0;
}

#endif
