/*
 * parse_train.h - a training run, used by `train` and `table4`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_TRAIN_H
#define PARSE_TRAIN_H

#include "options.h"
#include "parser.h"
#include "snapshots.h"

enum { MOST_COPIES = 100 };

struct parse_train_flags {
    const char *train, *dev, *model, *init, *scale;
    int64_t steps, eval_every, save_every, average, average_every, dev_sentences, leaves, recombine;
    double minutes;
    bool resume, overwrite, quiet, gold;
};

/* One evaluation on the dev set, a line of M.xf.curve.tsv. `seconds` includes earlier runs. */
struct curve_row {
    int64_t step;
    double epoch, train_nll, dev_nll, recall, precision, f1, complete, seconds;
};

struct curve {
    struct curve_row *rows;
    size_t count, capacity;
    double seconds; /* of the last line read, even if it was not kept */
};

struct parse_run {
    struct parse_train_flags flags;
    xf_config *config;
    xf_context *context;
    struct parser parser; /* its model belongs to the trainer */
    struct pairs train, dev;
    struct pairs dev_some; /* the first pairs of dev, parsed during training; not owned */
    struct plan plan;
    size_t train_read; /* pairs in train that come from the file; recombined pairs follow */
    struct own_batch batch;
    xf_trainer *trainer;
    struct curve curve;
    struct snapshots snapshots; /* for the average at the end */
    int64_t saved_step;
    double started, earlier_seconds; /* now() at the start of this run; seconds of earlier runs */
    double sum_nll, sum_tokens;      /* since the last evaluation */
    double last_line;
};

#define PARSE_TRAIN_DEFAULTS                                                                                       \
    {                                                                                                              \
        .scale = "scaled", .steps = -1, .eval_every = 1000, .save_every = 250, .average = 5, .average_every = 100, \
        .dev_sentences = 200, .leaves = -1                                                                         \
    }

/* Fills the table with the flags that `train` and `table4` share. */
enum { PARSE_TRAIN_FLAGS = 18 };
void parse_train_flags(struct parse_train_flags *flags, struct flag table[PARSE_TRAIN_FLAGS]);
/* Returns -1, or the exit status after printing a message. */
int check_parse_train_flags(struct parse_train_flags *flags);

/*
 * Trains and writes the model. The caller owns context and config, and has called catch_signals(). Returns the exit
 * status.
 */
int parse_train(struct parse_run *run);
void parse_run_close(struct parse_run *run);

/* train_setup.c: opens data, vocabulary, and a new model or the checkpoint. Returns -1, or the exit status. */
int parse_run_open(struct parse_run *run);
void checkpoint_name(const struct parse_run *run, char name[PATH_SIZE]);

/*
 * curve.c: reads and writes M.xf.curve.tsv. Reading skips rows after last_step, and returns false after printing a
 * message. Writing adds a row without scores if the last row is from an earlier step; it records the seconds of a run
 * that stopped at this step.
 */
bool curve_read(struct curve *curve, const char *model, int64_t last_step);
void curve_add(struct curve *curve, const struct curve_row *row);
bool curve_write(const struct curve *curve, const char *model, int64_t step, double seconds);
void curve_free(struct curve *curve);

#endif
