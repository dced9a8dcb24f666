/*
 * train.h - the state of `translate train`, and the functions of its source files.
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

/* Key of the metadata of a final model: the number of steps of its training. */
#define STEP_KEY "translate.step"

/* The command's own flags. */
struct train_flags {
    const char *train, *dev, *model, *resume, *preset, *tokenizer, *init, *report, *best;
    int64_t hold_out, steps, eval_every, save_every, average, average_every, dev_sentences, patience;
    double minutes;
    bool overwrite, proceed, quiet;
};

/* Values chosen by the size of the corpus for options that were not set; 0: not chosen. */
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
    struct flag *known_flags; /* [flag_count]; their values are in `flags` */
    size_t flag_count;
    int argc;
    char **argv;
    char checkpoint[MAX_PATH_LENGTH];
    char encoded_tokenizer[MAX_PATH_LENGTH]; /* the file in the folder of an encoded corpus */
    bool own_checkpoint; /* --resume names it, so the snapshots beside the model belong to this run */

    int rank, ranks;   /* 0 and 1 for a single process */
    int64_t *statuses; /* of all ranks, from the last exchange; [ranks] */

    xf_config *config; /* model.weights is fp32 */
    xf_config *saving; /* for the final model: model.weights as on the command line */
    xf_context *context;
    xf_corpus *corpus, *dev;
    xf_trainer *trainer;
    xf_batcher *batcher, *dev_batcher; /* dev_batcher is NULL when there is no dev set */
    struct sentences dev_sources, dev_references;

    struct snapshots snapshots; /* for the average at the end */
    int64_t saved_step;         /* of the checkpoint; -1 if this run has written none */
    int64_t unsaved_step;       /* step whose checkpoint failed last, to report it only once; -1 at first */
    double best_cost;           /* lowest last_dev_cost() so far, for --patience; negative: none yet */
    int64_t best_step;          /* of that evaluation */
    int64_t since_best;         /* evaluations after it */
    bool save_failed;           /* a file could not be written: the run continues and ends with EXIT_FAILED */

    double started;     /* now() when the first step began */
    int64_t first_step; /* steps completed before this run */
    /* Exponentially decaying sums over the recent steps, for the progress line. */
    double recent_loss, recent_tgt_tokens, recent_tokens, recent_seconds;
    double last_line;
    bool terminal; /* stdout is a terminal: the progress line is rewritten in place */
    struct dev_row *rows;
    size_t row_count, row_capacity;
    xf_bleu_score last_bleu; /* of the last row */

    struct history history; /* for --report */
    double elapsed_before;  /* seconds in the history before this run */
};

/* train_flags.c */

/* Both return -1 to continue, or the exit status. */
int read_train_flags(struct run *run, int argc, char **argv);
int check_train_flags(struct run *run);

/* train_setup.c */

/* Opens the corpora, the tokenizer, and the model or checkpoint. Returns -1 to continue, or the exit status. */
int run_open(struct run *run);
void run_close(struct run *run);

/* train_choose.c; all functions return -1 to continue, or the exit status */

/* Chooses the size of the vocabulary, before a tokenizer is trained. */
int choose_vocabulary(struct run *run);
/* Chooses batches, steps, and warm-up, before the trainer is created. Prints a line with all choices. */
int choose_run(struct run *run, const xf_tokenizer *tokenizer);
/* Stores the choices in the metadata of the trainer's model, for a resumed run. */
int keep_choice(struct run *run);
/* Reads the choices from the metadata in a resumed run. */
int recall_choice(struct run *run);

/* train_save.c */

/* Writes the checkpoint. On failure, prints a message and returns false. */
bool save_checkpoint(struct run *run);
/* Writes a snapshot of the model for the average at the end. Prints a message on failure. */
void save_snapshot(struct run *run);
/* With --patience: saves the model if its cost is the lowest so far. The file remains for a resumed run. */
void save_best(struct run *run, double cost);
/*
 * In a resumed run with --patience, evaluates the best model so far and the model of the checkpoint, so that later
 * models are compared with them. Returns XF_OK if neither exists.
 */
xf_status find_best(struct run *run, xf_error *err);
/*
 * Writes the final model: the average of the snapshots, the best model, or otherwise that of the trainer. Returns this
 * model, or NULL after a message. The caller frees it unless it is the trainer's model.
 */
xf_model *save_model(struct run *run);
/* Returns the number of steps after which save_model()'s model was trained no further; of an average, the last one. */
int64_t step_of(const struct run *run, const xf_model *model);
/* Prints the command that resumes from the checkpoint. */
void print_resume_command(const struct run *run);

/* train_ranks.c; a single process is rank 0 of 1 */

/* Reads the rank of this process; every rank except 0 then prints no output. False after a message. */
bool find_ranks(struct run *run);
/* Returns whether this rank writes files. */
bool is_writer(const struct run *run);
/*
 * Compares the flags and options of all ranks, except those of the group context., --quiet, and --report. Returns -1,
 * or the exit status after rank 0 has printed the first difference.
 */
int compare_flags(struct run *run);
void print_ranks(const struct run *run);
/*
 * Exchanges the statuses of all ranks, which must all call this function at the same point, and returns the common
 * result: XF_ERROR_CANCELLED if any rank was cancelled; otherwise the error of this rank, or XF_ERROR_PEER if another
 * rank has an error; otherwise XF_DONE if any rank has it; otherwise XF_OK. err: the error of this rank, if it has one;
 * filled with "rank 2: ..." for an error of another rank.
 */
xf_status agree(struct run *run, xf_status status, xf_error *err);
/*
 * Exchanges a number: *same is true if there are several ranks and all have the same number. Every rank makes this
 * call.
 */
xf_status find_same(struct run *run, int64_t number, bool *same, xf_error *err);
/* Replaces the sentences of each rank with those of all ranks, in the order of the ranks. Every rank makes this call.
 */
xf_status share_sentences(struct run *run, struct sentences *list, xf_error *err);
/* Does the same as agree() for an exit status, where -1 means to continue. */
int agree_on_exit(struct run *run, int status);

/* train_report.c */

void print_run(const struct run *run);
/* Prints the first progress line, before the first step. */
void print_start(struct run *run);
void count_step(struct run *run, const xf_step_stats *stats, double seconds);
void print_progress(struct run *run, const xf_step_stats *stats);
/*
 * Evaluates the model of a step on the dev set and prints a line. Every rank makes this call and evaluates a part.
 * Returns XF_OK if there is no dev set.
 */
xf_status evaluate_dev(struct run *run, const xf_model *model, int64_t step, const char *label, xf_error *err);
/*
 * Returns what --patience compares: the dev loss of the last evaluation or, with --best bleu, 100 minus its BLEU. A
 * negative number if there was no evaluation.
 */
double last_dev_cost(const struct run *run);
bool is_best_by_bleu(const struct run *run);
void print_rows(const struct run *run);
double epoch_of(const struct run *run);

/* train_page.c; except history_name(), these functions do nothing without --report */

/* Returns the name of the history file. */
void history_name(const struct run *run, char name[MAX_PATH_LENGTH]);
/* Reads the history of a resumed run. Returns -1 to continue, or the exit status. */
int open_report(struct run *run);
void report_step(struct run *run, const xf_step_stats *stats, double seconds);
/* Adds the last evaluation to the history. */
void report_evaluation(struct run *run);
/*
 * Writes the history and the page. Prints a message on failure. The state is "running", "finished", "stopped", or
 * "failed".
 */
void save_report(struct run *run, const char *state);

int train_command(int argc, char **argv);

#endif
