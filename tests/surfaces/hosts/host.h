/*
 * Shared by the hosts of this folder: errors end the program, and the resources of the process can be counted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_HOST_H
#define XF_TEST_HOST_H

#include <dirent.h>
#include <stdio.h>
#include <time.h>

#include "../../support/api.h"

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            exit(EXIT_FAILURE);                                                           \
        }                                                                                 \
    } while (0)

/* Entries of a folder of /proc: threads, descriptors. */
static inline int count_entries(const char *path) {
    int count = 0;
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    while (readdir(folder) != NULL) ++count;
    closedir(folder);
    return count - 2; /* . and .. */
}

/* Threads of the process, once there are no more than expected: the kernel shows an ended one for an instant longer. */
static inline int count_threads(int expected) {
    int threads = count_entries("/proc/self/task");
    for (int i = 0; i < 500 && threads > expected; ++i) {
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        threads = count_entries("/proc/self/task");
    }
    return threads;
}

/* Ends the program if the call fails. The caller declares err. */
#define MUST(call)                                                                      \
    do {                                                                                \
        if ((call) != XF_OK) {                                                          \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, err.message); \
            exit(EXIT_FAILURE);                                                         \
        }                                                                               \
    } while (0)
#endif
