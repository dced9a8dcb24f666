/*
 * parse_train.c - `paper_parse train`: the training loop, its output, and its end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "parse_train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "signals.h"
#include "tree_kind.h"

static bool is_due(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

static double seconds_so_far(const struct parse_run *run) { return run->earlier_seconds + now() - run->started; }

static bool is_over(const struct parse_run *run) {
    if (run->flags.steps > 0 && xf_trainer_step_count(run->trainer) >= run->flags.steps) return true;
    return run->flags.minutes > 0 && now() - run->started >= 60 * run->flags.minutes;
}

static bool save_checkpoint(struct parse_run *run) {
    char name[PATH_SIZE];
    xf_error err;
    const int64_t step = xf_trainer_step_count(run->trainer);
    checkpoint_name(run, name);
    const xf_sink sink = XF_SINK_PATH(name);
    if (run->saved_step != step && xf_trainer_save(run->trainer, NULL, NULL, &sink, &err) != XF_OK) {
        fail(&err);
        return false;
    }
    run->saved_step = step;
    return curve_write(&run->curve, run->flags.model, step, seconds_so_far(run));
}

/* Computes the loss of all dev pairs, and the F1 of some, parsed greedily with the constraint. */
static xf_status evaluate(struct parse_run *run, xf_error *err) {
    xf_decoder *decoder = NULL;
    xf_config *greedy = NULL;
    struct parse_score score;
    struct curve_row row = {.step = xf_trainer_step_count(run->trainer)};
    struct answer *answers = allocate(run->dev_some.count * sizeof *answers);
    xf_status status = xf_config_copy(run->config, &greedy, err);
    if (status == XF_OK) status = xf_config_set_number(greedy, "decode.beam", 1, err);
    if (status == XF_OK) status = xf_decoder_create(run->parser.model, NULL, greedy, &decoder, err);
    if (status == XF_OK) status = measure_nll(&run->parser, decoder, &run->dev, &row.dev_nll, err);
    if (status == XF_OK) status = measure_parser(&run->parser, decoder, &run->dev_some, true, answers, &score, err);
    if (status == XF_OK) {
        answers_free(answers, run->dev_some.count);
        row.epoch = (double)row.step / (double)run->plan.count;
        row.train_nll =
            run->sum_tokens > 0 ? run->sum_nll / run->sum_tokens : NAN; /* no step since the last evaluation */
        row.recall = evalb_recall(&score.evalb);
        row.precision = evalb_precision(&score.evalb);
        row.f1 = evalb_f1(&score.evalb);
        row.complete = evalb_complete(&score.evalb);
        row.seconds = seconds_so_far(run);
        run->sum_nll = run->sum_tokens = 0;
        curve_add(&run->curve, &row);
        curve_write(&run->curve, run->flags.model, row.step, row.seconds);
        char elapsed[24];
        printf(
            "dev          step %lld epoch %.2f  train nll %.4f  dev nll %.4f perplexity %.3f  greedy F1 %.2f "
            "on %zu with %s trees  %s\n",
            (long long)row.step, row.epoch, row.train_nll, row.dev_nll, exp(row.dev_nll), row.f1, run->dev_some.count,
            tree_kind_of(&run->dev, run->flags.gold)->name, clock_text(elapsed, row.seconds));
        check_output();
    }
    free(answers);
    xf_decoder_free(decoder);
    xf_config_free(greedy);
    return status;
}

static void print_progress(struct parse_run *run, const xf_step_stats *stats) {
    char elapsed[24], limit[24] = "";
    if (run->flags.quiet || now() - run->last_line < 10) return;
    run->last_line = now();
    if (run->flags.steps > 0) snprintf(limit, sizeof limit, "/%lld", (long long)run->flags.steps);
    printf("step %lld%s epoch %.2f nll %.3f lr %.1e %s\n", (long long)stats->step, limit,
           (double)stats->step / (double)run->plan.count, stats->nll, stats->learning_rate,
           clock_text(elapsed, seconds_so_far(run)));
    check_output();
}

static xf_status train_loop(struct parse_run *run, xf_error *err) {
    const struct alphabet alphabet = parser_alphabet(&run->parser);
    xf_status status = XF_OK;
    while (status == XF_OK && !is_over(run)) {
        if (was_interrupted()) return XF_ERROR_CANCELLED;
        size_t count = 0;
        const size_t *index = plan_batch(&run->plan, xf_trainer_step_count(run->trainer), &count);
        own_batch_fill(&run->batch, &run->train, index, count, &alphabet);
        xf_step_stats stats = XF_STEP_STATS_INIT;
        status = xf_train_step(run->trainer, &run->batch.batch, 1, &until_interrupted, &stats, err);
        if (status != XF_OK) break;
        run->sum_nll += stats.nll * (double)stats.tgt_tokens;
        run->sum_tokens += (double)stats.tgt_tokens;
        print_progress(run, &stats);
        if (snapshot_is_due(&run->snapshots, stats.step))
            status = snapshot_save(&run->snapshots, run->parser.model, stats.step, err);
        if (status == XF_OK && is_due(stats.step, run->flags.eval_every)) status = evaluate(run, err);
        if (is_due(stats.step, run->flags.save_every)) save_checkpoint(run);
    }
    return status;
}

/* Writes the average of the snapshots, or the trainer's model. Keeps the snapshots, because the run may be resumed. */
static xf_status save_model(struct parse_run *run, xf_error *err) {
    xf_model *average = NULL;
    xf_status status = snapshots_average(&run->snapshots, run->context, &average, err);
    const xf_sink sink = XF_SINK_PATH(run->flags.model);
    if (status == XF_OK) status = xf_model_save(average != NULL ? average : run->parser.model, NULL, NULL, &sink, err);
    if (status == XF_OK && average != NULL) print_average(&run->snapshots);
    xf_model_free(average);
    return status;
}

int parse_train(struct parse_run *run) {
    run->saved_step = -1;
    run->snapshots =
        (struct snapshots){.model = run->flags.model, .wanted = run->flags.average, .every = run->flags.average_every};
    int result = parse_run_open(run);
    if (result >= 0) return was_interrupted() ? EXIT_INTERRUPTED : result;
    run->started = now();
    /* Write a checkpoint before the first step, to detect a full disk or a missing folder early. */
    if (!save_checkpoint(run)) return EXIT_FAILED;
    xf_error err;
    xf_status status = train_loop(run, &err);
    const int64_t step = xf_trainer_step_count(run->trainer);
    const bool known = run->curve.count > 0 && run->curve.rows[run->curve.count - 1].step == step;
    if (status == XF_OK && !known) status = evaluate(run, &err);
    const bool saved = save_checkpoint(run);
    if (status == XF_OK && saved) status = save_model(run, &err);
    if (status == XF_OK && saved) {
        printf("wrote %s, the model of step %lld\n", run->flags.model, (long long)step);
        return EXIT_OK;
    }
    if (status == XF_ERROR_CANCELLED)
        complain("interrupted after step %lld; run the same command with --resume to continue",
                 (long long)run->saved_step);
    else if (status != XF_OK)
        fail(&err);
    return status == XF_ERROR_CANCELLED ? EXIT_INTERRUPTED : EXIT_FAILED;
}
