/*
 * posix.c - see posix.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "posix.h"

#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

int fnmatch(const char *pattern, const char *text, int flags) {
    if (*pattern == '\0') return *text != '\0';
    if (*pattern == '*') {
        for (;; ++text) {
            if (fnmatch(pattern + 1, text, flags) == 0) return 0;
            if (*text == '\0') return 1;
        }
    }
    return *text == '\0' || (*pattern != '?' && *pattern != *text) ? 1 : fnmatch(pattern + 1, text + 1, flags);
}

char *mkdtemp(char *name) {
    static volatile LONG counter;
    char *const end = name + strlen(name) - 6;
    for (int i = 0; i < 1000; ++i) {
        const unsigned number = GetCurrentProcessId() * 1000003u + (unsigned)InterlockedIncrement(&counter);
        snprintf(end, 7, "%06x", number & 0xffffff);
        if (CreateDirectoryA(name, NULL)) return name;
    }
    return NULL;
}

int setenv(const char *name, const char *value, int replace) {
    (void)replace;
    return SetEnvironmentVariableA(name, value) && _putenv_s(name, value) == 0 ? 0 : -1;
}
int unsetenv(const char *name) {
    (void)_putenv_s(name, "");
    SetEnvironmentVariableA(name, NULL);
    return 0;
}

int pipe(int ends[2]) { return _pipe(ends, 65536, _O_BINARY | _O_NOINHERIT); }

void *dlopen(const char *path, int mode) {
    if (mode & RTLD_NOLOAD) return GetModuleHandleA(path);
    return LoadLibraryA(path);
}
void *dlsym(void *library, const char *name) { return (void *)(uintptr_t)GetProcAddress(library, name); }
int dlclose(void *library) { return FreeLibrary(library) ? 0 : -1; }
char *dlerror(void) { return (char *)"the library cannot be loaded"; }

/* The aligned blocks, in a hash table with open addressing. */
enum { TABLE_SIZE = 1 << 16 };
static void *table[TABLE_SIZE];
static SRWLOCK table_lock = SRWLOCK_INIT;

static size_t slot_of(const void *block) { return ((uintptr_t)block >> 4) * 2654435761u % TABLE_SIZE; }

/* Empties a slot, and moves blocks after it so that each can still be found from its own slot. */
static void remove_slot(size_t hole) {
    for (size_t slot = (hole + 1) % TABLE_SIZE; table[slot] != NULL; slot = (slot + 1) % TABLE_SIZE) {
        const size_t distance = (slot - slot_of(table[slot])) % TABLE_SIZE;
        if (distance < (slot - hole) % TABLE_SIZE) continue;
        table[hole] = table[slot];
        hole = slot;
    }
    table[hole] = NULL;
}

void *aligned_alloc(size_t alignment, size_t size) {
    void *const block = _aligned_malloc(size, alignment);
    if (block == NULL) return NULL;
    AcquireSRWLockExclusive(&table_lock);
    size_t slot = slot_of(block);
    size_t tries = 0;
    for (; table[slot] != NULL && tries < TABLE_SIZE; ++tries) slot = (slot + 1) % TABLE_SIZE;
    if (tries == TABLE_SIZE) abort();
    table[slot] = block;
    ReleaseSRWLockExclusive(&table_lock);
    return block;
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = aligned_alloc(alignment, size);
    return *block != NULL ? 0 : ENOMEM;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block) {
    AcquireSRWLockExclusive(&table_lock);
    size_t slot = slot_of(block);
    for (size_t i = 0; block != NULL && table[slot] != NULL && table[slot] != block && i < TABLE_SIZE; ++i)
        slot = (slot + 1) % TABLE_SIZE;
    const bool is_aligned = block != NULL && table[slot] == block;
    if (is_aligned) remove_slot(slot);
    ReleaseSRWLockExclusive(&table_lock);
    if (is_aligned)
        _aligned_free(block);
    else
        __real_free(block);
}

static volatile LONG alarms;

static DWORD WINAPI end_process(void *argument) {
    const LONG mine = alarms;
    Sleep((DWORD)(uintptr_t)argument * 1000);
    if (alarms == mine) TerminateProcess(GetCurrentProcess(), 142);
    return 0;
}

unsigned alarm(unsigned seconds) {
    InterlockedIncrement(&alarms);
    if (seconds > 0) CloseHandle(CreateThread(NULL, 0, end_process, (void *)(uintptr_t)seconds, 0, NULL));
    return 0;
}

static int unsupported(void) {
    errno = ENOSYS;
    return -1;
}

int fork(void) { return unsupported(); }
pid_t waitpid(pid_t child, int *status, int options) {
    (void)child, (void)options;
    *status = -1;
    return unsupported();
}
int kill(pid_t process, int signal) { return (void)process, (void)signal, unsupported(); }
int mkfifo(const char *path, mode_t mode) { return (void)path, (void)mode, unsupported(); }
int symlink(const char *target, const char *path) { return (void)target, (void)path, unsupported(); }
int unlinkat(int folder, const char *path, int flags) { return (void)folder, (void)path, (void)flags, unsupported(); }
uid_t geteuid(void) { return 1; }
int seteuid(uid_t user) { return (void)user, unsupported(); }

int sigaction(int number, const struct sigaction *action, struct sigaction *before) {
    (void)number, (void)action;
    if (before != NULL) memset(before, 0, sizeof *before);
    return unsupported();
}
int sigemptyset(sigset_t *set) { return *set = 0, 0; }
int sigfillset(sigset_t *set) { return *set = ~0ull, 0; }
int sigaddset(sigset_t *set, int number) { return *set |= 1ull << number, 0; }
int sigismember(const sigset_t *set, int number) { return (int)(*set >> number & 1); }
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
    (void)how, (void)set;
    if (before != NULL) *before = 0;
    return 0;
}
int sigpending(sigset_t *set) { return *set = 0, unsupported(); }

int setitimer(int which, const struct itimerval *time, struct itimerval *before) {
    return (void)which, (void)time, (void)before, unsupported();
}

int getrlimit(int what, struct rlimit *limit) { return (void)what, memset(limit, 0, sizeof *limit), unsupported(); }
int setrlimit(int what, const struct rlimit *limit) { return (void)what, (void)limit, unsupported(); }
int poll(struct pollfd *files, unsigned long count, int milliseconds) {
    return (void)files, (void)count, (void)milliseconds, unsupported();
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, long offset) {
    (void)flags, (void)offset;
    const DWORD access = protection == PROT_NONE ? PAGE_NOACCESS : PAGE_READWRITE;
    void *const map = fd < 0 ? VirtualAlloc(address, bytes, MEM_RESERVE | MEM_COMMIT, access) : NULL;
    return map != NULL ? map : MAP_FAILED;
}
int munmap(void *address, size_t bytes) { return (void)bytes, VirtualFree(address, 0, MEM_RELEASE) ? 0 : -1; }
int mprotect(void *address, size_t bytes, int protection) {
    DWORD before;
    const DWORD access = protection == PROT_NONE          ? PAGE_NOACCESS
                         : (protection & PROT_WRITE) != 0 ? PAGE_READWRITE
                                                          : PAGE_READONLY;
    return VirtualProtect(address, bytes, access, &before) ? 0 : -1;
}
