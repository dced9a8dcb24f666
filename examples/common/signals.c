/*
 * signals.c - Ctrl-C; see signals.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

static volatile int32_t interrupted; /* the cancel flag: set by the handler, read by the library */

const xf_call until_interrupted = {.struct_size = sizeof until_interrupted, .cancelled = &interrupted};

static void on_signal(int number) {
    (void)number;
    if (interrupted != 0) _exit(EXIT_INTERRUPTED);
    interrupted = 1;
}

void catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action, inherited;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    action.sa_handler = on_signal;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        /* A signal that the program was started to ignore (nohup, a shell's `&`) remains ignored. */
        if (sigaction(numbers[i], NULL, &inherited) == 0 && inherited.sa_handler == SIG_IGN) continue;
        sigaction(numbers[i], &action, NULL);
    }
}

bool was_interrupted(void) { return interrupted != 0; }
