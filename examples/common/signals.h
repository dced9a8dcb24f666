/*
 * signals.h - Ctrl-C: the first signal asks the library to stop what it does, the second ends the program at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_SIGNALS_H
#define EXAMPLE_SIGNALS_H

#include <stdbool.h>

#include <xformer/xformer.h>

/* Catches SIGINT, SIGTERM and SIGHUP, each unless the program was started to ignore it, as nohup does. */
void catch_signals(xf_context *context);

/* From here on a signal does not touch the context, which may then be freed. */
void release_context(void);

bool was_interrupted(void);

#endif
