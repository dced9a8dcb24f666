/*
 * signals.c - Ctrl-C; see signals.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "signals.h"

#include "common.h"
#include "system.h"

static volatile int32_t interrupted; /* the cancel flag: set by the handler, read by the library */

const xf_call until_interrupted = {.struct_size = sizeof until_interrupted, .cancelled = &interrupted};

static void on_signal(int number) {
    (void)number;
    if (interrupted != 0) _exit(EXIT_INTERRUPTED);
    interrupted = 1;
}

void catch_signals(void) { on_interrupt(on_signal); }

bool was_interrupted(void) { return interrupted != 0; }
