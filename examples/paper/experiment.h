/*
 * experiment.h - trains the rows of a table one after the other, in a folder that a later run goes on from.
 *
 * The folder holds `settings` (a run with others is refused), `tokenizer.json`, `results.tsv` (rows that are done), and
 * of the row in work ROW.ckpt, ROW.log and snapshots ROW.avg-STEP. Killing the program at any instant costs no more
 * than the steps since the last checkpoint.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_EXPERIMENT_H
#define PAPER_EXPERIMENT_H

#include <stdio.h>

#include "common.h"
#include "options.h"
#include "rows.h"

struct result {
    char name[32];
    int64_t steps, parameters, tokens; /* tokens: source and target together */
    double perplexity, bleu, seconds, flops;
};

struct experiment {
    /* Flags. */
    const char *folder, *train_path, *held_path, *rows, *bleu;
    int64_t scale, steps, held_sentences;
    int32_t tokenize; /* enum xf_bleu_tokenize, that bleu names */
    double minutes, save_seconds;
    bool quiet;
    bool averages;                   /* the last snapshots, as in s. 6.1 */
    const char *choices[PAPER_ROWS]; /* names of the table's rows, which --rows picks from */
    size_t choice_count;

    const struct command_line *line;
    xf_config *config;
    xf_context *context;
    xf_corpus *train, *held;
    xf_tokenizer *tokenizer;
    struct sentences sources, references; /* of the held-out pairs */
    int64_t measured;                     /* held-out pairs in the perplexity: data.max_tokens leaves out longer ones */
    struct result results[PAPER_ROWS];
    size_t result_count;
    int lock;
};

/* Sets defaults; what read_command_line() reads comes afterwards. */
void experiment_defaults(struct experiment *e);
/* The flags that table2 and table3 share, and how many. */
enum { EXPERIMENT_FLAGS = 10 };
void experiment_flags(struct experiment *e, struct flag flags[EXPERIMENT_FLAGS]);

/* The library's options that such a command takes. */
extern const char experiment_groups[];

/*
 * Sets the library's options: defaults of the experiment, then those of the command line; looks through the flags.
 * Returns -1 to go on, or the exit status.
 */
int set_options(struct experiment *e);

/* Opens folder, corpora and tokenizer. Returns -1 to go on, or the exit status. */
int experiment_open(struct experiment *e);
void experiment_close(struct experiment *e);

/* NULL when the row is not done. */
const struct result *find_result(const struct experiment *e, const char *name);
/* Adds a row and writes results.tsv. False after a message. */
bool add_result(struct experiment *e, const struct result *result);

/* Steps of a row: those of --steps, in the paper's ratio; 0: no limit but the minutes. */
int64_t steps_of(const struct experiment *e, const struct paper_row *row);
/* How many snapshots of a row are averaged, and how many steps they are apart. */
int64_t snapshots_averaged(const struct paper_row *row);
int64_t snapshot_steps(const struct experiment *e, const struct paper_row *row);
/* Whether --rows names it, or is not given. */
bool is_wanted(const struct experiment *e, const char *name);

/* train_row.c: trains and measures one row, or goes on with it. Returns -1, or the exit status. */
int train_row(struct experiment *e, const struct paper_row *row);

/* Writes what was done and scaled, as Markdown. */
void describe_experiment(const struct experiment *e, FILE *file);

#endif
