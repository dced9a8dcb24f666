/*
 * table1.h - shared declarations of `paper table1`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_TABLE1_H
#define PAPER_TABLE1_H

#include "encoder.h"

enum layer_kind { FULL, RESTRICTED, RECURRENT, CONVOLUTION, ENCODER, ENCODER_RESTRICTED, LAYER_KINDS };
enum { LEAST_LENGTH = 8, MOST_LENGTH = 1 << 20, MAX_LENGTHS = 18 };

struct table1 {
    const char *folder, *device;
    int64_t d, heads, window, kernel, shortest, longest, repeats;
    bool forward_only, cpu_time;
    int64_t lengths[MAX_LENGTHS];
    size_t length_count;
    struct encoder_cost costs[MAX_LENGTHS][LAYER_KINDS];
};

/* Multiply-adds of a forward pass of the layer; for a whole encoder layer including its projections. */
double layer_work(const struct table1 *t, enum layer_kind kind, int64_t n);
/* The number of sequential steps, and the path length (in layers or steps) between the ends of a sequence. */
int64_t layer_steps(const struct table1 *t, enum layer_kind kind, int64_t n);
int64_t layer_path(const struct table1 *t, enum layer_kind kind, int64_t n);

/* Writes table1.md, table1.tsv, and table1.svg. Returns false after printing a message. */
bool write_table1(const struct table1 *t);

#endif
