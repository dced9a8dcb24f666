/*
 * train.c - `translate train`: the training loop, its limits, and its two ways to end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "train.h"

#include <stdio.h>
#include <unistd.h>

#include "signals.h"

static bool is_due(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

static bool is_over(const struct run *run, int64_t step) {
    if (run->flags.steps > 0 && step >= run->flags.steps) return true;
    if (run->flags.patience > 0 && run->since_best >= run->flags.patience) return true;
    return run->flags.minutes > 0 && now() - run->started >= 60 * run->flags.minutes;
}

/* One update. After an error the batcher stands where it stood, so that a checkpoint resumes with this very batch. */
static enum xf_status train_one(struct run *run, xf_step_stats *stats, xf_error *err) {
    enum xf_status status = XF_DONE;
    *stats = (xf_step_stats)XF_STEP_STATS_INIT;
    while (status == XF_DONE) /* the end of an epoch: what follows is the first batch of the next */
        status = xf_train_next(run->trainer, run->batcher, stats, err);
    return status;
}

/* What is due after a step: a snapshot, a checkpoint, an evaluation. */
static enum xf_status after_step(struct run *run, int64_t step, xf_error *err) {
    if (snapshot_is_due(&run->snapshots, step)) save_snapshot(run);
    const bool save = is_due(step, run->flags.save_every), evaluate = is_due(step, run->flags.eval_every);
    enum xf_status status = XF_OK;
    if (save) save_checkpoint(run);
    if (evaluate) status = agree(run, evaluate_dev(run, xf_trainer_model(run->trainer), "dev", err), err);
    if (evaluate && status == XF_OK) {
        report_evaluation(run);
        if (run->flags.patience > 0) save_best(run, last_dev_loss(run));
    }
    if (save || evaluate) save_report(run, "running");
    return status;
}

/* Trains until the limit, a signal or an error. */
static enum xf_status train_loop(struct run *run, xf_error *err) {
    for (;;) {
        const bool over = is_over(run, xf_trainer_step_count(run->trainer));
        enum xf_status status = over ? XF_DONE : was_interrupted() ? XF_ERROR_CANCELLED : XF_OK;
        status = agree(run, status, err);
        if (status == XF_DONE) return XF_OK;
        if (status != XF_OK) return status;
        xf_step_stats stats;
        const double began = now();
        status = train_one(run, &stats, err);
        if (status != XF_OK) return status;
        if (stats.outcome != XF_STEP_UPDATED) {
            complain("loss or gradient was not finite: %s step %lld",
                     stats.outcome == XF_STEP_SKIPPED ? "a batch is left out after" : "the run went back to",
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

/* Tells how to go on from the last checkpoint that could be written. */
static void print_way_on(const struct run *run) {
    if (run->saved_step < 0 || !is_writer(run)) return;
    complain("%s holds step %lld; `translate` can use it as a model, too. To go on%s:", run->checkpoint,
             (long long)run->saved_step, run->ranks > 1 ? ", started as before" : "");
    print_resume_command(run);
}

/* After Ctrl-C or an error: saves what there is and says how to go on. */
static int stop_early(struct run *run, enum xf_status status, xf_error *err) {
    status = agree(run, status, err); /* a cancel of one rank within a step is XF_ERROR_PEER on the others */
    if (status == XF_ERROR_CANCELLED && is_writer(run))
        complain("interrupted after step %lld", (long long)xf_trainer_step_count(run->trainer));
    else if (status != XF_ERROR_CANCELLED)
        fail(err);
    save_checkpoint(run);
    save_report(run, status == XF_ERROR_CANCELLED ? "stopped" : "failed");
    print_way_on(run);
    return status == XF_ERROR_CANCELLED ? EXIT_INTERRUPTED : EXIT_FAILED;
}

/*
 * Nothing was left to do, and the snapshots went when their average was written: another model would take its place. (A
 * run that was stopped before that still has them.)
 */
static bool is_finished(const struct run *run) {
    return run->own_checkpoint && run->flags.average > 1 && run->snapshots.count == 0 &&
           xf_trainer_step_count(run->trainer) == run->first_step && access(run->flags.model, F_OK) == 0;
}

static int finish(struct run *run) {
    xf_error err;
    save_checkpoint(run);
    const enum xf_status finished = agree(run, is_finished(run) ? XF_DONE : XF_OK, &err);
    if (finished < XF_OK) return stop_early(run, finished, &err);
    if (finished == XF_DONE) {
        save_report(run, "finished");
        printf("the model is %s, which was finished before\n", run->flags.model);
        return run->save_failed ? EXIT_FAILED : EXIT_OK;
    }
    xf_model *model = save_model(run);
    const int failed = model != NULL ? -1 : was_interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
    const int left = agree_to_go_on(run, failed);
    if (left >= 0) {
        if (model != NULL && model != xf_trainer_model(run->trainer)) xf_model_free(model);
        save_report(run, left == EXIT_INTERRUPTED ? "stopped" : "failed");
        print_way_on(run);
        return left;
    }
    const bool other = model != xf_trainer_model(run->trainer);
    const bool known = run->row_count > 0 && run->rows[run->row_count - 1].step == xf_trainer_step_count(run->trainer);
    enum xf_status status = XF_OK;
    if (was_interrupted()) /* while the files were written, which nothing stops */
        status = XF_ERROR_CANCELLED;
    else if (other || !known)
        status = evaluate_dev(run, model, !other ? "dev" : run->flags.patience > 0 ? "best" : "averaged", &err);
    status = agree(run, status, &err);
    if (status == XF_OK && (other || !known)) report_evaluation(run);
    save_report(run, "finished"); /* the model is saved, whatever became of its evaluation */
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
        complain("--patience needs dev pairs: --dev FILE.tsv or --hold-out");
        status = EXIT_USAGE;
    }
    if (status < 0) status = open_report(run);
    status = agree_to_go_on(run, status);
    if (status >= 0) return status;
    print_run(run);
    /* Written before the first step as well: a full disk or a folder that is not there shows now, not in an hour. */
    if (!save_checkpoint(run)) return EXIT_FAILED;
    run->started = now();
    run->first_step = xf_trainer_step_count(run->trainer);
    save_report(run, "running");
    xf_error err;
    enum xf_status result = agree(run, find_best(run, &err), &err);
    if (result == XF_OK && !is_over(run, run->first_step)) print_start(run);
    if (result == XF_OK) result = train_loop(run, &err);
    return result == XF_OK ? finish(run) : stop_early(run, result, &err);
}

int train_command(int argc, char **argv) {
    static struct run run;
    run.argc = argc;
    run.argv = argv;
    run.flags = (struct train_flags){
        .hold_out = 40, .steps = -1, .eval_every = 1000, .save_every = 1000, .average = 1, .dev_sentences = 200};
    run.saved_step = run.unsaved_step = -1;
    run.best_loss = -1;
    run.terminal = isatty(STDOUT_FILENO) == 1;
    int status = read_train_flags(&run, argc - 2, argv + 2);
    if (status < 0) status = check_train_flags(&run);
    xf_error err;
    if (status < 0 && xf_config_create(&run.config, &err) != XF_OK) status = fail(&err);
    if (status < 0 && xf_config_preset(run.config, run.flags.preset ? run.flags.preset : "small", &err) != XF_OK) {
        fail(&err);
        status = EXIT_USAGE;
    }
    /* One bad batch is no reason to end a run of hours. */
    if (status < 0 && xf_config_set(run.config, "train.on_nonfinite", "skip", &err) != XF_OK) status = fail(&err);
    /* What is loaded here is trained, or compared with what is. */
    if (status < 0 && xf_config_set(run.config, "context.weights", "fp32", &err) != XF_OK) status = fail(&err);
    /* mpirun and srun make ranks of us. */
    if (status < 0 && xf_config_set(run.config, "context.comm", "auto", &err) != XF_OK) status = fail(&err);
    if (status < 0) status = apply_settings(&run.line, run.config);
    if (status < 0 && (run.context = open_context(run.config)) == NULL) status = EXIT_FAILED;
    if (status < 0 && !find_ranks(&run)) status = EXIT_FAILED;
    if (status < 0) {
        catch_signals(run.context);
        status = train(&run);
        release_context();
    }
    run_close(&run);
    return status;
}
