/*
 * train.c - `translate train`: the training loop and the end of a run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "train.h"

#include <stdio.h>

#include "signals.h"
#include "system.h"

static bool is_due(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

static bool is_over(const struct run *run, int64_t step) {
    if (run->flags.steps > 0 && step >= run->flags.steps) return true;
    if (run->flags.patience > 0 && run->since_best >= run->flags.patience) return true;
    return run->flags.minutes > 0 && now() - run->started >= 60 * run->flags.minutes;
}

/* Runs one update. An error leaves the batcher at this batch, so that a resumed run repeats it. */
static xf_status train_one(struct run *run, xf_step_stats *stats, xf_error *err) {
    xf_status status = XF_DONE;
    *stats = (xf_step_stats)XF_STEP_STATS_INIT;
    while (status == XF_DONE) /* the end of an epoch; the next call returns a batch of the next one */
        status = xf_train_next(run->trainer, run->batcher, &until_interrupted, stats, err);
    return status;
}

/* Takes a snapshot, writes a checkpoint, and evaluates, if they are due after this step. */
static xf_status after_step(struct run *run, int64_t step, xf_error *err) {
    if (snapshot_is_due(&run->snapshots, step)) save_snapshot(run);
    const bool save = is_due(step, run->flags.save_every), evaluate = is_due(step, run->flags.eval_every);
    xf_status status = XF_OK;
    if (save) save_checkpoint(run);
    if (evaluate) status = agree(run, evaluate_dev(run, xf_trainer_model(run->trainer), step, "dev", err), err);
    if (evaluate && status == XF_OK) {
        report_evaluation(run);
        if (run->flags.patience > 0) save_best(run, last_dev_cost(run));
    }
    if (save || evaluate) save_report(run, "running");
    return status;
}

/* Trains until the limit, a signal, or an error. */
static xf_status train_loop(struct run *run, xf_error *err) {
    for (;;) {
        const bool over = is_over(run, xf_trainer_step_count(run->trainer));
        xf_status status = over ? XF_DONE : was_interrupted() ? XF_ERROR_CANCELLED : XF_OK;
        status = agree(run, status, err);
        if (status == XF_DONE) return XF_OK;
        if (status != XF_OK) return status;
        xf_step_stats stats;
        const double began = now();
        status = train_one(run, &stats, err);
        if (status != XF_OK) return status;
        if (stats.outcome != XF_STEP_UPDATED) {
            complain("the loss or gradient was not finite; %s step %lld",
                     stats.outcome == XF_STEP_SKIPPED ? "skipped the batch after" : "returned to",
                     (long long)stats.step);
            continue;
        }
        const double seconds = now() - began;
        count_step(run, &stats, seconds);
        report_step(run, &stats, seconds);
        print_progress(run, &stats);
        status = after_step(run, stats.step, err);
        if (status != XF_OK) return status;
    }
}

/* Prints how to resume from the last checkpoint that was written. */
static void print_how_to_resume(const struct run *run) {
    if (run->saved_step < 0 || !is_writer(run)) return;
    complain("%s contains step %lld; `translate` also accepts it as a model. To continue%s, run:", run->checkpoint,
             (long long)run->saved_step, run->ranks > 1 ? " with the same launcher" : "");
    print_resume_command(run);
}

/* After Ctrl-C or an error: saves the checkpoint and the report, and prints how to resume. */
static int stop_early(struct run *run, xf_status status, xf_error *err) {
    status = agree(run, status, err); /* if one rank is cancelled in a step, the others have XF_ERROR_PEER */
    if (status == XF_ERROR_CANCELLED && is_writer(run))
        complain("interrupted after step %lld", (long long)xf_trainer_step_count(run->trainer));
    else if (status != XF_ERROR_CANCELLED)
        fail(err);
    save_checkpoint(run);
    save_report(run, status == XF_ERROR_CANCELLED ? "stopped" : "failed");
    print_how_to_resume(run);
    return status == XF_ERROR_CANCELLED ? EXIT_INTERRUPTED : EXIT_FAILED;
}

/*
 * Returns whether an earlier run had already written the averaged model. Its snapshots are then deleted, and saving the
 * model again would replace the average with the last step. (A run stopped before that still has its snapshots.)
 */
static bool is_finished(const struct run *run) {
    return run->own_checkpoint && run->flags.average > 1 && run->snapshots.count == 0 &&
           xf_trainer_step_count(run->trainer) == run->first_step && access(run->flags.model, F_OK) == 0;
}

static int finish(struct run *run) {
    xf_error err;
    save_checkpoint(run);
    const xf_status finished = agree(run, is_finished(run) ? XF_DONE : XF_OK, &err);
    if (finished < XF_OK) return stop_early(run, finished, &err);
    if (finished == XF_DONE) {
        save_report(run, "finished");
        printf("the model is %s, which was finished before\n", run->flags.model);
        return run->save_failed ? EXIT_FAILED : EXIT_OK;
    }
    xf_model *model = save_model(run);
    const int failed = model != NULL ? -1 : was_interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
    const int left = agree_on_exit(run, failed);
    if (left >= 0) {
        if (model != NULL && model != xf_trainer_model(run->trainer)) xf_model_free(model);
        save_report(run, left == EXIT_INTERRUPTED ? "stopped" : "failed");
        print_how_to_resume(run);
        return left;
    }
    const bool other = model != xf_trainer_model(run->trainer);
    const int64_t step = step_of(run, model);
    const bool known = run->row_count > 0 && run->rows[run->row_count - 1].step == step;
    /* A signal may have arrived during the writes, which are not cancelled. */
    const xf_status wanted = other || !known ? XF_DONE : XF_OK;
    xf_status status = agree(run, was_interrupted() ? XF_ERROR_CANCELLED : wanted, &err);
    const bool evaluates = status == XF_DONE;
    if (evaluates)
        status = evaluate_dev(run, model, step, !other ? "dev" : run->flags.patience > 0 ? "best" : "averaged", &err);
    status = agree(run, status, &err);
    if (status == XF_OK && evaluates) report_evaluation(run);
    save_report(run, "finished"); /* even if the evaluation failed: the model is saved */
    if (other) xf_model_free(model);
    if (status == XF_ERROR_CANCELLED) {
        if (is_writer(run))
            complain("interrupted during the last evaluation; the model is saved as %s", run->flags.model);
        return EXIT_INTERRUPTED;
    }
    if (status != XF_OK) return fail(&err);
    print_rows(run);
    printf("the model is %s\n", run->flags.model);
    return run->save_failed ? EXIT_FAILED : EXIT_OK;
}

static int train(struct run *run) {
    int status = run_open(run);
    if (status >= 0 && was_interrupted()) status = EXIT_INTERRUPTED;
    if (status < 0 && run->flags.patience > 0 && run->dev_batcher == NULL) {
        complain("--patience needs dev pairs: set --dev FILE.tsv or --hold-out");
        status = EXIT_USAGE;
    }
    if (status < 0) status = open_report(run);
    status = agree_on_exit(run, status);
    if (status >= 0) return status;
    print_run(run);
    /* Also written before the first step, to detect a full disk or a missing folder at once. */
    if (!save_checkpoint(run)) return EXIT_FAILED;
    run->started = now();
    run->first_step = xf_trainer_step_count(run->trainer);
    save_report(run, "running");
    xf_error err;
    xf_status result = agree(run, find_best(run, &err), &err);
    if (result == XF_OK && !is_over(run, run->first_step)) print_start(run);
    if (result == XF_OK) result = train_loop(run, &err);
    return result == XF_OK ? finish(run) : stop_early(run, result, &err);
}

/*
 * "model.weights" on the command line selects the type of the matrices in the final file. In memory they have type
 * fp32, because the models that are loaded here are trained or compared with the trained model.
 */
static int split_weights(struct run *run) {
    xf_error err;
    if (xf_config_copy(run->config, &run->saving, &err) != XF_OK ||
        xf_config_set(run->config, "model.weights", "fp32", &err) != XF_OK)
        return fail(&err);
    return -1;
}

int train_command(int argc, char **argv) {
    static struct run run;
    run.argc = argc;
    run.argv = argv;
    run.flags = (struct train_flags){
        .hold_out = 40, .steps = -1, .eval_every = 1000, .save_every = 1000, .average = 1, .dev_sentences = 200};
    run.saved_step = run.unsaved_step = -1;
    run.best_cost = -1;
    run.terminal = isatty(STDOUT_FILENO) == 1;
    int status = read_train_flags(&run, argc - 2, argv + 2);
    if (status < 0) status = check_train_flags(&run);
    xf_error err;
    if (status < 0 && xf_config_create(&run.config, &err) != XF_OK) status = fail(&err);
    if (status < 0 && xf_config_preset(run.config, run.flags.preset ? run.flags.preset : "small", &err) != XF_OK) {
        fail(&err);
        status = EXIT_USAGE;
    }
    /* One bad batch should not end a long run. */
    if (status < 0 && xf_config_set(run.config, "train.on_nonfinite", "skip", &err) != XF_OK) status = fail(&err);
    /* Under mpirun or srun, each process becomes a rank. */
    if (status < 0 && xf_config_set(run.config, "context.comm", "auto", &err) != XF_OK) status = fail(&err);
    if (status < 0) status = apply_settings(&run.line, run.config);
    if (status < 0) status = split_weights(&run);
    if (status < 0 && (run.context = open_context(run.config)) == NULL) status = EXIT_FAILED;
    if (status < 0 && !find_ranks(&run)) status = EXIT_FAILED;
    if (status < 0) status = compare_flags(&run);
    if (status < 0) {
        catch_signals();
        status = train(&run);
    }
    run_close(&run);
    return status;
}
