/*
 * One cycle of typical work of a host: it trains, saves, resumes from the file, decodes, cancels, causes errors, and
 * frees its objects. Some handles remain from cycle to cycle.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_SOAK_WORK_H
#define XF_TEST_SOAK_WORK_H

#include <stdint.h>

#include <xformer/xformer.h>

#include "../../support/api.h"

/* Objects that live as long as the process: handles from files of the first cycle, and a thread that cancels. */
struct lasting;

/* NULL: there is no such device here. Files are made in `folder`. */
struct lasting *lasting_create(const char *device, const char *folder);
void lasting_free(struct lasting *lasting);

/*
 * Runs one cycle with contexts of `threads` threads: a hash of all that came out, the same each time and for any number
 * of threads. Ends the program where a call does not do what it should.
 */
uint64_t cycle(struct lasting *lasting, int threads);

/* Causes errors of every kind, and checks that each has the right status and leaks nothing. */
void meet_errors(xf_context *context, const xf_model *model, const xf_config *config, const char *model_path,
                 const char *tokenizer_path);

/* How often a call was cancelled, and how many errors were met as they should. */
extern long cancelled_calls, errors_met;

#endif
