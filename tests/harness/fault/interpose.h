/*
 * Failing what the library asks of the system: memory, threads, system calls.
 *
 * interpose.c replaces malloc and its kin, mmap, pthread_create and the wrappers of system calls for the whole process:
 * the library, its plugins, the C++ runtime and the C library's own use of malloc. Each call of the armed kind that is
 * made within a library call, on whatever thread, has a number; number `at` fails, or all from there on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_FAULT_INTERPOSE_H
#define XF_TEST_FAULT_INTERPOSE_H

#include <pthread.h>
#include <stdbool.h>

/* The kinds of failures: memory (malloc, calloc, realloc, aligned forms, mmap), the start of a thread, a system call.
 */
enum fault_kind { FAULT_MEMORY, FAULT_THREADS, FAULT_CALLS, FAULT_KINDS };

/* A system call may also give less than was asked for. */
enum { SHORT_BY_HALF = -1, SHORT_TO_ONE = -2, SHORT_TO_NOTHING = -3 };

struct fault_plan {
    enum fault_kind kind;
    long at;       /* from 0 */
    bool for_ever; /* all later ones, too; EINTR only every other time, because callers retry */
    int way;       /* of a system call: which of the errors that it may give, from 0 */
};

struct fault_seen {
    long calls;           /* of the armed kind */
    bool fired, no_more;  /* no_more: the call has no such way */
    int error;            /* errno, or SHORT_ */
    const char *function; /* that failed first */
    void *frames[24];     /* whence it was called */
    int frame_count;
};

void fault_arm(const struct fault_plan *plan);
struct fault_seen fault_disarm(void);

/* Calls fail only between these two, on any thread; they can be nested. */
void fault_enter(void);
void fault_leave(void);

/* False where a sanitizer has replaced malloc: nothing is counted, and memory never fails. */
bool fault_has_memory(void);
/* Blocks of memory and of mmap that are held now by anyone. */
long fault_live_blocks(void);
/* Allocations of this loaded file never fail: the emulation of a GPU driver does not belong to the library. */
void fault_spare(const char *file);
/* A thread that starts whatever is armed. */
int fault_real_thread(pthread_t *thread, void *(*body)(void *), void *arg);

#endif
