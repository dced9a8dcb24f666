/*
 * rows.h - the rows of the paper's Table 3, what the paper reports for them, and what is counted from a model's sizes:
 * parameters and arithmetic.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_ROWS_H
#define PAPER_ROWS_H

#include <xformer/xformer.h>

/* One row. */
struct paper_row {
    const char *name, *group, *change;
    double perplexity, bleu; /* newstest2013 */
    int parameters;          /* millions; 0: the paper prints none, it is that of the base model */
    int steps;               /* thousands */
};

enum { PAPER_ROWS = 20 };
extern const struct paper_row paper_rows[PAPER_ROWS];

/* NULL when there is no such row. */
const struct paper_row *find_row(const char *name);

/*
 * Sets a row's options and divides its widths, d_model, d_ff, d_k and d_v, by the scale; layers and heads stay. Keeps
 * "train.warmup_steps". Returns -1, or the exit status 2 after a message when there is no such row or the scale does
 * not divide a width.
 */
int set_row(xf_config *config, const char *name, int64_t scale);

struct model_size {
    int64_t encoder_layers, decoder_layers, d_model, d_ff, heads, d_k, d_v, vocabulary, learned_positions;
};

/* Sizes of a config with so many tokens in its vocabulary. */
struct model_size size_of(const xf_config *config, int64_t vocabulary);

/* Numbers in the model: q, k, v, o without bias, the embedding once for all its three uses. */
int64_t count_parameters(const struct model_size *size);

/*
 * Floating-point operations of one training step on a pair of s source and t target tokens: two for each multiply-add
 * of the matrix products and of attention, once forward and twice backward. Norms, softmax and Adam are left out.
 */
double pair_flops(const struct model_size *size, int64_t s, int64_t t);
double batch_flops(const struct model_size *size, const xf_batch *batch);

#endif
