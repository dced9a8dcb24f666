/*
 * common.h - what the benchmark programs share: "key=value" arguments, errors, clock, peak memory, files of ids.
 *
 * Public API only. Arguments with a dot in the key ("context.threads=2") are options of the library, the others are
 * the program's own. Programs exit at the first error: they are measuring tools, not examples.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_BENCH_COMMON_H
#define XF_BENCH_COMMON_H

#include <stdint.h>
#include <stdio.h>

#include "xformer/xformer.h"

/* The end symbol of models without a tokenizer. */
enum { kEnd = 1 };

/* Prints one line to stderr and exits with 1. */
_Noreturn void die(const char *format, ...);

/* Exits with the reason when the status is an error. */
void check(xf_status status, const xf_error *err, const char *what);
#define CHECK(function, ...)                                   \
    do {                                                       \
        xf_error err_;                                         \
        check(function(__VA_ARGS__, &err_), &err_, #function); \
    } while (0)

void *allocate(size_t bytes);
void *read_file(const char *path, size_t *size); /* and a '\0' after it */

/* The program's own argument, or the fallback; text lives as long as argv. */
typedef struct args {
    int count;
    char **values;
} args;
const char *arg_text(args a, const char *key, const char *fallback); /* fallback NULL: the argument is needed */
int64_t arg_number(args a, const char *key, int64_t fallback);

/* A config from "preset=" and every dotted argument. */
xf_config *config_from(args a);

double seconds(void);     /* monotonic */
double cpu_seconds(void); /* of all threads of this process */
int64_t peak_rss(void);   /* bytes, 0 where /proc has none */

/* Sentences of one length, each ending with the end symbol, of random ids. Freed by free_batch. */
int32_t random_id(uint64_t *state, int64_t vocab); /* 2 .. vocab - 1 */
uint32_t next_random(uint64_t *state);
xf_batch random_batch(int64_t sentences, int64_t tokens, int64_t vocab, uint64_t seed);
void free_batch(xf_batch *batch);

/* Batches with their memory. */
typedef struct batch_list {
    xf_batch *batches;
    int64_t count;
    int32_t *ids;
    int64_t *offsets;
} batch_list;

/* The format of dump_batches: "XFB1", then int32 little-endian: number of batches; for each batch sentences B, source
 * tokens, target tokens (0: no targets), src_offsets [B + 1], src_ids, and with targets tgt_offsets [B + 1], tgt_ids.
 */
void write_batch(FILE *file, const xf_batch *batch);
batch_list read_batches(const char *path);

#endif
