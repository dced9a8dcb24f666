/*
 * train_report.c - the output of a training run: the progress line and a line for every evaluation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "signals.h"

double epoch_of(const struct run *run) {
    xf_batcher_stats stats = {.struct_size = sizeof stats};
    if (xf_batcher_get_stats(run->batcher, &stats, NULL) != XF_OK || stats.batches == 0) return 0;
    return (double)stats.epoch + (double)stats.batch / (double)stats.batches;
}

void print_run(const struct run *run) {
    xf_batcher_stats stats = {.struct_size = sizeof stats};
    if (xf_batcher_get_stats(run->batcher, &stats, NULL) == XF_OK) {
        printf("%-12s %lld pairs in %lld batches, %lld source and %lld target tokens\n", "epoch",
               (long long)stats.pairs, (long long)stats.batches, (long long)stats.src_tokens,
               (long long)stats.tgt_tokens);
    }
    print_ranks(run);
    printf("%-12s %lld parameters\n", "model", (long long)parameter_count(xf_trainer_model(run->trainer)));
    if (run->flags.resume != NULL)
        printf("%-12s %s, after step %lld\n", "resumed", run->flags.resume,
               (long long)xf_trainer_step_count(run->trainer));
    check_output();
}

void print_start(struct run *run) {
    char limit[24] = "";
    if (run->flags.quiet) return;
    if (run->flags.steps > 0) snprintf(limit, sizeof limit, "/%lld", (long long)run->flags.steps);
    printf("step %lld%s epoch %.2f", (long long)xf_trainer_step_count(run->trainer), limit, epoch_of(run));
    if (!run->terminal) fputc('\n', stdout);
    set_unfinished_line(run->terminal);
    check_output();
}

void count_step(struct run *run, const xf_step_stats *stats, double seconds) {
    const double fade = 0.98;
    run->recent_loss = fade * run->recent_loss + stats->loss * (double)stats->tgt_tokens;
    run->recent_tgt_tokens = fade * run->recent_tgt_tokens + (double)stats->tgt_tokens;
    run->recent_tokens = fade * run->recent_tokens + (double)(stats->src_tokens + stats->tgt_tokens);
    run->recent_seconds = fade * run->recent_seconds + seconds;
}

/*
 * Estimates the seconds to the end of the run, which is set by its steps or minutes, whichever ends first. --patience
 * may end it earlier.
 */
static double seconds_left(const struct run *run, int64_t step) {
    const double elapsed = now() - run->started;
    double left = run->flags.minutes > 0 ? 60 * run->flags.minutes - elapsed : 1e30;
    if (run->flags.steps > 0 && step > run->first_step) {
        const double a_step = elapsed / (double)(step - run->first_step);
        const double by_steps = a_step * (double)(run->flags.steps - step);
        if (by_steps < left) left = by_steps;
    }
    return left;
}

void print_progress(struct run *run, const xf_step_stats *stats) {
    const double at = now();
    if (run->flags.quiet || at - run->last_line < (run->terminal ? 0.2 : 5)) return;
    run->last_line = at;
    char elapsed[24], left[24], limit[24] = "";
    if (run->flags.steps > 0) snprintf(limit, sizeof limit, "/%lld", (long long)run->flags.steps);
    if (run->terminal) fputs("\r\033[K", stdout);
    printf("step %lld%s epoch %.2f loss %.3f lr %.1e %.0f tok/s %s %s %s", (long long)stats->step, limit, epoch_of(run),
           run->recent_loss / run->recent_tgt_tokens, stats->learning_rate, run->recent_tokens / run->recent_seconds,
           clock_text(elapsed, at - run->started), run->flags.patience > 0 ? "at most" : "ETA",
           clock_text(left, seconds_left(run, stats->step)));
    if (!run->terminal) fputc('\n', stdout);
    set_unfinished_line(run->terminal);
    check_output();
}

static void keep_row(struct run *run, const struct dev_row *row) {
    if (run->row_count == run->row_capacity) {
        const size_t capacity = run->row_capacity > 0 ? 2 * run->row_capacity : 64;
        struct dev_row *rows = allocate(capacity * sizeof *rows);
        if (run->row_count > 0) memcpy(rows, run->rows, run->row_count * sizeof *rows);
        free(run->rows);
        run->rows = rows;
        run->row_capacity = capacity;
    }
    run->rows[run->row_count++] = *row;
}

/* Translates the dev sentences, or with several ranks a part of them on each rank. */
static xf_status translate_dev(struct run *run, xf_decoder *decoder, bool divided, struct translations *out,
                               xf_error *err) {
    const struct sentences *all = &run->dev_sources;
    if (!divided) return translate_best(decoder, all, out, err);
    const size_t ranks = (size_t)run->ranks, rank = (size_t)run->rank;
    const size_t begin = all->count * rank / ranks, end = all->count * (rank + 1) / ranks;
    const struct sentences part = {all->texts + begin, all->lengths + begin, end - begin, 0};
    xf_status status = agree(run, translate_best(decoder, &part, out, err), err);
    if (status == XF_OK) status = share_sentences(run, &out->texts, err);
    return status;
}

xf_status evaluate_dev(struct run *run, const xf_model *model, int64_t step, const char *label, xf_error *err) {
    if (run->dev_batcher == NULL) return XF_OK;
    bool divided = false;
    xf_status status = find_same(run, step, &divided, err); /* after an error, ranks may have different models */
    if (status != XF_OK) return status;
    const int64_t now_at = xf_trainer_step_count(run->trainer);
    xf_decoder *decoder = NULL;
    xf_config *greedy = NULL;
    struct translations answers = {0};
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    xf_bleu_score bleu = {.struct_size = sizeof bleu, .score = -1};
    status = xf_config_copy(run->config, &greedy, err);
    if (status == XF_OK) status = xf_config_set_number(greedy, "decode.beam", 1, err);
    if (status == XF_OK) status = xf_config_set_number(greedy, "decode.divide_evaluation", divided, err);
    if (status == XF_OK) status = xf_decoder_create(model, NULL, greedy, &decoder, err);
    if (divided) status = agree(run, status, err); /* an evaluation is a collective call */
    if (status == XF_OK) status = xf_evaluate(decoder, run->dev_batcher, &until_interrupted, &stats, err);
    if (divided) status = agree(run, status, err);
    if (status == XF_OK && run->dev_sources.count > 0) {
        status = translate_dev(run, decoder, divided, &answers, err);
        if (status == XF_OK)
            status =
                xf_bleu((const char *const *)answers.texts.texts, NULL, (const char *const *)run->dev_references.texts,
                        NULL, run->dev_sources.count, XF_BLEU_13A, &bleu, err);
    }
    if (status == XF_OK) {
        struct dev_row row = {label,
                              step,
                              now_at > 0 ? epoch_of(run) * (double)step / (double)now_at : 0,
                              stats.loss,
                              stats.perplexity,
                              bleu.score,
                              now() - run->started};
        keep_row(run, &row);
        run->last_bleu = bleu;
        char elapsed[24];
        if (run->terminal && !run->flags.quiet) fputs("\r\033[K", stdout);
        set_unfinished_line(false);
        printf("%-8s step %lld  dev loss %.4f  dev perplexity %.2f", label, (long long)row.step, row.loss,
               row.perplexity);
        if (row.bleu >= 0) printf("  dev BLEU %.2f", row.bleu);
        printf("  %s\n", clock_text(elapsed, row.seconds));
        check_output();
    }
    sentences_free(&answers.texts);
    xf_decoder_free(decoder);
    xf_config_free(greedy);
    return status;
}

bool is_best_by_bleu(const struct run *run) { return strcmp(run->flags.best, "bleu") == 0; }

double last_dev_cost(const struct run *run) {
    if (run->row_count == 0) return -1;
    const struct dev_row *row = &run->rows[run->row_count - 1];
    return is_best_by_bleu(run) ? 100 - row->bleu : row->loss;
}

void print_rows(const struct run *run) {
    if (run->row_count == 0) return;
    printf("\n%10s %8s %10s %12s %10s %10s\n", "step", "epoch", "dev loss", "perplexity", "BLEU", "time");
    for (size_t i = 0; i < run->row_count; ++i) {
        const struct dev_row *row = &run->rows[i];
        char elapsed[24];
        printf("%10lld %8.2f %10.4f %12.2f ", (long long)row->step, row->epoch, row->loss, row->perplexity);
        if (row->bleu >= 0)
            printf("%10.2f", row->bleu);
        else
            printf("%10s", "-");
        printf(" %10s%s%s\n", clock_text(elapsed, row->seconds), strcmp(row->label, "dev") == 0 ? "" : "  ",
               strcmp(row->label, "dev") == 0 ? "" : row->label);
    }
    print_bleu_hint(&run->last_bleu);
    printf("\n");
}
