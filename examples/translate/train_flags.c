/*
 * train_flags.c - the flags of `translate train`, and checks of their combinations.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>

#include "files.h"
#include "system.h"
#include "train.h"

#define FLAG(name, kind, member, argument, doc) \
    { name, kind, &run->flags.member, NULL, argument, doc }
#define ALIAS(name, key, argument, doc) \
    { name, FLAG_OPTION, NULL, key, argument, doc }

int read_train_flags(struct run *run, int argc, char **argv) {
    const struct flag flags[] = {
        FLAG("train", FLAG_TEXT, train, "FILE.tsv",
             "Training pairs: source TAB target, one pair per line; a folder of such files; or a folder that translate "
             "encode has written. Required."),
        FLAG("model", FLAG_TEXT, model, "OUT.xf",
             "The model to write. The checkpoint is written beside it, as OUT.xf.ckpt. Required."),
        FLAG("dev", FLAG_TEXT, dev, "FILE.tsv",
             "Pairs for evaluation during training; they are not used for training."),
        FLAG("hold-out", FLAG_COUNT, hold_out, "40",
             "Without --dev, pairs number 40, 80, 120, ... of the training file are held out as dev pairs; 0: none."),
        FLAG(
            "preset", FLAG_TEXT, preset, "small",
            "tiny, small, base, big, or parsing. Options set by key take precedence. Unless they are set, the sizes of "
            "the vocabulary and of batches, the steps, and the warm-up depend on the corpus; a line of output shows "
            "them."),
        FLAG("tokenizer", FLAG_TEXT, tokenizer, "FILE.json", "Uses this tokenizer instead of training one."),
        FLAG("init", FLAG_TEXT, init, "OTHER.xf",
             "Starts at step 0 with the weights and the tokenizer of this model, to adapt it to other texts."),
        FLAG("steps", FLAG_COUNT, steps, "N",
             "Ends at this step; 0: no limit, which requires --minutes. Without --steps, --minutes, and --patience: "
             "20 epochs, from 4,000 to 100,000 steps."),
        FLAG("minutes", FLAG_NUMBER, minutes, "M", "Ends after this many minutes of training and evaluation."),
        FLAG("eval-every", FLAG_COUNT, eval_every, "1000", "Steps between evaluations on the dev pairs; 0: never."),
        FLAG("dev-sentences", FLAG_COUNT, dev_sentences, "200",
             "How many dev pairs an evaluation translates (greedily) for BLEU; 0: none."),
        FLAG(
            "patience", FLAG_COUNT, patience, "0",
            "Ends after this many evaluations without a lower dev loss, and writes the model with the lowest dev loss; "
            "0: never."),
        FLAG("best", FLAG_TEXT, best, "loss",
             "Which score --patience compares: loss, or bleu, the dev BLEU of --dev-sentences pairs."),
        FLAG("save-every", FLAG_COUNT, save_every, "1000", "Steps between checkpoints; 0: only at the end."),
        FLAG("average", FLAG_COUNT, average, "1", "How many of the last snapshots are averaged into the final model."),
        FLAG("average-every", FLAG_COUNT, average_every, "K",
             "Steps between these snapshots. The default is --save-every."),
        FLAG("resume", FLAG_TEXT, resume, "OUT.xf.ckpt",
             "Continues from a checkpoint. The result has the same bits as an uninterrupted run."),
        FLAG("report", FLAG_TEXT, report, "OUT.html",
             "Also writes a page with charts of the run, and updates it after each evaluation and checkpoint. Its "
             "numbers are in OUT.xf.tsv."),
        FLAG(
            "continue", FLAG_SWITCH, proceed, "",
            "Continues from OUT.xf.ckpt if it exists, or else starts a new run: one command for every start of a job."),
        FLAG("overwrite", FLAG_SWITCH, overwrite, "", "Starts a new run even if OUT.xf.ckpt exists."),
        FLAG("quiet", FLAG_SWITCH, quiet, "", "No progress line."),
        ALIAS("threads", "context.threads", "N", "The same as --context.threads."),
        ALIAS("device", "context.device", "NAME", "The same as --context.device."),
    };
    run->line = (struct command_line){.usage = "train --train FILE.tsv --model OUT.xf [options]",
                                      .about = "Trains a translation model on pairs of sentences.",
                                      .groups = "context. tokenizer. data. text. model. train.",
                                      .flags = flags,
                                      .flag_count = sizeof flags / sizeof flags[0]};
    const int status = read_command_line(&run->line, argc, argv);
    run->line.flags = NULL; /* the table is local to this function */
    run->flag_count = sizeof flags / sizeof flags[0];
    run->known_flags = allocate(sizeof flags);
    memcpy(run->known_flags, flags, sizeof flags);
    return status;
}

/* Checks that no input file would be overwritten. The only exception is the run's own checkpoint with --resume. */
static int check_files(const struct run *run) {
    const struct train_flags *flags = &run->flags;
    const struct named_file model = {"--model", flags->model}, checkpoint = {"the checkpoint", run->checkpoint};
    const struct named_file read[] = {{"--train", flags->train},
                                      {"--dev", flags->dev},
                                      {"--tokenizer", flags->tokenizer},
                                      {"--init", flags->init},
                                      {"--resume", flags->resume}};
    static const char *const endings[] = {".ckpt.prev", ".avg-", ".best-", NULL};
    int status = check_apart(&model, read, 5);
    if (status < 0) status = check_apart(&checkpoint, read, 4);
    return status < 0 ? check_beside(flags->model, endings, read, 4) : status;
}

/* Returns whether --resume names the checkpoint that this run will write, or its previous version. */
static bool resumes_own(const struct run *run) {
    char previous[MAX_PATH_LENGTH + 8];
    if (run->flags.resume == NULL) return false;
    snprintf(previous, sizeof previous, "%s.prev", run->checkpoint);
    return is_same_file(run->flags.resume, run->checkpoint) || is_same_file(run->flags.resume, previous);
}

/* Checks the page and the history of --report. The page may not have the name of another file of this run, either. */
static int check_report(const struct run *run) {
    const struct train_flags *flags = &run->flags;
    char history[MAX_PATH_LENGTH];
    if (flags->report == NULL) return -1;
    history_name(run, history);
    const struct named_file page = {"--report", flags->report}, rows = {"the report's history", history};
    const struct named_file other[] = {
        {"--train", flags->train},           {"--dev", flags->dev},   {"--resume", flags->resume},
        {"--tokenizer", flags->tokenizer},   {"--init", flags->init}, {"--model", flags->model},
        {"the checkpoint", run->checkpoint}, {rows.option, rows.path}};
    for (size_t i = 5; i < 8; ++i) {
        if (strcmp(page.path, other[i].path) != 0) continue;
        complain("--report %s is the name of %s, expected another", page.path, other[i].option);
        return EXIT_USAGE;
    }
    int status = check_apart(&page, other, 8);
    if (status < 0) status = check_apart(&rows, other, 7);
    if (status < 0) status = check_writable(&page);
    if (status < 0) status = history_check(history);
    return status;
}

int check_train_flags(struct run *run) {
    struct train_flags *flags = &run->flags;
    if (flags->train == NULL || flags->model == NULL) {
        complain("%s is missing; see translate train --help",
                 flags->train == NULL ? "--train FILE.tsv" : "--model OUT.xf");
        return EXIT_USAGE;
    }
    if (flags->average > MOST_SNAPSHOTS) {
        complain("--average is %lld, expected at most %d", (long long)flags->average, (int)MOST_SNAPSHOTS);
        return EXIT_USAGE;
    }
    if (flags->steps < 0 && flags->minutes > 0) flags->steps = 0;
    if (flags->steps < 0 && flags->patience > 0)
        flags->steps = 100000; /* an upper bound: --patience ends the run earlier */
    if (flags->steps == 0 && flags->minutes <= 0) {
        complain("--steps 0 sets no limit, so it needs --minutes");
        return EXIT_USAGE;
    }
    if (flags->patience > 0 && (flags->eval_every == 0 || flags->average > 1)) {
        complain("--patience %lld %s", (long long)flags->patience,
                 flags->average > 1 ? "does not go with --average" : "needs evaluations: --eval-every is 0");
        return EXIT_USAGE;
    }
    if (flags->best == NULL) flags->best = "loss";
    if (strcmp(flags->best, "loss") != 0 && strcmp(flags->best, "bleu") != 0) {
        complain("--best is '%s', expected loss or bleu", flags->best);
        return EXIT_USAGE;
    }
    if (is_best_by_bleu(run) && (flags->patience == 0 || flags->dev_sentences == 0)) {
        complain(flags->patience == 0 ? "--best bleu needs --patience" : "--best bleu needs --dev-sentences above 0");
        return EXIT_USAGE;
    }
    if (flags->average_every == 0) flags->average_every = flags->save_every;
    if (flags->average > 1 && flags->average_every == 0) {
        complain("--average %lld needs snapshots: --average-every is not set and --save-every is 0",
                 (long long)flags->average);
        return EXIT_USAGE;
    }
    const int length = snprintf(run->checkpoint, sizeof run->checkpoint, "%s.ckpt", flags->model);
    if (length < 0 || (size_t)length + 32 > sizeof run->checkpoint) {
        complain("the path of --model has %zu bytes, expected at most %zu", strlen(flags->model),
                 sizeof run->checkpoint - 37);
        return EXIT_USAGE;
    }
    if (flags->proceed && (flags->resume != NULL || flags->overwrite)) {
        complain("--continue does not go with --%s", flags->resume != NULL ? "resume" : "overwrite");
        return EXIT_USAGE;
    }
    if (flags->proceed && access(run->checkpoint, F_OK) == 0) { /* the checkpoint has the tokenizer and the model */
        flags->resume = run->checkpoint;
        flags->tokenizer = flags->init = NULL;
    }
    const char *own = flags->tokenizer != NULL ? "--tokenizer" : flags->init != NULL ? "--init" : NULL;
    if (flags->resume != NULL && own != NULL) {
        complain("%s does not go with --resume: the checkpoint holds the model and the tokenizer of the run", own);
        return EXIT_USAGE;
    }
    if (flags->init != NULL && (flags->tokenizer != NULL || flags->preset != NULL)) {
        complain("%s does not go with --init: that model determines it",
                 flags->tokenizer != NULL ? "--tokenizer" : "--preset");
        return EXIT_USAGE;
    }
    struct stat model;
    if (stat(flags->model, &model) == 0 && !S_ISREG(model.st_mode)) {
        complain("%s is a folder or a device, expected the name of a file", flags->model);
        return EXIT_USAGE;
    }
    int status = check_files(run);
    if (status < 0) status = check_report(run);
    if (status >= 0) return status;
    run->own_checkpoint = resumes_own(run);
    if (!run->own_checkpoint && !flags->overwrite && access(run->checkpoint, F_OK) == 0) {
        complain("%s exists from an earlier run: continue with --resume %s, or %s with --overwrite", run->checkpoint,
                 run->checkpoint, flags->resume == NULL ? "start a new run" : "replace it");
        return EXIT_USAGE;
    }
    return -1;
}
