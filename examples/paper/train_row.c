/*
 * train_row.c - trains and measures one row of a table, and resumes it; see experiment.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment.h"
#include "measure.h"
#include "output.h"
#include "signals.h"
#include "snapshots.h"

struct training {
    struct experiment *e;
    const struct paper_row *row;
    xf_config *config;
    xf_trainer *trainer;
    xf_batcher *batcher;
    struct model_size size;
    struct result result; /* the values so far */
    double began, saved, printed;
    double before; /* seconds of earlier runs */
    struct snapshots snapshots;
    char model[4096], checkpoint[4096], log[4096]; /* paths; model: prefix of the snapshots */
};

static double seconds_so_far(const struct training *t) { return t->before + now() - t->began; }

/*
 * Appends to the log what a checkpoint does not contain: time, operations, and tokens at its step. The line is written
 * before the checkpoint, so that every checkpoint has a line. Lines of steps that were lost are ignored.
 */
static bool write_log(const struct training *t) {
    FILE *file = fopen(t->log, "ab");
    if (file == NULL) {
        complain("cannot write %s: %s", t->log, strerror(errno));
        return false;
    }
    /* An incomplete line, left by a power failure, has no final period. The leading newline ends it. */
    fprintf(file, "\n%lld %.3f %.9e %lld .\n", (long long)xf_trainer_step_count(t->trainer), seconds_so_far(t),
            t->result.flops, (long long)t->result.tokens);
    const bool good = fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (fclose(file) == 0 && good) return true;
    complain("writing %s failed: %s", t->log, strerror(errno));
    return false;
}

/* Returns false after printing a message if the log has no line for the checkpoint. */
static bool read_log(struct training *t) {
    FILE *file = fopen(t->log, "rb");
    char line[256];
    bool found = false;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        long long step, tokens;
        double seconds, flops;
        int end = 0;
        if (sscanf(line, "%lld %lf %lf %lld .%n", &step, &seconds, &flops, &tokens, &end) != 4 || end == 0) continue;
        if (step != xf_trainer_step_count(t->trainer)) continue;
        t->before = seconds;
        t->result.flops = flops;
        t->result.tokens = tokens;
        found = true;
    }
    if (file != NULL) fclose(file);
    if (!found)
        complain(
            "%s has no line for step %lld, the step of %s, so the cost so far is unknown; delete that checkpoint to "
            "restart the row",
            t->log, (long long)xf_trainer_step_count(t->trainer), t->checkpoint);
    return found;
}

static bool save(struct training *t) {
    xf_error err;
    if (!write_log(t)) return false;
    const xf_sink sink = XF_SINK_PATH(t->checkpoint);
    if (xf_trainer_save(t->trainer, t->batcher, NULL, &sink, &err) != XF_OK) {
        fail(&err);
        return false;
    }
    t->saved = now();
    return true;
}

/* Opens a trainer at its checkpoint or at step 0. Returns -1, or the exit status on failure. */
static int open_training(struct training *t) {
    xf_error err;
    xf_model *model = NULL;
    const struct experiment *e = t->e;
    if (xf_config_copy(e->config, &t->config, &err) != XF_OK) return fail(&err);
    if (e->averages)
        t->snapshots = (struct snapshots){
            .model = t->model, .wanted = snapshots_averaged(t->row), .every = snapshot_steps(e, t->row)};
    const int set = set_row(t->config, t->row->name, e->scale);
    if (set >= 0) return set;
    /* One bad batch must not end a run of several hours. */
    if (xf_config_set(t->config, "train.on_nonfinite", "skip", &err) != XF_OK) return fail(&err);
    if (!join_path(t->model, e->folder, t->row->name, "")) return EXIT_FAILED;
    if (!join_path(t->checkpoint, e->folder, t->row->name, ".ckpt")) return EXIT_FAILED;
    if (!join_path(t->log, e->folder, t->row->name, ".log")) return EXIT_FAILED;
    xf_status status = xf_batcher_create(e->train, e->tokenizer, t->config, &until_interrupted, &t->batcher, &err);
    if (status != XF_OK) return fail(&err);
    const xf_source source = XF_SOURCE_PATH(t->checkpoint);
    status = xf_trainer_resume(e->context, &source, NULL, &until_interrupted, &t->trainer, &err);
    if (status == XF_OK) {
        status = xf_batcher_resume(t->batcher, t->trainer, &until_interrupted, &err);
        if (status == XF_OK && !read_log(t)) return EXIT_FAILED;
        if (status == XF_OK) snapshots_find(&t->snapshots, xf_trainer_step_count(t->trainer));
    } else if (status == XF_ERROR_NOT_FOUND) {
        remove(t->log); /* left by a run that was killed before its first checkpoint */
        status = xf_model_create(e->context, e->tokenizer, t->config, &model, &err);
        if (status == XF_OK) status = xf_trainer_create(model, t->config, &t->trainer, &err);
        xf_model_free(model);
    }
    if (status != XF_OK) return fail(&err);
    t->size = size_of(t->config, vocabulary_size(e->tokenizer));
    t->result.parameters = parameter_count(xf_trainer_model(t->trainer));
    snprintf(t->result.name, sizeof t->result.name, "%s", t->row->name);
    return -1;
}

static void close_training(struct training *t) {
    xf_trainer_free(t->trainer);
    xf_batcher_free(t->batcher);
    xf_config_free(t->config);
}

static bool is_over(const struct training *t) {
    const int64_t steps = steps_of(t->e, t->row);
    if (steps > 0 && xf_trainer_step_count(t->trainer) >= steps) return true;
    return t->e->minutes > 0 && seconds_so_far(t) >= 60 * t->e->minutes;
}

/*
 * Makes one update. xf_train_next() is not used because it does not return the batch, and the cost of a batch depends
 * on the length of each sentence. After an error, the batcher returns to its previous position, so that a checkpoint
 * resumes with this batch.
 */
static xf_status one_step(struct training *t, xf_step_stats *stats, xf_error *err) {
    xf_batcher_stats at = XF_BATCHER_STATS_INIT;
    xf_batch batch = XF_BATCH_INIT;
    xf_status status = XF_DONE;
    for (int i = 0; i < 2 && status == XF_DONE; ++i) { /* at the end of an epoch, try the next one */
        status = xf_batcher_get_stats(t->batcher, &at, err);
        if (status == XF_OK) status = xf_batcher_next(t->batcher, &until_interrupted, &batch, err);
    }
    if (status != XF_OK) return status;
    *stats = (xf_step_stats)XF_STEP_STATS_INIT;
    status = xf_train_step(t->trainer, &batch, 1, &until_interrupted, stats, err);
    if (status != XF_OK) {
        xf_batcher_seek(t->batcher, at.epoch, at.batch, NULL, NULL);
    } else if (stats->outcome == XF_STEP_UPDATED) {
        t->result.flops += batch_flops(&t->size, &batch);
        t->result.tokens += stats->src_tokens + stats->tgt_tokens;
    }
    return status;
}

static void print_progress(struct training *t, const xf_step_stats *stats) {
    char clock[24];
    if (t->e->quiet || now() - t->printed < 10) return;
    t->printed = now();
    printf("%-14s step %lld", t->row->name, (long long)stats->step);
    if (steps_of(t->e, t->row) > 0) printf("/%lld", (long long)steps_of(t->e, t->row));
    printf("  loss %.3f  %s\n", stats->loss, clock_text(clock, seconds_so_far(t)));
    check_output();
}

static int interrupted(struct training *t) {
    complain("%s: interrupted after step %lld; run the same command to resume", t->row->name,
             (long long)xf_trainer_step_count(t->trainer));
    return save(t) ? EXIT_INTERRUPTED : EXIT_FAILED;
}

static int train_steps(struct training *t) {
    xf_error err;
    t->began = t->saved = t->printed = now();
    while (!is_over(t)) {
        if (was_interrupted()) return interrupted(t);
        xf_step_stats stats;
        const xf_status status = one_step(t, &stats, &err);
        if (status == XF_ERROR_CANCELLED) return interrupted(t);
        if (status != XF_OK) {
            complain("%s: %s", t->row->name, err.message);
            return EXIT_FAILED;
        }
        if (stats.outcome != XF_STEP_UPDATED) {
            complain("%s: the loss or a gradient is not finite; skipped a batch after step %lld", t->row->name,
                     (long long)stats.step);
            continue;
        }
        print_progress(t, &stats);
        if (snapshot_is_due(&t->snapshots, stats.step) &&
            snapshot_save(&t->snapshots, xf_trainer_model(t->trainer), stats.step, &err) != XF_OK)
            return fail(&err);
        if (now() - t->saved >= t->e->save_seconds && !save(t)) return EXIT_FAILED;
    }
    t->result.steps = xf_trainer_step_count(t->trainer);
    t->result.seconds = seconds_so_far(t);
    return save(t) ? -1 : EXIT_FAILED;
}

static xf_status evaluate(struct training *t, xf_error *err) {
    xf_model *mean = NULL;
    xf_decoder *decoder = NULL;
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    xf_bleu_score bleu;
    struct translations answers = {0};
    xf_status status = snapshots_average(&t->snapshots, t->e->context, &mean, err);
    const xf_model *model = mean != NULL ? mean : xf_trainer_model(t->trainer);
    if (status == XF_OK) status = xf_decoder_create(model, NULL, t->config, &decoder, err);
    xf_batcher *batcher = status == XF_OK ? open_plain_batcher(t->e->held, t->e->tokenizer, t->config) : NULL;
    if (status == XF_OK && batcher == NULL) {
        snprintf(err->message, sizeof err->message, "cannot evaluate the held-out pairs");
        status = err->status = XF_ERROR_DATA;
    }
    if (status == XF_OK) status = xf_evaluate(decoder, batcher, &until_interrupted, &stats, err);
    if (status == XF_OK)
        status = measure_bleu(decoder, &t->e->sources, &t->e->references, t->e->tokenize, &answers, &bleu, NULL, err);
    if (status == XF_OK) {
        t->result.perplexity = stats.perplexity;
        t->result.bleu = bleu.score;
    }
    sentences_free(&answers.texts);
    xf_batcher_free(batcher);
    xf_decoder_free(decoder);
    xf_model_free(mean);
    return status;
}

static void remove_files(struct training *t) {
    char path[4096];
    remove(t->checkpoint);
    remove(t->log);
    if (join_path(path, t->e->folder, t->row->name, ".ckpt.prev")) remove(path);
    snapshots_remove(&t->snapshots);
}

int train_row(struct experiment *e, const struct paper_row *row) {
    static struct training t;
    xf_error err;
    t = (struct training){.e = e, .row = row};
    int status = open_training(&t);
    if (status < 0) status = train_steps(&t);
    if (status < 0) {
        const xf_status result = evaluate(&t, &err);
        if (result == XF_ERROR_CANCELLED) {
            complain("%s: interrupted during evaluation; run the same command to resume", row->name);
            status = EXIT_INTERRUPTED;
        } else if (result != XF_OK) {
            complain("%s: %s", row->name, err.message);
            status = EXIT_FAILED;
        }
    }
    if (status < 0) status = add_result(e, &t.result) ? -1 : EXIT_FAILED;
    if (status < 0) {
        remove_files(&t);
        printf("%-14s %lld steps  perplexity %.3f  BLEU %.2f  parameters %.3f x 10^6\n", row->name,
               (long long)t.result.steps, t.result.perplexity, t.result.bleu, (double)t.result.parameters / 1e6);
        if (check_output() >= 0) status = EXIT_FAILED;
    }
    close_training(&t);
    return status;
}
