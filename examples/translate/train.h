/*
 * train.h - the parts of `translate train`: what a run holds, and who does what.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_TRAIN_H
#define TRANSLATE_TRAIN_H

#include "common.h"
#include "history.h"
#include "measure.h"
#include "options.h"
#include "snapshots.h"

enum { MAX_PATH_LENGTH = 4096 };

/* The command's own flags. */
struct train_flags {
    const char *train, *dev, *model, *resume, *preset, *tokenizer, *init, *report;
    int64_t hold_out, steps, eval_every, save_every, average, average_every, dev_sentences, patience;
    double minutes;
    bool overwrite, proceed, quiet;
};

/* Options that were not given and chosen by the corpus; 0: not chosen. */
struct choice {
    int64_t vocab_size, batch_tokens, steps, warmup_steps, total_steps;
};

/* One row of the table of evaluations. */
struct dev_row {
    const char *label; /* "dev", "averaged" or "best" */
    int64_t step;
    double epoch, loss, perplexity, bleu, seconds;
};

struct run {
    struct train_flags flags; /* steps is negative until it is chosen */
    struct choice chosen;
    struct command_line line;
    int argc;
    char **argv;
    char checkpoint[MAX_PATH_LENGTH];
    bool own_checkpoint; /* --resume names it: what else stands beside the model is of this run */

    int rank, ranks; /* 0 of 1 for a process alone */
    int64_t *told;   /* [ranks] */

    xf_config *config;
    xf_context *context;
    xf_corpus *corpus, *dev;
    xf_trainer *trainer;
    xf_batcher *batcher, *dev_batcher; /* dev_batcher is NULL when there is no dev set */
    struct sentences dev_sources, dev_references;

    struct snapshots snapshots; /* for the average at the end */
    int64_t saved_step;         /* of the checkpoint; -1 when this run has written none */
    int64_t unsaved_step;       /* of the checkpoint that failed last, so that it is told once; -1 at first */
    double best_loss;           /* of the evaluations so far, for --patience; negative: none yet */
    int64_t best_step;          /* of that evaluation */
    int64_t since_best;         /* evaluations after it */
    bool save_failed;           /* some file could not be written: the run goes on, and ends with EXIT_FAILED */

    double started;     /* now() when the first step began */
    int64_t first_step; /* steps that were made before this run */
    /* Sums in which older steps fade, for the progress line. */
    double recent_loss, recent_tgt_tokens, recent_tokens, recent_seconds;
    double last_line;
    bool terminal; /* stdout is one: the progress line is rewritten in place */
    struct dev_row *rows;
    size_t row_count, row_capacity;

    struct history history; /* for --report */
    double elapsed_before;  /* seconds of it before this run */
};

/* train_flags.c */

/* Both return -1 to go on, or the exit status. */
int read_train_flags(struct run *run, int argc, char **argv);
int check_train_flags(struct run *run);

/* train_setup.c */

/* Opens corpora, tokenizer, model or checkpoint. Returns -1 to go on, or the exit status. */
int run_open(struct run *run);
void run_close(struct run *run);

/* train_choose.c; all return -1 to go on, or the exit status */

/* Before a tokenizer is learnt. */
int choose_vocabulary(struct run *run);
/* Before there is a trainer; prints the line that tells of all choices. */
int choose_run(struct run *run, const xf_tokenizer *tokenizer);
/* Keeps with the trainer's model what a run that goes on must know. */
int keep_choice(struct run *run);
/* Takes that from the trainer of such a run. */
int recall_choice(struct run *run);

/* train_save.c */

/* Writes the checkpoint; says so when that fails. */
bool save_checkpoint(struct run *run);
/* Writes a snapshot of the model for the average at the end; says so when that fails. */
void save_snapshot(struct run *run);
/* With --patience: keeps the model when the dev loss is the best so far, in a file that stays for a resumed run. */
void save_best(struct run *run, double dev_loss);
/*
 * Evaluates what a resumed run kept as its best, and what it goes on from, so that they must be beaten. XF_OK also when
 * there is neither.
 */
enum xf_status find_best(struct run *run, xf_error *err);
/*
 * Averages the snapshots, or takes the best model kept, and writes the model. Gives that model, which the caller frees,
 * or the trainer's own when there is neither; NULL after a message.
 */
xf_model *save_model(struct run *run);
/* Prints the command that goes on from the checkpoint. */
void print_resume_command(const struct run *run);

/* train_ranks.c; a process alone is rank 0 of 1 */

/* Finds out which rank this is, and makes all but rank 0 silent. False after a message. */
bool find_ranks(struct run *run);
/* Whether this rank writes files. */
bool is_writer(const struct run *run);
void print_ranks(const struct run *run);
/*
 * What all ranks have come to, which call this in the same place: cancelled when any was; else this rank's error, or
 * XF_ERROR_PEER when another has one; XF_DONE when any says so; XF_OK. err is filled for an error that is not the
 * caller's own.
 */
enum xf_status agree(struct run *run, enum xf_status status, xf_error *err);
/* The same for an exit status, which is -1 to go on. */
int agree_to_go_on(struct run *run, int status);

/* train_report.c */

void print_run(const struct run *run);
/* The first progress line, before there is a step to tell of. */
void print_start(struct run *run);
void count_step(struct run *run, const xf_step_stats *stats, double seconds);
void print_progress(struct run *run, const xf_step_stats *stats);
/* Evaluates a model on the dev set and prints a line. XF_OK also when there is no dev set. */
enum xf_status evaluate_dev(struct run *run, const xf_model *model, const char *label, xf_error *err);
/* The dev loss of the last evaluation; negative when there was none. */
double last_dev_loss(const struct run *run);
void print_rows(const struct run *run);
double epoch_of(const struct run *run);

/* train_page.c; nothing of this is done without --report */

/* Where the numbers are kept. */
void history_name(const struct run *run, char name[MAX_PATH_LENGTH]);
/* Reads the history of a run that is now resumed. Returns -1 to go on, or the exit status. */
int open_report(struct run *run);
void report_step(struct run *run, const xf_step_stats *stats, double seconds);
/* The evaluation that was made last. */
void report_evaluation(struct run *run);
/* Writes the history and the page; says so when that fails. The state is "running", "finished", "stopped" or "failed".
 */
void save_report(struct run *run, const char *state);

int train_command(int argc, char **argv);

#endif
