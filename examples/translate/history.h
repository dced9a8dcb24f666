/*
 * history.h - the history of a training run: rows that cover one or more steps each, and one row per evaluation. It is
 * kept beside the checkpoint as OUT.xf.tsv, so that a resumed run can continue it and other programs can read it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_HISTORY_H
#define TRANSLATE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Covers the steps up to `step`, or an evaluation after it. A missing number is negative. */
struct history_row {
    char kind[12]; /* "train"; "dev", "averaged", "best" */
    int64_t step;
    double epoch, elapsed;                          /* elapsed: seconds of training and evaluation since step 0 */
    double loss;                                    /* of "train": the mean over the target tokens */
    double learning_rate, tgt_tokens, tokens, busy; /* tokens: both sides; busy: duration of the steps in seconds */
    double perplexity, bleu;
};

struct history_rows {
    struct history_row *rows;
    size_t count, capacity;
};

/* Maximum number of rows for steps. When it is reached, each two consecutive rows are merged. */
enum { MOST_STEP_ROWS = 1000 };

struct history {
    struct history_rows steps, evaluations;
    bool open; /* the next step may be merged into the last row of `steps` */
};

/* Adds one step. The numbers of the row are for this step only. */
void history_step(struct history *history, const struct history_row *step);
/* Adds one evaluation. */
void history_evaluation(struct history *history, const struct history_row *row);

/*
 * Reads a file up to last_step, the step of the checkpoint: a resumed run repeats the later steps. If the file does not
 * exist, the history is empty. Returns -1, or EXIT_FAILED after a message.
 */
int history_read(struct history *history, const char *path, int64_t last_step);

/* Checks that an existing file was written by history_write(). Returns -1, or EXIT_FAILED after a message. */
int history_check(const char *path);

/* Writes a file, replacing an existing one atomically. Returns -1, or EXIT_FAILED after a message. */
int history_write(const struct history *history, const char *path);

/* Returns the elapsed seconds at the last row. */
double history_elapsed(const struct history *history);

void history_free(struct history *history);

#endif
