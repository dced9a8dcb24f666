/*
 * signals.h - Ctrl-C: the first signal cancels the library call that is running, the second ends the program at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_SIGNALS_H
#define EXAMPLE_SIGNALS_H

#include <stdbool.h>

#include <xformer/xformer.h>

/* Catches SIGINT, SIGTERM, and SIGHUP, except those that the program was started to ignore, as with nohup. */
void catch_signals(void);

/* Returns whether a signal was caught. */
bool was_interrupted(void);

/* Parameters for long calls: a caught signal cancels the call. Never cancelled before catch_signals() is called. */
extern const xf_call until_interrupted;

#endif
