/*
 * system_posix.c - see system.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _XOPEN_SOURCE 700

#include "system.h"

#if !defined(_WIN32)

#include <poll.h>
#include <signal.h>
#include <string.h>

void start_process(int *argc, char ***argv) {
    (void)argc, (void)argv;
    signal(SIGPIPE, SIG_IGN);
}

void on_interrupt(void (*handler)(int)) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action, inherited;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    action.sa_handler = handler;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        /* A signal that the program was started to ignore (nohup, a shell's `&`) remains ignored. */
        if (sigaction(numbers[i], NULL, &inherited) == 0 && inherited.sa_handler == SIG_IGN) continue;
        sigaction(numbers[i], &action, NULL);
    }
}

bool is_same_file(const char *one, const char *other) {
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

char *last_name(const char *path) {
    char *const slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : (char *)path;
}

bool is_ready(int fd) {
    struct pollfd request = {.fd = fd, .events = POLLIN};
    return poll(&request, 1, 0) != 0; /* read() reports any error */
}

bool program_path(char *path, size_t size) {
    const ssize_t length = readlink("/proc/self/exe", path, size);
    if (length <= 0 || (size_t)length >= size) return false;
    path[length] = '\0';
    return true;
}

#endif
