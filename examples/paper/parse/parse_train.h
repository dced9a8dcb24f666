/*
 * parse_train.h - a training run: what it holds, and who does what. `train` and `table4` both make one.
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

/* One evaluation on the dev set; a line of M.xf.curve.tsv. Seconds are those of all runs so far. */
struct curve_row {
    int64_t step;
    double epoch, train_nll, dev_nll, recall, precision, f1, complete, seconds;
};

struct curve {
    struct curve_row *rows;
    size_t count, capacity;
    double seconds; /* of the last line that was read, kept or not */
};

struct parse_run {
    struct parse_train_flags flags;
    xf_config *config;
    xf_context *context;
    struct parser parser; /* its model is the trainer's */
    struct pairs train, dev;
    struct pairs dev_some; /* the first of dev, which are parsed while training; owns nothing */
    struct plan plan;
    size_t train_read; /* of train: those in the file, before those made of them */
    struct own_batch batch;
    xf_trainer *trainer;
    struct curve curve;
    struct snapshots snapshots; /* for the average at the end */
    int64_t saved_step;
    double started, earlier_seconds; /* now() when this run began; what the runs before it took */
    double sum_nll, sum_tokens;      /* since the last evaluation */
    double last_line;
};

#define PARSE_TRAIN_DEFAULTS                                                                                       \
    {                                                                                                              \
        .scale = "scaled", .steps = -1, .eval_every = 1000, .save_every = 250, .average = 5, .average_every = 100, \
        .dev_sentences = 200, .leaves = -1                                                                         \
    }

/* Flags that `train` and `table4` share: fills in the table, which must have room for PARSE_TRAIN_FLAGS rows. */
enum { PARSE_TRAIN_FLAGS = 18 };
void parse_train_flags(struct parse_train_flags *flags, struct flag table[PARSE_TRAIN_FLAGS]);
/* Returns -1 to go on, or the exit status after a message. */
int check_parse_train_flags(struct parse_train_flags *flags);

/*
 * Trains and writes the model. The context and the config are the caller's, with signals caught. Returns the exit
 * status; EXIT_OK: the model is there.
 */
int parse_train(struct parse_run *run);
void parse_run_close(struct parse_run *run);

/* train_setup.c: data, vocabulary, and a fresh model or the checkpoint. Returns -1 to go on, or the exit status. */
int parse_run_open(struct parse_run *run);
void checkpoint_name(const struct parse_run *run, char name[PATH_SIZE]);

/*
 * curve.c: M.xf.curve.tsv. Reading leaves out rows after the step given; false after a message. When the last row is
 * not of the step at which it is written, a row without scores follows: it keeps the seconds of a run that is stopped
 * there.
 */
bool curve_read(struct curve *curve, const char *model, int64_t last_step);
void curve_add(struct curve *curve, const struct curve_row *row);
bool curve_write(const struct curve *curve, const char *model, int64_t step, double seconds);
void curve_free(struct curve *curve);

#endif
