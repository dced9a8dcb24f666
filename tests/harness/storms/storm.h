/*
 * Shared by the storms: a small model without a tokenizer, and a checksum of its results.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_STORM_H
#define XF_TEST_STORM_H

#include <xformer/xformer.h>

#include "../../support/api.h"
#include "../../support/fnv.h"
#include "../../support/sanitized.h"
#include "../../surfaces/hosts/host.h"

/* How much of it: the argument, or `few`; a tenth of that under a sanitizer. */
long amount(int argc, char **argv, long few);
double seconds_now(void);
/* The same numbers from the same seed. */
uint32_t chance(uint32_t *seed);

/* Options of a small model on a device. */
xf_config *small_config(const char *device, const char *threads);
/* The context, or NULL after a line that says so when there is no such device. */
xf_context *context_on(const char *device, const char *threads);
/* Calls body for each backend of a CPU that there is, with a context, which is freed afterwards. */
void on_each_device(const char *threads, void (*body)(const char *device, xf_context *context));
xf_model *model_on(xf_context *context, const char *device);
xf_trainer *trainer_on(xf_context *context, const char *device);

/* Pairs number 0 to 7: each another one. */
enum { BATCHES = 8 };
xf_batch batch_of(int number);
uint64_t hash_file(const char *path);
/* The best answer of each sentence is added. */
void hash_answers(const xf_hypotheses *answers, uint64_t *sum);
/* Answers of a decode and scores of targets. `beam`: 1 to 4. */
xf_status decode_hash(xf_decoder *decoder, int number, int beam, uint64_t *sum, xf_error *err);

#endif
