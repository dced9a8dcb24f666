/*
 * posix.h - functions of POSIX for tests on Windows. Those that exist in another form work. The others fail with
 * ENOSYS: tests/harness/platforms/windows.tsv lists the tests that need them. The headers beside this one include it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_WINDOWS_POSIX_H
#define XF_TEST_WINDOWS_POSIX_H

#include <errno.h>
#include <pthread_signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef EDQUOT
#define EDQUOT 10069
#endif
#define O_CLOEXEC _O_NOINHERIT
#define O_DIRECTORY 0
#define O_NONBLOCK 0

/* These work. */
int fnmatch(const char *pattern, const char *text, int flags); /* * and ? */
char *mkdtemp(char *name);
int setenv(const char *name, const char *value, int replace);
int unsetenv(const char *name);
int pipe(int ends[2]);
void *dlopen(const char *path, int mode);
void *dlsym(void *library, const char *name);
int dlclose(void *library);
char *dlerror(void);
#define RTLD_NOW 2
#define RTLD_LOCAL 0
#define RTLD_NOLOAD 4
#define RTLD_GLOBAL 256

/* free() frees their blocks, because the tests are linked with --wrap=free. */
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **block, size_t alignment, size_t size);

/* Ends the process after so many seconds; 0: never. */
unsigned alarm(unsigned seconds);

/* These fail. */
typedef unsigned uid_t;
typedef unsigned gid_t;
int fork(void);
pid_t waitpid(pid_t child, int *status, int options);
int kill(pid_t process, int signal);
int mkfifo(const char *path, mode_t mode);
int symlink(const char *target, const char *path);
int unlinkat(int folder, const char *path, int flags);
uid_t geteuid(void);
int seteuid(uid_t user);
#define WIFEXITED(status) ((status) == 0)
#define WEXITSTATUS(status) (status)
#define WIFSIGNALED(status) 0
#define WTERMSIG(status) 0

#ifndef SIGKILL
#define SIGKILL 9
#endif
#define SIGALRM 14
#define SIGUSR1 30
#define SIGUSR2 31
#define SIGPIPE 13
#define SIGXFSZ 25
#define SIGPROF 27
#define SIGCHLD 20
#define SA_RESTART 0
#define SIG_BLOCK 0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2
typedef unsigned long long xf_test_sigset;
#define sigset_t xf_test_sigset
struct sigaction {
    void (*sa_handler)(int);
    sigset_t sa_mask;
    int sa_flags;
};
int sigaction(int number, const struct sigaction *action, struct sigaction *before);
int sigemptyset(sigset_t *set);
int sigfillset(sigset_t *set);
int sigaddset(sigset_t *set, int number);
int sigismember(const sigset_t *set, int number);
int sigpending(sigset_t *set);
#undef pthread_sigmask                                               /* does nothing */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before); /* stores an empty set */

struct rlimit {
    uint64_t rlim_cur, rlim_max;
};
#define RLIMIT_FSIZE 1
#define RLIMIT_NOFILE 7
#define RLIMIT_AS 9
int getrlimit(int what, struct rlimit *limit);
int setrlimit(int what, const struct rlimit *limit);

struct pollfd {
    int fd;
    short events, revents;
};
#define POLLIN 1
int poll(struct pollfd *files, unsigned long count, int milliseconds);

#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_NONE 0
#define MAP_PRIVATE 2
#define MAP_SHARED 1
#define MAP_ANONYMOUS 32
#define MAP_NORESERVE 0
#define MAP_FAILED ((void *)-1)
void *mmap(void *address, size_t bytes, int protection, int flags, int fd, long offset);
int munmap(void *address, size_t bytes);
int mprotect(void *address, size_t bytes, int protection);

#define ITIMER_REAL 0
#define ITIMER_PROF 2
struct itimerval {
    struct {
        long tv_sec, tv_usec;
    } it_interval, it_value;
};
int setitimer(int which, const struct itimerval *time, struct itimerval *before);

#ifdef __cplusplus
}
namespace std {
using ::aligned_alloc;
}
#endif

#endif
