/*
 * train.c - `translate train`: the training loop, its limits, and Ctrl-C.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "train.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic(xf_context *) signal_context;
static atomic_int interrupted;

/* The first signal asks the library to stop what it does; the second ends the program at once. */
static void on_signal(int number) {
    (void)number;
    if (atomic_exchange(&interrupted, 1) != 0) _exit(EXIT_INTERRUPTED);
    xf_context_cancel(atomic_load(&signal_context));
}

static void catch_signals(xf_context *context) {
    atomic_store(&signal_context, context);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static bool is_due(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

static bool is_over(const struct run *run, int64_t step) {
    if (run->flags.steps > 0 && step >= run->flags.steps) return true;
    return run->flags.minutes > 0 && now() - run->started >= 60 * run->flags.minutes;
}

/* One update. After an error the batcher stands where it stood, so that a checkpoint resumes with this very batch. */
static enum xf_status train_one(struct run *run, xf_step_stats *stats, xf_error *err) {
    xf_batcher_stats before = {.struct_size = sizeof before};
    enum xf_status status = xf_batcher_stats_get(run->batcher, &before, err);
    xf_batch batch = XF_BATCH_INIT;
    if (status == XF_OK) status = xf_batcher_next(run->batcher, &batch, err);
    if (status == XF_DONE) { /* the end of an epoch: what follows is the first batch of the next */
        status = xf_batcher_stats_get(run->batcher, &before, err);
        if (status == XF_OK) status = xf_batcher_next(run->batcher, &batch, err);
    }
    if (status != XF_OK) return status;
    *stats = (xf_step_stats){.struct_size = sizeof *stats};
    status = xf_train_step(run->trainer, &batch, 1, stats, err);
    if (status != XF_OK && status != XF_ERROR_NONFINITE)
        xf_batcher_seek(run->batcher, before.epoch, before.batch, NULL);
    return status;
}

/* What is due after a step: a snapshot, a checkpoint, an evaluation. */
static enum xf_status after_step(struct run *run, int64_t step, xf_error *err) {
    if (run->flags.average > 1 && is_due(step, run->flags.average_every)) save_snapshot(run);
    if (is_due(step, run->flags.save_every)) save_checkpoint(run);
    if (!is_due(step, run->flags.eval_every)) return XF_OK;
    return evaluate_dev(run, xf_trainer_model(run->trainer), "dev", err);
}

/* Trains until the limit, a signal or an error. */
static enum xf_status train_loop(struct run *run, xf_error *err) {
    int bad_steps = 0;
    while (!is_over(run, xf_trainer_step(run->trainer))) {
        if (atomic_load(&interrupted)) return XF_ERROR_CANCELLED;
        xf_step_stats stats;
        const double began = now();
        enum xf_status status = train_one(run, &stats, err);
        if (status == XF_ERROR_NONFINITE && ++bad_steps < 10) {
            complain("%s; this batch is left out", err->message);
            continue;
        }
        if (status != XF_OK) return status;
        bad_steps = 0;
        count_step(run, &stats, now() - began);
        print_progress(run, &stats);
        status = after_step(run, stats.step, err);
        if (status != XF_OK) return status;
    }
    return XF_OK;
}

/* Tells how to go on from the last checkpoint that could be written. */
static void print_way_on(const struct run *run) {
    if (run->saved_step < 0) return;
    complain("%s holds step %lld; `translate` can use it as a model, too. To go on:", run->checkpoint,
             (long long)run->saved_step);
    print_resume_command(run);
}

/* After Ctrl-C or an error: saves what there is and says how to go on. */
static int stop_early(struct run *run, enum xf_status status, const xf_error *err) {
    if (status == XF_ERROR_CANCELLED)
        complain("interrupted after step %lld", (long long)xf_trainer_step(run->trainer));
    else
        fail(err);
    save_checkpoint(run);
    print_way_on(run);
    return status == XF_ERROR_CANCELLED ? EXIT_INTERRUPTED : EXIT_FAILED;
}

static int finish(struct run *run) {
    xf_error err;
    save_checkpoint(run);
    xf_model *model = save_model(run);
    if (model == NULL) {
        print_way_on(run);
        return EXIT_FAILED;
    }
    const bool averaged = model != xf_trainer_model(run->trainer);
    const bool known = run->row_count > 0 && run->rows[run->row_count - 1].step == xf_trainer_step(run->trainer);
    enum xf_status status = XF_OK;
    if (averaged || !known) status = evaluate_dev(run, model, averaged ? "averaged" : "dev", &err);
    if (averaged) xf_model_free(model);
    if (status != XF_OK && status != XF_ERROR_CANCELLED) return fail(&err);
    print_rows(run);
    printf("the model is %s\n", run->flags.model);
    return run->save_failed ? EXIT_FAILED : EXIT_OK;
}

static int train(struct run *run) {
    int status = run_open(run);
    if (status >= 0) return atomic_load(&interrupted) ? EXIT_INTERRUPTED : status;
    print_run(run);
    /* Written before the first step as well: a full disk or a folder that is not there shows now, not in an hour. */
    if (!save_checkpoint(run)) return EXIT_FAILED;
    run->started = now();
    run->first_step = xf_trainer_step(run->trainer);
    xf_error err;
    const enum xf_status result = train_loop(run, &err);
    return result == XF_OK ? finish(run) : stop_early(run, result, &err);
}

#define FLAG(name, kind, member, argument, doc) \
    { name, kind, &run->flags.member, NULL, argument, doc }
#define ALIAS(name, key, argument, doc) \
    { name, FLAG_OPTION, NULL, key, argument, doc }

static int read_flags(struct run *run, int argc, char **argv) {
    const struct flag flags[] = {
        FLAG("train", FLAG_TEXT, train, "FILE.tsv",
             "Pairs to learn from: source TAB target, one pair a line. Required."),
        FLAG("model", FLAG_TEXT, model, "OUT.xf",
             "Where the model goes. The checkpoint is beside it, as OUT.xf.ckpt. Required."),
        FLAG("dev", FLAG_TEXT, dev, "FILE.tsv", "Pairs to watch the training with; they are not learnt from."),
        FLAG("hold-out", FLAG_COUNT, hold_out, "40",
             "Without --dev, each pair number 40, 80, 120 ... of the training file is held out for that; 0 is none."),
        FLAG("preset", FLAG_TEXT, preset, "small", "tiny, small, base or big; options given by key go before it."),
        FLAG("tokenizer", FLAG_TEXT, tokenizer, "FILE.json", "Uses this tokenizer instead of learning one."),
        FLAG("steps", FLAG_COUNT, steps, "100000", "Ends at this step; 0 is no limit, if there is one in minutes."),
        FLAG("minutes", FLAG_NUMBER, minutes, "M", "Ends after so many minutes of training and evaluation."),
        FLAG("eval-every", FLAG_COUNT, eval_every, "1000", "Steps between evaluations on the dev pairs; 0 is never."),
        FLAG("dev-sentences", FLAG_COUNT, dev_sentences, "200",
             "How many dev pairs an evaluation translates for BLEU (greedily); 0 is none."),
        FLAG("save-every", FLAG_COUNT, save_every, "1000", "Steps between checkpoints; 0 is only at the end."),
        FLAG("average", FLAG_COUNT, average, "1", "Averages the last so many snapshots into the model."),
        FLAG("average-every", FLAG_COUNT, average_every, "K",
             "Steps between those snapshots; --save-every if not given."),
        FLAG("resume", FLAG_TEXT, resume, "OUT.xf.ckpt",
             "Goes on from a checkpoint, with the bits of an unbroken run."),
        FLAG("overwrite", FLAG_SWITCH, overwrite, "", "Begins anew although OUT.xf.ckpt is there."),
        FLAG("quiet", FLAG_SWITCH, quiet, "", "No progress line."),
        ALIAS("threads", "context.threads", "N", "The same as --context.threads."),
        ALIAS("device", "context.device", "NAME", "The same as --context.device."),
    };
    run->line = (struct command_line){.usage = "train --train FILE.tsv --model OUT.xf [options]",
                                      .about = "Learns to translate from pairs of sentences.",
                                      .groups = "context. tokenizer. data. model. train.",
                                      .flags = flags,
                                      .flag_count = sizeof flags / sizeof flags[0]};
    const int status = read_command_line(&run->line, argc, argv);
    run->line.flags = NULL; /* the table ends with this function */
    return status;
}

static int check_flags(struct run *run) {
    struct train_flags *flags = &run->flags;
    if (flags->train == NULL || flags->model == NULL) {
        complain("%s is missing; see translate train --help",
                 flags->train == NULL ? "--train FILE.tsv" : "--model OUT.xf");
        return EXIT_USAGE;
    }
    if (flags->average > MAX_AVERAGE) {
        complain("--average is %lld, expected at most %d", (long long)flags->average, (int)MAX_AVERAGE);
        return EXIT_USAGE;
    }
    if (flags->steps < 0) flags->steps = flags->minutes > 0 ? 0 : 100000;
    if (flags->steps == 0 && flags->minutes <= 0) {
        complain("--steps 0 needs a limit in --minutes");
        return EXIT_USAGE;
    }
    if (flags->average_every == 0) flags->average_every = flags->save_every;
    const int length = snprintf(run->checkpoint, sizeof run->checkpoint, "%s.ckpt", flags->model);
    if (length < 0 || (size_t)length + 32 > sizeof run->checkpoint) {
        complain("the name of the model is too long");
        return EXIT_USAGE;
    }
    struct stat model;
    if (stat(flags->model, &model) == 0 && !S_ISREG(model.st_mode)) {
        complain("%s is a folder or a device, expected the name of a file", flags->model);
        return EXIT_USAGE;
    }
    if (flags->resume == NULL && !flags->overwrite && access(run->checkpoint, F_OK) == 0) {
        complain("%s is there from an earlier run: go on with --resume %s, or begin anew with --overwrite",
                 run->checkpoint, run->checkpoint);
        return EXIT_USAGE;
    }
    return -1;
}

int train_command(int argc, char **argv) {
    static struct run run;
    run.argc = argc;
    run.argv = argv;
    run.flags = (struct train_flags){
        .hold_out = 40, .steps = -1, .eval_every = 1000, .save_every = 1000, .average = 1, .dev_sentences = 200};
    run.saved_step = -1;
    run.terminal = isatty(STDOUT_FILENO) == 1;
    int status = read_flags(&run, argc - 2, argv + 2);
    if (status < 0) status = check_flags(&run);
    xf_error err;
    if (status < 0 && xf_config_create(&run.config, &err) != XF_OK) status = fail(&err);
    if (status < 0 && xf_config_preset(run.config, run.flags.preset ? run.flags.preset : "small", &err) != XF_OK) {
        fail(&err);
        status = EXIT_USAGE;
    }
    if (status < 0) status = apply_settings(&run.line, run.config);
    if (status < 0 && (run.context = open_context(run.config)) == NULL) status = EXIT_FAILED;
    if (status < 0) {
        catch_signals(run.context);
        status = train(&run);
        atomic_store(&signal_context, NULL); /* from here on a signal must not touch the context */
    }
    run_close(&run);
    return status;
}
