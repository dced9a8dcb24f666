/*
 * rows.h - the rows of the paper's Table 3 with their results, and the number of parameters and operations of a model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_ROWS_H
#define PAPER_ROWS_H

#include <xformer/xformer.h>

struct paper_row {
    const char *name, *group, *change;
    double perplexity, bleu; /* newstest2013 */
    int parameters;          /* millions; 0: not printed in the paper, the same as the base model */
    int steps;               /* thousands */
};

enum { PAPER_ROWS = 20 };
extern const struct paper_row paper_rows[PAPER_ROWS];

/* Returns a row, or NULL if it does not exist. */
const struct paper_row *find_row(const char *name);

/*
 * Sets the options of a row and divides d_model, d_ff, d_k, and d_v by the scale. Does not change the numbers of layers
 * and heads or train.warmup_steps. Returns -1, or the exit status 2 after printing a message if the row does not exist
 * or a width is not a multiple of the scale.
 */
int set_row(xf_config *config, const char *name, int64_t scale);

struct model_size {
    int64_t encoder_layers, decoder_layers, d_model, d_ff, heads, d_k, d_v, vocabulary, learned_positions;
};

/* Returns the sizes in a config, with the given vocabulary size. */
struct model_size size_of(const xf_config *config, int64_t vocabulary);

/* Counts the parameters: q, k, v, and o have no bias, and one embedding matrix is shared by its three uses. */
int64_t count_parameters(const struct model_size *size);

/*
 * Counts the floating-point operations of a training step on a pair of s source and t target tokens: two for each
 * multiply-add of the matrix products and of attention, once in the forward pass and twice in the backward pass. Norms,
 * softmax, and Adam are not counted.
 */
double pair_flops(const struct model_size *size, int64_t s, int64_t t);
double batch_flops(const struct model_size *size, const xf_batch *batch);

#endif
