/*
 * experiment.h - trains the rows of a table in sequence, in a folder from which a later run can resume.
 *
 * The folder contains `settings` (a run with different settings is rejected), `tokenizer.json`, `results.tsv` (the
 * finished rows), and for the current row ROW.ckpt, ROW.log, and the snapshots ROW.avg-STEP. If the program is killed,
 * only the steps since the last checkpoint are lost.
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
    int64_t steps, parameters, tokens; /* tokens: source plus target */
    double perplexity, bleu, seconds, flops;
};

struct experiment {
    /* Flags. */
    const char *folder, *train_path, *held_path, *rows, *bleu;
    int64_t scale, steps, held_sentences;
    int32_t tokenize; /* XF_BLEU_..., parsed from bleu */
    double minutes, save_seconds;
    bool quiet;
    bool averages;                   /* averages the last snapshots, as in s. 6.1 */
    const char *choices[PAPER_ROWS]; /* the valid names for --rows */
    size_t choice_count;

    const struct command_line *line;
    xf_config *config;
    xf_context *context;
    xf_corpus *train, *held;
    xf_tokenizer *tokenizer;
    struct sentences sources, references; /* of the held-out pairs */
    int64_t measured; /* held-out pairs in the perplexity, which excludes those above data.max_tokens */
    struct result results[PAPER_ROWS];
    size_t result_count;
    int lock;
};

/* Sets the defaults. Call it before read_command_line(). */
void experiment_defaults(struct experiment *e);
/* The flags that table2 and table3 share, and their number. */
enum { EXPERIMENT_FLAGS = 10 };
void experiment_flags(struct experiment *e, struct flag flags[EXPERIMENT_FLAGS]);

/* The library options that table2 and table3 accept. */
extern const char experiment_groups[];

/*
 * Sets the library options: first the defaults of the experiment, then the command line. Validates the flags. Returns
 * -1, or the exit status on failure.
 */
int set_options(struct experiment *e);

/* Opens folder, corpora, and tokenizer. Returns -1, or the exit status on failure. */
int experiment_open(struct experiment *e);
void experiment_close(struct experiment *e);

/*
 * Reads rows in the format of results.tsv whose names are accepted, at most `limit`, and adds their number to *count.
 * Returns -1, or the exit status on failure.
 */
int read_results(FILE *file, const char *path, bool (*accepts)(const char *name), struct result *results, size_t limit,
                 size_t *count);
/* Returns the result of a row, or NULL if it is not finished. */
const struct result *find_result(const struct experiment *e, const char *name);
/* Adds a row and writes results.tsv. Returns false after printing a message. */
bool add_result(struct experiment *e, const struct result *result);

/* Returns the steps of a row: --steps times the paper's ratio; 0 if only --minutes-per-row limits it. */
int64_t steps_of(const struct experiment *e, const struct paper_row *row);
/* The number of snapshots that are averaged for a row, and the number of steps between them. */
int64_t snapshots_averaged(const struct paper_row *row);
int64_t snapshot_steps(const struct experiment *e, const struct paper_row *row);
/* Returns whether --rows contains the name. Without --rows, every row is wanted. */
bool is_wanted(const struct experiment *e, const char *name);

/* train_row.c: trains and measures one row, resuming if it was started. Returns -1, or the exit status on failure. */
int train_row(struct experiment *e, const struct paper_row *row);

/* Writes a description of the experiment as Markdown. */
void describe_experiment(const struct experiment *e, FILE *file);

#endif
