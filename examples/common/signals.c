/*
 * signals.c - Ctrl-C; see signals.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

static _Atomic(xf_context *) signal_context;
static atomic_int interrupted;

static void on_signal(int number) {
    (void)number;
    if (atomic_exchange(&interrupted, 1) != 0) _exit(EXIT_INTERRUPTED);
    xf_context_cancel(atomic_load(&signal_context));
}

void catch_signals(xf_context *context) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    atomic_store(&signal_context, context);
    struct sigaction action, inherited;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    action.sa_handler = on_signal;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        /* Who ignores a signal for us (nohup, a shell's `&`) wants the run to outlive it. */
        if (sigaction(numbers[i], NULL, &inherited) == 0 && inherited.sa_handler == SIG_IGN) continue;
        sigaction(numbers[i], &action, NULL);
    }
}

void release_context(void) { atomic_store(&signal_context, NULL); }

bool was_interrupted(void) { return atomic_load(&interrupted) != 0; }
