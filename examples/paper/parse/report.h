/*
 * report.h - what is told of a parser: on the terminal, as a table, as a plot. Whatever has a score says that the trees
 * are silver.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_REPORT_H
#define PARSE_REPORT_H

#include "parse_train.h"

/* Prints scores on the terminal. */
void print_score(const struct parse_score *score, double nll);

/* What Table 4 is made of. */
struct table4 {
    struct parse_score constrained, unconstrained;
    const struct curve *curve;
    const xf_config *config;    /* of the run */
    const char *device, *scale; /* the name of set_scale() */
    int64_t parameters, steps, train_pairs, test_pairs;
};

/* Writes table4.md, table4.tsv, table4.svg (F1) and table4-loss.svg into a folder. False after a message. */
bool write_table4(const struct table4 *table, const char *folder);

#endif
