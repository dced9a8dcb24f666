/*
 * train_save.c - writes checkpoints, snapshots for the average, and the model of a training run.
 *
 * If a file cannot be written (a full disk), the run prints a message and continues. The library keeps the old file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "train.h"

#include <stdio.h>
#include <string.h>

#include "files.h"
#include "signals.h"
#include "system.h"

bool save_checkpoint(struct run *run) {
    xf_error err;
    const int64_t step = xf_trainer_step_count(run->trainer);
    if (run->saved_step == step) return true;
    const xf_sink sink = XF_SINK_PATH(run->checkpoint);
    if (xf_trainer_save(run->trainer, run->batcher, NULL, &sink, &err) == XF_OK) {
        run->saved_step = step;
        return true;
    }
    run->save_failed = true;
    /* At the end of a run, the last step is tried again: the disk may have space now. */
    if (run->unsaved_step == step) return false;
    run->unsaved_step = step;
    if (!is_writer(run)) return false; /* rank 0 prints the reason */
    fail(&err);
    complain("step %lld is not saved; an older checkpoint, if it exists, is unchanged", (long long)step);
    return false;
}

void save_snapshot(struct run *run) {
    const int64_t step = xf_trainer_step_count(run->trainer);
    xf_error err;
    if (snapshot_save(&run->snapshots, xf_trainer_model(run->trainer), step, &err) == XF_OK) return;
    fail(&err);
    complain("the average goes without step %lld", (long long)step);
    run->save_failed = true;
}

/* Makes the name of a best model, OUT.xf.best-STEP. A resumed run counts evaluations without improvement from STEP. */
static void best_name(const struct run *run, int64_t step, char name[MAX_PATH_LENGTH]) {
    snprintf(name, MAX_PATH_LENGTH, "%.4000s.best-%lld", run->flags.model, (long long)step);
}

static void forget_best(const struct run *run, int64_t step) {
    char name[MAX_PATH_LENGTH];
    if (!is_writer(run)) return;
    best_name(run, step, name);
    remove(name);
    forget_previous(name);
}

/*
 * Finds the newest of the best models that an earlier run left, which has the lowest cost, and deletes the others.
 * If `wanted` is false, deletes all. Returns the step of the model, or -1 if none remains.
 */
static int64_t find_best_file(const struct run *run, bool wanted) {
    char folder[MAX_PATH_LENGTH];
    const char *model = base_name(run->flags.model);
    snprintf(folder, sizeof folder, "%.*s", (int)(model - run->flags.model), run->flags.model);
    int64_t newest = -1;
    DIR *files = opendir(*folder != '\0' ? folder : ".");
    if (files == NULL) return -1;
    for (const struct dirent *file; (file = readdir(files)) != NULL;) {
        const int64_t step = number_after(file->d_name, model, ".best-");
        const int64_t other = wanted && step > newest ? newest : step;
        if (wanted && step > newest) newest = step;
        if (other >= 0) forget_best(run, other);
    }
    closedir(files);
    return newest;
}

/* The dev BLEU or dev loss of the best model. */
static double best_score(const struct run *run) { return is_best_by_bleu(run) ? 100 - run->best_cost : run->best_cost; }

/* Counts the evaluations after the best one, up to this step. */
static void count_since_best(struct run *run) {
    const int64_t every = run->flags.eval_every;
    run->since_best = xf_trainer_step_count(run->trainer) / every - run->best_step / every;
    if (run->since_best >= run->flags.patience)
        printf(is_best_by_bleu(run) ? "%-12s after %lld evaluations without a dev BLEU above %.2f\n"
                                    : "%-12s after %lld evaluations without a dev loss below %.4f\n",
               "ends", (long long)run->since_best, best_score(run));
}

void save_best(struct run *run, double cost) {
    if (cost < 0) return; /* no dev set */
    if (run->best_cost >= 0 && !(cost < run->best_cost)) {
        count_since_best(run);
        return;
    }
    char name[MAX_PATH_LENGTH];
    xf_error err;
    const int64_t step = xf_trainer_step_count(run->trainer);
    best_name(run, step, name);
    if (is_writer(run)) {
        const xf_sink sink = XF_SINK_PATH(name);
        if (xf_model_save(xf_trainer_model(run->trainer), NULL, NULL, &sink, &err) != XF_OK) {
            fail(&err);
            run->save_failed = true;
            return; /* the previous best model remains */
        }
        forget_previous(name);
    }
    if (run->best_cost >= 0 && run->best_step != step) forget_best(run, run->best_step);
    run->best_cost = cost;
    run->best_step = step;
    run->since_best = 0;
}

xf_status find_best(struct run *run, xf_error *err) {
    if (run->flags.patience == 0) return XF_OK;
    xf_status status = XF_OK;
    const int64_t found = find_best_file(run, run->own_checkpoint), step = xf_trainer_step_count(run->trainer);
    bool same = false;
    status = find_same(run, found, &same, err);
    if (status == XF_OK && run->ranks > 1 && !same) {
        *err = (xf_error){.status = XF_ERROR_DESYNC};
        snprintf(err->message, sizeof err->message,
                 "the ranks find different files %s.best-STEP, expected one folder for all ranks",
                 base_name(run->flags.model));
        return XF_ERROR_DESYNC;
    }
    if (status != XF_OK) return status;
    if (found >= 0) { /* otherwise the run was stopped before its first evaluation, or has finished */
        char name[MAX_PATH_LENGTH];
        xf_model *best = NULL;
        best_name(run, found, name);
        const xf_source source = XF_SOURCE_PATH(name);
        status = xf_model_load(run->context, &source, run->config, &until_interrupted, &best, err);
        status = agree(run, status, err);
        if (status == XF_OK) status = agree(run, evaluate_dev(run, best, found, "best", err), err);
        if (status == XF_OK) run->best_cost = last_dev_cost(run), run->best_step = found;
        xf_model_free(best);
    }
    /* The checkpoint precedes the evaluation of its step, so the run may have been stopped before that evaluation. */
    if (status != XF_OK || step == 0 || step % run->flags.eval_every != 0) return status;
    status = evaluate_dev(run, xf_trainer_model(run->trainer), step, "dev", err);
    if (status != XF_OK) return status;
    report_evaluation(run);
    save_best(run, last_dev_cost(run));
    return XF_OK;
}

/* Loads the best model. NULL if none was saved. */
static xf_model *take_best(struct run *run) {
    char name[MAX_PATH_LENGTH];
    xf_model *best = NULL;
    xf_error err;
    if (run->best_cost < 0) return NULL;
    best_name(run, run->best_step, name);
    const xf_source source = XF_SOURCE_PATH(name);
    if (xf_model_load(run->context, &source, run->config, &until_interrupted, &best, &err) != XF_OK) {
        fail(&err);
        run->save_failed = true;
        if (err.status != XF_ERROR_CANCELLED) complain("the model is that of the last step");
        return NULL;
    }
    printf(is_best_by_bleu(run) ? "%-12s dev BLEU %.2f, after step %lld\n" : "%-12s dev loss %.4f, after step %lld\n",
           "best", best_score(run), (long long)run->best_step);
    return best;
}

static xf_model *average_snapshots(struct run *run) {
    xf_model *model = NULL;
    xf_error err;
    if (snapshots_average(&run->snapshots, run->context, &model, &err) == XF_OK) {
        print_average(&run->snapshots);
        return model;
    }
    fail(&err);
    run->save_failed = true;
    if (err.status != XF_ERROR_CANCELLED) complain("the model is not averaged; it is that of the last step");
    return NULL;
}

int64_t step_of(const struct run *run, const xf_model *model) {
    const bool best = run->flags.patience > 0 && model != xf_trainer_model(run->trainer);
    return best ? run->best_step : xf_trainer_step_count(run->trainer);
}

/* Stores the step in the metadata of the model, for `translate inspect`. */
static xf_status keep_step(const struct run *run, xf_model *model, xf_error *err) {
    char step[24];
    snprintf(step, sizeof step, "%lld", (long long)step_of(run, model));
    return xf_model_set_metadata(model, STEP_KEY, step, err);
}

xf_model *save_model(struct run *run) {
    const bool chosen = run->snapshots.count > 1 || run->best_cost >= 0;
    xf_model *other = run->snapshots.count > 1 ? average_snapshots(run) : take_best(run);
    xf_error err;
    /* After Ctrl-C, do not save a model in place of the missing one: the resumed run will average or load it. */
    xf_status status = other == NULL && chosen && was_interrupted() ? XF_ERROR_CANCELLED : XF_OK;
    status = agree(run, status, &err); /* before the snapshots are deleted: other ranks may be reading them */
    if (status != XF_OK) {
        if (status != XF_ERROR_CANCELLED) fail(&err);
        xf_model_free(other);
        return NULL;
    }
    xf_model *model = other != NULL ? other : xf_trainer_model(run->trainer);
    if (!is_writer(run)) return model;
    const xf_sink sink = XF_SINK_PATH(run->flags.model);
    if (keep_step(run, model, &err) != XF_OK || xf_model_save(model, run->saving, NULL, &sink, &err) != XF_OK) {
        fail(&err);
        run->save_failed = true;
        xf_model_free(other);
        return NULL;
    }
    snapshots_remove(&run->snapshots);
    return model;
}

/* Prints an argument, quoted for a shell. */
static void print_quoted(const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
    if (*text != '\0' && text[strspn(text, plain)] == '\0') {
        fprintf(stderr, " %s", text);
        return;
    }
    fputs(" '", stderr);
    for (; *text != '\0'; ++text) {
        if (*text == '\'')
            fputs("'\\''", stderr);
        else
            fputc(*text, stderr);
    }
    fputc('\'', stderr);
}

/* Returns whether argv[i] is the flag: "--name" or "--name=value". *width is the number of arguments to skip. */
static bool is_flag(char **argv, int i, const char *name, int *width) {
    const size_t length = strlen(name);
    if (strncmp(argv[i], name, length) != 0) return false;
    *width = argv[i][length] == '=' ? 1 : 2;
    return argv[i][length] == '=' || argv[i][length] == '\0';
}

void print_resume_command(const struct run *run) {
    fprintf(stderr, " ");
    for (int i = 0; i < run->argc; ++i) {
        int width = 0;
        if (strcmp(run->argv[i], "--overwrite") == 0 || strcmp(run->argv[i], "--continue") == 0 ||
            strcmp(run->argv[i], "--") == 0)
            continue;
        if (is_flag(run->argv, i, "--resume", &width) || is_flag(run->argv, i, "--minutes", &width) ||
            is_flag(run->argv, i, "--tokenizer", &width) || is_flag(run->argv, i, "--init", &width))
            i += width - 1;
        else
            print_quoted(run->argv[i]);
    }
    if (run->flags.minutes > 0) {
        const double left = run->flags.minutes - (now() - run->started) / 60;
        fprintf(stderr, " --minutes %.2f", left > 0.1 ? left : 0.1);
    }
    if (*run->checkpoint == '-') { /* as a separate argument it would be parsed as a flag */
        char argument[MAX_PATH_LENGTH + 16];
        snprintf(argument, sizeof argument, "--resume=%s", run->checkpoint);
        print_quoted(argument);
    } else {
        fprintf(stderr, " --resume");
        print_quoted(run->checkpoint);
    }
    fputc('\n', stderr);
}
