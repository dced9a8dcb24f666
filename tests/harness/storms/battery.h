/*
 * Everything that computes, reads or writes, once, and hashes of what came out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_BATTERY_H
#define XF_TEST_BATTERY_H

#include <stdint.h>

enum { RESULTS = 8 };

/*
 * Trains, saves, resumes, loads, decodes, reads a file and a slow pipe, learns a tokenizer and saves it. Ends the
 * program when a call fails. Files are `path` and its likes; `between` (NULL: nothing) is called between the calls.
 */
void work(const char *device, const char *path, uint64_t *results, void (*between)(void));
void remove_files(const char *path);

#endif
