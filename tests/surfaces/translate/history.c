/*
 * history.c - the rows of a training run in examples/translate/history.c: long runs fit, sums are kept, a file reads
 * back as it was written.
 *
 *   translate_history FOLDER
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "history.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char program_name[] = "translate_history";

static int checks, failed;

static void holds(const char *what, bool good) {
    ++checks;
    if (good) return;
    ++failed;
    printf("FAILED: %s\n", what);
}

/* Step number `at` of a run whose loss is its step, over step % 7 + 1 target tokens. */
static struct history_row step_row(int64_t at) {
    return (struct history_row){.kind = "train",
                                .step = at,
                                .epoch = (double)at / 100,
                                .elapsed = (double)at / 3,
                                .loss = (double)at,
                                .learning_rate = 1 / (double)at,
                                .tgt_tokens = (double)(at % 7 + 1),
                                .tokens = 20,
                                .busy = 0.25,
                                .perplexity = -1,
                                .bleu = -1};
}

static struct history_row dev_row(int64_t step, double bleu) {
    return (struct history_row){.kind = "dev",
                                .step = step,
                                .epoch = 1,
                                .elapsed = (double)step / 3,
                                .loss = 2,
                                .learning_rate = -1,
                                .tgt_tokens = -1,
                                .tokens = -1,
                                .busy = -1,
                                .perplexity = INFINITY,
                                .bleu = bleu};
}

static void add_steps(struct history *history, int64_t first, int64_t last) {
    for (int64_t at = first; at <= last; ++at) {
        const struct history_row row = step_row(at);
        history_step(history, &row);
        if (history->steps.count > MOST_STEP_ROWS) holds("no more rows than there is room for", false);
    }
}

static void check_sums(const struct history *history, int64_t last) {
    double losses = 0, tgt_tokens = 0, tokens = 0, busy = 0, all_losses = 0, all_tgt_tokens = 0;
    int64_t before = 0;
    bool rising = true;
    for (int64_t at = 1; at <= last; ++at) {
        const struct history_row row = step_row(at);
        all_losses += row.loss * row.tgt_tokens;
        all_tgt_tokens += row.tgt_tokens;
    }
    for (size_t i = 0; i < history->steps.count; ++i) {
        const struct history_row *row = &history->steps.rows[i];
        losses += row->loss * row->tgt_tokens;
        tgt_tokens += row->tgt_tokens;
        tokens += row->tokens;
        busy += row->busy;
        rising = rising && row->step > before && fabs(row->learning_rate * (double)row->step - 1) < 1e-9;
        before = row->step;
    }
    holds("steps rise, and a row has the rate of its last", rising);
    holds("the last row ends with the last step", before == last);
    holds("no target token is lost", tgt_tokens == all_tgt_tokens);
    holds("no token is lost", tokens == 20 * (double)last);
    holds("no time is lost", fabs(busy - 0.25 * (double)last) < 1e-6);
    holds("losses are means over target tokens", fabs(losses / all_losses - 1) < 1e-9);
}

static bool same_rows(const struct history_rows *a, const struct history_rows *b) {
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; ++i) {
        const struct history_row *x = &a->rows[i], *y = &b->rows[i];
        if (strcmp(x->kind, y->kind) != 0 || x->step != y->step || x->bleu != y->bleu ||
            x->perplexity != y->perplexity || fabs(x->loss - y->loss) > 1e-9 * fabs(x->loss) || x->busy != y->busy)
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/history.tsv", argv[1]);
    remove(path);

    struct history history = {0}, back = {0}, half = {0};
    add_steps(&history, 1, 1000);
    holds("1,000 steps have a row each", history.steps.count == 1000);
    check_sums(&history, 1000);
    add_steps(&history, 1001, 25003);
    holds("25,003 steps have 391 to 1,000 rows", history.steps.count > 390 && history.steps.count <= MOST_STEP_ROWS);
    check_sums(&history, 25003);
    const struct history_row evaluations[] = {dev_row(10000, 12.5), dev_row(20000, -1)};
    for (int i = 0; i < 2; ++i) history_evaluation(&history, &evaluations[i]);

    holds("a file that is not there is no history", history_read(&back, path, 25003) == -1 && back.steps.count == 0);
    holds("a file is written", history_write(&history, path) == -1);
    holds("it is read", history_read(&back, path, 25003) == -1);
    holds("steps read back", same_rows(&history.steps, &back.steps));
    holds("evaluations read back", same_rows(&history.evaluations, &back.evaluations));
    holds("the time reads back", fabs(history_elapsed(&back) - 25003.0 / 3) < 1e-6);

    /* A run that was resumed at step 15,000. */
    holds("the first part is read", history_read(&half, path, 15000) == -1);
    holds("rows after it are not", half.steps.rows[half.steps.count - 1].step <= 15000 && half.evaluations.count == 1);
    const int64_t next = half.steps.rows[half.steps.count - 1].step + 1;
    const size_t rows = half.steps.count;
    add_steps(&half, next, next);
    holds("a resumed run begins a row", half.steps.count == rows + 1);
    add_steps(&half, next + 1, 1000000);
    check_sums(&half, 1000000);
    holds("a million steps have 489 rows at least", half.steps.count >= 489);

    holds("a folder is no history", history_read(&back, argv[1], 1) != -1);
    history_free(&history);
    history_free(&back);
    history_free(&half);
    printf("%d checks, %d failed\n", checks, failed);
    return failed > 0 || checks < 25;
}
