/*
 * See interpose.h. A program's own functions come before those of any library, also for what is opened later, because
 * this program exports them (ENABLE_EXPORTS).
 *
 * The errors of a call are those its manual page has for what this library does with it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "interpose.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../support/sanitized.h"

#define EXPORT __attribute__((visibility("default")))
#define WAYS 12

#define OPENING EACCES, EINTR, EMFILE, ENFILE, ENOMEM, ENOENT, EIO, ELOOP, EROFS
#define LOOKING EACCES, EIO, ENOMEM, ELOOP, ENOENT
#define READING EINTR, EIO, ESTALE, SHORT_BY_HALF, SHORT_TO_ONE
#define NAMING EACCES, EDQUOT, EIO, ENOENT, ENOMEM, ENOSPC, EPERM, EROFS
#define FOR_EACH_CALL(X)                                                                        \
    X(access, LOOKING)                                                                          \
    X(close, EINTR, EIO, ENOSPC, EDQUOT)                                                        \
    X(closedir, EBADF)                                                                          \
    X(fallocate, EINTR, ENOSPC, EDQUOT, EFBIG, EIO, EOPNOTSUPP, ENOSYS, EPERM)                  \
    X(fcntl, EMFILE)                                                                            \
    X(fclose, EIO)                                                                              \
    X(fdopendir, ENOMEM, EBADF)                                                                 \
    X(fgets, EIO, EINTR)                                                                        \
    X(flock, EINTR, ENOLCK, EWOULDBLOCK)                                                        \
    X(fopen, OPENING)                                                                           \
    X(fstat, EIO, ENOMEM, ESTALE)                                                               \
    X(fstatat, LOOKING)                                                                         \
    X(fsync, EIO, ENOSPC, EDQUOT, EROFS, EINVAL)                                                \
    X(getrandom, EAGAIN, EINTR, ENOSYS)                                                         \
    X(linkat, NAMING, EMLINK)                                                                   \
    X(madvise, EAGAIN, EINVAL, ENOMEM)                                                          \
    X(open, OPENING)                                                                            \
    X(openat, OPENING, EEXIST, ENOSPC, EDQUOT)                                                  \
    X(opendir, EACCES, EMFILE, ENFILE, ENOMEM, ENOENT)                                          \
    X(poll, EINTR, ENOMEM)                                                                      \
    X(pread, READING, SHORT_TO_NOTHING)                                                         \
    X(pwrite, EINTR, EIO, ENOSPC, EDQUOT, EFBIG, SHORT_BY_HALF, SHORT_TO_ONE, SHORT_TO_NOTHING) \
    X(read, READING)                                                                            \
    X(readdir, EIO, ENOENT)                                                                     \
    X(realpath, LOOKING)                                                                        \
    X(renameat, NAMING)                                                                         \
    X(sched_getaffinity, EINVAL, EPERM)                                                         \
    X(stat, LOOKING)                                                                            \
    X(unlinkat, EACCES, EIO, ENOENT, ENOMEM, EPERM, EROFS)

enum call {
#define NUMBER(name, ...) CALL_##name,
    FOR_EACH_CALL(NUMBER)
#undef NUMBER
};
static const struct {
    const char *name;
    int ways[WAYS];
} calls[] = {
#define ROW(name, ...) {#name, {__VA_ARGS__}},
    FOR_EACH_CALL(ROW)
#undef ROW
};

static struct fault_plan plan;
static atomic_bool armed;
static atomic_int entered;
static atomic_long seen, blocks;
static struct fault_seen found;

void fault_arm(const struct fault_plan *wanted) {
    plan = *wanted;
    memset(&found, 0, sizeof found);
    atomic_store(&seen, 0);
    atomic_store(&armed, true);
}

struct fault_seen fault_disarm(void) {
    atomic_store(&armed, false);
    found.calls = atomic_load(&seen);
    return found;
}

/* Of several threads that call the library one may be within it while another is not. */
static _Thread_local bool calls_library;
static _Thread_local int entered_here;

void fault_enter(void) {
    calls_library = true;
    ++entered_here;
    atomic_fetch_add(&entered, 1);
}
void fault_leave(void) {
    --entered_here;
    atomic_fetch_sub(&entered, 1);
}
long fault_live_blocks(void) { return atomic_load(&blocks); }

/* Finds frames without the unwinder's own first memory. */
__attribute__((constructor)) static void prepare(void) {
    void *frames[2];
    backtrace(frames, 2);
}

static _Thread_local bool inside; /* of this file: backtrace() is not to be counted */

static long number_of(enum fault_kind kind) {
    if (!atomic_load_explicit(&armed, memory_order_relaxed) || atomic_load(&entered) == 0 || inside) return -1;
    if (calls_library && entered_here == 0) return -1;
    return plan.kind == kind ? atomic_fetch_add(&seen, 1) : -1;
}

static void note(const char *function, int error) {
    inside = true;
    found.fired = true;
    found.function = function;
    found.error = error;
    found.frame_count = backtrace(found.frames, 24);
    inside = false;
}

/* Returns whether this call fails. */
static bool fails(enum fault_kind kind, const char *function, int error) {
    const long number = number_of(kind);
    if (number < plan.at || number < 0 || (number > plan.at && !plan.for_ever)) return false;
    if (number == plan.at) note(function, error);
    errno = error;
    return true;
}

/* The error of a system call, 0 to let it through. */
static int error_of(enum call call) {
    const long number = number_of(FAULT_CALLS);
    if (number < plan.at || number < 0) return 0;
    if (number == plan.at) {
        const int error = plan.way < WAYS ? calls[call].ways[plan.way] : 0;
        if (error == 0)
            found.no_more = true;
        else
            note(calls[call].name, error);
        return errno = error;
    }
    if (!plan.for_ever || (found.error == EINTR && (number - plan.at) % 2 == 1)) return 0;
    if (found.error == SHORT_TO_ONE && number > plan.at + 64) return 0; /* files byte by byte take long */
    for (int i = 0; i < WAYS && calls[call].ways[i] != 0; ++i)
        if (calls[call].ways[i] == found.error) return errno = found.error;
    return 0;
}

/* Gives -1 or NULL where the call fails; else `error` is 0 or SHORT_. */
#define FAIL_OR(call, failure)               \
    const int error = error_of(CALL_##call); \
    if (error > 0) return failure
/* The next function of this name, as the type of this one. */
#define REAL(name)                 \
    static __typeof__(&name) real; \
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, #name)

static size_t shortened(size_t size, int error) {
    return error == SHORT_TO_NOTHING ? 0 : error == SHORT_TO_ONE && size > 1 ? 1 : error < 0 ? (size + 1) / 2 : size;
}

#if !XF_TEST_SANITIZED && defined(__GLIBC__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *ptr);
void *aligned_alloc(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);

bool fault_has_memory(void) { return true; }

/* Where the file that is spared lies. */
static uintptr_t spared_begin, spared_end;
static _Thread_local bool sparing;

static int find_spared(struct dl_phdr_info *info, size_t size, void *name) {
    (void)size;
    if (strstr(info->dlpi_name, name) == NULL) return 0;
    spared_begin = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > spared_end) spared_end = end;
    }
    return 1;
}

void fault_spare(const char *file) { dl_iterate_phdr(find_spared, (void *)(uintptr_t)file); }

static bool is_spared(const void *caller) {
    return sparing || ((uintptr_t)caller >= spared_begin && (uintptr_t)caller < spared_end);
}
#define CALLER __builtin_return_address(0)

static bool no_memory(const char *function, const void *caller) {
    return !is_spared(caller) && fails(FAULT_MEMORY, function, ENOMEM);
}

static void *counted(void *ptr) {
    if (ptr != NULL) atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
    return ptr;
}

EXPORT void *malloc(size_t size) { return no_memory("malloc", CALLER) ? NULL : counted(__libc_malloc(size)); }
EXPORT void *calloc(size_t count, size_t size) {
    return no_memory("calloc", CALLER) ? NULL : counted(__libc_calloc(count, size));
}
EXPORT void *realloc(void *ptr, size_t size) {
    if (size == 0 && ptr != NULL) return free(ptr), NULL;
    if (no_memory("realloc", CALLER)) return NULL;
    return ptr == NULL ? counted(__libc_malloc(size)) : __libc_realloc(ptr, size);
}
static void *aligned(size_t alignment, size_t size, const void *caller) {
    return no_memory("memalign", caller) ? NULL : counted(__libc_memalign(alignment, size));
}
EXPORT void *memalign(size_t alignment, size_t size) { return aligned(alignment, size, CALLER); }
EXPORT void *aligned_alloc(size_t alignment, size_t size) { return aligned(alignment, size, CALLER); }
EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    void *const ptr = aligned(alignment, size, CALLER);
    if (ptr == NULL) return ENOMEM;
    *out = ptr;
    return 0;
}
EXPORT void free(void *ptr) {
    const int before = errno;
    if (ptr != NULL) atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
    __libc_free(ptr);
    errno = before;
}

#ifndef XF_FAULT_LATE /* the C++ runtime of a library that is opened later is unavailable here */
/* operator new calls malloc from the C++ runtime, so its caller must be determined here. */
EXPORT void *_Znwm(size_t size);
EXPORT void *_Znwm(size_t size) {
    REAL(_Znwm);
    const bool before = sparing;
    sparing = is_spared(CALLER);
    void *const ptr = real(size);
    sparing = before;
    return ptr;
}
#endif

/* malloc and pthread_create cover the use of mmap by the C library. */
EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    REAL(mmap);
    if (no_memory("mmap", CALLER)) return MAP_FAILED;
    void *const at = real(address, size, protection, flags, fd, offset);
    return at == MAP_FAILED ? at : counted(at);
}
EXPORT int munmap(void *address, size_t size) {
    REAL(munmap);
    atomic_fetch_sub(&blocks, 1);
    return real(address, size);
}
#else
bool fault_has_memory(void) { return false; }
void fault_spare(const char *file) { (void)file; }
#endif

static int start_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *arg) {
    REAL(pthread_create);
    return real(thread, attributes, body, arg);
}
EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *arg) {
    return fails(FAULT_THREADS, "pthread_create", EAGAIN) ? EAGAIN : start_thread(thread, attributes, body, arg);
}
int fault_real_thread(pthread_t *thread, void *(*body)(void *), void *arg) {
    return start_thread(thread, NULL, body, arg);
}

static mode_t mode_of(int flags, va_list list) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...) {
    REAL(open);
    FAIL_OR(open, -1);
    va_list list;
    va_start(list, flags);
    const mode_t mode = mode_of(flags, list);
    va_end(list);
    return real(path, flags, mode);
}
EXPORT int openat(int folder, const char *path, int flags, ...) {
    REAL(openat);
    FAIL_OR(openat, -1);
    va_list list;
    va_start(list, flags);
    const mode_t mode = mode_of(flags, list);
    va_end(list);
    return real(folder, path, flags, mode);
}
EXPORT int fcntl(int fd, int command, ...) {
    REAL(fcntl);
    FAIL_OR(fcntl, -1);
    va_list list;
    va_start(list, command);
    void *const arg = va_arg(list, void *);
    va_end(list);
    return real(fd, command, arg);
}
/* The descriptor is gone whatever the call says. */
#define CLOSE(name, type, failed)                                         \
    EXPORT int name(type handle) {                                        \
        REAL(name);                                                       \
        const int failure = error_of(CALL_##name), closed = real(handle); \
        return failure > 0 ? errno = failure, failed : closed;            \
    }
CLOSE(close, int, -1)
CLOSE(closedir, DIR *, -1)
CLOSE(fclose, FILE *, EOF)

/* REPLACE(type, failure, name, (parameters), (arguments)): a call that fails or is made. */
#define REPLACE(type, failure, name, parameters, arguments) \
    EXPORT type name parameters {                           \
        REAL(name);                                         \
        FAIL_OR(name, failure);                             \
        return real arguments;                              \
    }
REPLACE(int, -1, access, (const char *path, int mode), (path, mode))
REPLACE(int, -1, fallocate, (int fd, int mode, off_t offset, off_t size), (fd, mode, offset, size))
REPLACE(DIR *, NULL, fdopendir, (int fd), (fd))
REPLACE(char *, NULL, fgets, (char *dst, int size, FILE *file), (dst, size, file))
REPLACE(int, -1, flock, (int fd, int operation), (fd, operation))
REPLACE(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
REPLACE(int, -1, fstat, (int fd, struct stat *out), (fd, out))
REPLACE(int, -1, fstatat, (int folder, const char *path, struct stat *out, int flags), (folder, path, out, flags))
REPLACE(int, -1, fsync, (int fd), (fd))
REPLACE(ssize_t, -1, getrandom, (void *dst, size_t size, unsigned flags), (dst, size, flags))
REPLACE(int, -1, linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
REPLACE(int, -1, madvise, (void *address, size_t size, int advice), (address, size, advice))
REPLACE(DIR *, NULL, opendir, (const char *path), (path))
REPLACE(int, -1, poll, (struct pollfd * list, nfds_t count, int timeout), (list, count, timeout))
REPLACE(ssize_t, -1, pread, (int fd, void *dst, size_t size, off_t offset), (fd, dst, shortened(size, error), offset))
REPLACE(ssize_t, -1, pwrite, (int fd, const void *src, size_t size, off_t offset),
        (fd, src, shortened(size, error), offset))
REPLACE(ssize_t, -1, read, (int fd, void *dst, size_t size), (fd, dst, shortened(size, error)))
REPLACE(struct dirent *, NULL, readdir, (DIR * folder), (folder))
REPLACE(char *, NULL, realpath, (const char *path, char *dst), (path, dst))
REPLACE(int, -1, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
REPLACE(int, -1, sched_getaffinity, (pid_t pid, size_t size, cpu_set_t *set), (pid, size, set))
REPLACE(int, -1, stat, (const char *path, struct stat *out), (path, out))
REPLACE(int, -1, unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
