/*
 * history.h - what a training run was like: a row for some steps at a time, and a row for every evaluation. Kept beside
 * the checkpoint as OUT.xf.tsv, so that a resumed run goes on with it and other programs can read it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_HISTORY_H
#define TRANSLATE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps up to this one, or an evaluation after it. A number that a row does not have is negative. */
struct history_row {
    char kind[12]; /* "train"; "dev", "averaged", "best" */
    int64_t step;
    double epoch, elapsed;                          /* elapsed: seconds of training and evaluation since step 0 */
    double loss;                                    /* of "train": the mean over the target tokens */
    double learning_rate, tgt_tokens, tokens, busy; /* tokens: of both sides; busy: seconds these steps took */
    double perplexity, bleu;
};

struct history_rows {
    struct history_row *rows;
    size_t count, capacity;
};

/* However long a run is, its steps fill at most so many rows: two become one when there is no more room. */
enum { MOST_STEP_ROWS = 1000 };

struct history {
    struct history_rows steps, evaluations;
    bool open; /* the last of the steps' rows takes in the next step, too */
};

/* Takes in one step, whose row's numbers are for that step alone. */
void history_step(struct history *history, const struct history_row *step);
void history_evaluation(struct history *history, const struct history_row *row);

/*
 * Reads a file as far as a step: what a run did after the checkpoint from which it is resumed is done again. A file
 * that isn't there is no history. Returns -1, or EXIT_FAILED after a message.
 */
int history_read(struct history *history, const char *path, int64_t last_step);

/* Refuses a file that is there and is none that history_write() wrote. Returns -1, or EXIT_FAILED after a message. */
int history_check(const char *path);

/* Writes a file, replacing the old one at once. Returns -1, or EXIT_FAILED after a message. */
int history_write(const struct history *history, const char *path);

/* Seconds up to the last row. */
double history_elapsed(const struct history *history);

void history_free(struct history *history);

#endif
