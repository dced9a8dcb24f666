/*
 * report.h - reports the scores of a parser on the terminal, as a table, and as a plot. Every score names the kind of
 * trees it was measured on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_REPORT_H
#define PARSE_REPORT_H

#include "parse_train.h"
#include "tree_kind.h"

/* Prints scores on the terminal. */
void print_score(const struct parse_score *score, double nll, const struct tree_kind *trees);

/* The contents of Table 4. */
struct table4 {
    struct parse_score constrained, unconstrained;
    const struct curve *curve;
    const xf_config *config;    /* of the run */
    const char *device, *scale; /* scale: the name for set_scale() */
    const char *init;           /* the model that training started from, or NULL */
    int32_t leaves;             /* number of leaf ids */
    int64_t parameters, steps, train_pairs, made_pairs, test_pairs;
    const struct tree_kind *train_trees, *dev_trees, *test_trees;
};

/* Writes table4.md, table4.tsv, table4.svg (F1), and table4-loss.svg. Returns false after printing a message. */
bool write_table4(const struct table4 *table, const char *folder);

#endif
