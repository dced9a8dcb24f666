/*
 * system.h - the system calls of the programs.
 *
 * system_posix.c and system_windows.c define what differs. On Windows, system_windows.c also defines functions of
 * POSIX, which take names of files in UTF-8.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_SYSTEM_H
#define EXAMPLE_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Prepares the process: a write to a pipe without a reader fails with EPIPE. On Windows, also replaces argv by
 * arguments in UTF-8, and sets the standard streams to UTF-8 without conversion of line ends.
 */
void start_process(int *argc, char ***argv);

/* Calls the handler for Ctrl-C and for requests to end, except those that the program was started to ignore. */
void on_interrupt(void (*handler)(int));

/* Returns whether two paths name the same existing file or folder. */
bool is_same_file(const char *one, const char *other);

/* Returns the part of a path after its folders. */
char *last_name(const char *path);

/* Returns whether read() would return without waiting. */
bool is_ready(int fd);

/* Stores the path of the program. Returns false if it is unknown or too long. */
bool program_path(char *path, size_t size);

#if defined(_WIN32)
#include <io.h>
#include <process.h>

#define O_CLOEXEC _O_NOINHERIT
#define NULL_DEVICE "NUL"
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#ifndef F_OK
#define F_OK 0
#define W_OK 2
#define R_OK 4
#endif

typedef struct folder DIR;
struct dirent {
    char d_name[1024];
};
DIR *opendir(const char *path);
struct dirent *readdir(DIR *folder);
int closedir(DIR *folder);

FILE *utf8_fopen(const char *path, const char *mode);
int utf8_open(const char *path, int flags, ...);
int utf8_stat(const char *path, struct stat *status);
int utf8_access(const char *path, int mode);
int utf8_remove(const char *path);
int utf8_rename(const char *from, const char *to);
char *utf8_realpath(const char *path);
ssize_t utf8_read(int fd, void *buffer, size_t size);
int is_terminal(int fd);

#define fopen(path, mode) utf8_fopen(path, mode)
#define open(...) utf8_open(__VA_ARGS__)
#define stat(path, status) utf8_stat(path, status)
#define access(path, mode) utf8_access(path, mode)
#define remove(path) utf8_remove(path)
#define unlink(path) utf8_remove(path)
#define rename(from, to) utf8_rename(from, to)
#define realpath(path, buffer) utf8_realpath(path)
#define read(fd, buffer, size) utf8_read(fd, buffer, size)
#define isatty(fd) is_terminal(fd)
#define fsync(fd) _commit(fd)
#define fchmod(fd, mode) 0
#define ftruncate(fd, size) _chsize_s(fd, size)
#define lseek(fd, offset, from) _lseeki64(fd, offset, from)
#else
#include <dirent.h>
#include <unistd.h>

#define NULL_DEVICE "/dev/null"
#endif

#endif
