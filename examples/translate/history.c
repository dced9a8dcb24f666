/*
 * history.c - the history of a training run and its file; see history.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "files.h"
#include "system.h"

enum { NUMBERS = 9, LONGEST_ROW = 512 };

static const char header[] =
    "kind\tstep\tepoch\telapsed\tloss\tlearning_rate\ttarget_tokens\ttokens\tbusy\tperplexity\tbleu\n";

/* Sets `numbers` to the members of a row that follow its step, in the order of the columns. */
static void numbers_of(struct history_row *row, double *numbers[NUMBERS]) {
    double *const all[NUMBERS] = {&row->epoch,  &row->elapsed, &row->loss,       &row->learning_rate, &row->tgt_tokens,
                                  &row->tokens, &row->busy,    &row->perplexity, &row->bleu};
    memcpy(numbers, all, sizeof all);
}

static struct history_row *add_row(struct history_rows *list, const struct history_row *row) {
    list->rows = with_room(list->rows, list->count, &list->capacity, sizeof *list->rows);
    list->rows[list->count] = *row;
    return &list->rows[list->count++];
}

/* Merges the next row into a row. */
static void join(struct history_row *row, const struct history_row *next) {
    const double sum = row->loss * row->tgt_tokens + next->loss * next->tgt_tokens;
    const double tgt_tokens = row->tgt_tokens + next->tgt_tokens, tokens = row->tokens + next->tokens;
    const double busy = row->busy + next->busy;
    *row = *next;
    row->loss = tgt_tokens > 0 ? sum / tgt_tokens : next->loss;
    row->tgt_tokens = tgt_tokens;
    row->tokens = tokens;
    row->busy = busy;
}

static void halve(struct history_rows *steps) {
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i += 2, ++kept) {
        steps->rows[kept] = steps->rows[i];
        if (i + 1 < steps->count) join(&steps->rows[kept], &steps->rows[i + 1]);
    }
    steps->count = kept;
}

void history_step(struct history *history, const struct history_row *step) {
    struct history_rows *steps = &history->steps;
    int64_t width = 1; /* steps per row, such that a run of this length fits */
    while (width * MOST_STEP_ROWS < step->step) width *= 2;
    if (history->open && (step->step - 1) % width != 0) {
        join(&steps->rows[steps->count - 1], step);
        return;
    }
    if (steps->count >= MOST_STEP_ROWS) halve(steps);
    add_row(steps, step);
    history->open = true;
}

void history_evaluation(struct history *history, const struct history_row *row) { add_row(&history->evaluations, row); }

/* Parses "kind TAB step TAB ..." and modifies the line. Returns the number of valid columns before the first invalid.
 */
static int parse_row(char *line, struct history_row *row) {
    double *numbers[NUMBERS];
    numbers_of(row, numbers);
    char *rest = line;
    for (int column = 0; column < 2 + NUMBERS; ++column) {
        char *text = rest, *end = NULL;
        const size_t length = strcspn(text, "\t\n");
        const bool last = column == 1 + NUMBERS;
        if (text[length] != (last ? '\n' : '\t') || length == 0) return column;
        text[length] = '\0';
        rest = text + length + 1;
        if (column == 0) {
            if (length >= sizeof row->kind) return column;
            memcpy(row->kind, text, length + 1);
        } else if (column == 1) {
            row->step = strtoll(text, &end, 10);
        } else if (strcmp(text, "-") == 0) {
            *numbers[column - 2] = -1;
        } else {
            *numbers[column - 2] = strtod(text, &end);
        }
        if (end != NULL && *end != '\0') return column;
    }
    return 2 + NUMBERS;
}

/* Checks the first line of a file. */
static int check_header(const char *path, const char *line) {
    if (strcmp(line, header) == 0) return -1;
    const size_t length = strcspn(line, "\n");
    complain("%s is not the history of a training run: its first line is '%.*s', expected '%.40s ...'", path,
             length < 40 ? (int)length : 40, line, header);
    return EXIT_FAILED;
}

int history_check(const char *path) {
    char line[LONGEST_ROW];
    FILE *file = fopen(path, "rb");
    if (file == NULL) return -1; /* if it exists, writing it will report the error */
    const int status = fgets(line, sizeof line, file) != NULL ? check_header(path, line) : -1;
    fclose(file);
    return status;
}

int history_read(struct history *history, const char *path, int64_t last_step) {
    FILE *file = fopen(path, "rb");
    if (file == NULL && errno == ENOENT) return -1;
    if (file == NULL) {
        complain("can't read %s: %s", path, strerror(errno));
        return EXIT_FAILED;
    }
    char line[LONGEST_ROW];
    int status = -1;
    for (long number = 1; status < 0 && fgets(line, sizeof line, file) != NULL; ++number) {
        struct history_row row = {0};
        if (number == 1) {
            status = check_header(path, line);
            continue;
        }
        const int good = parse_row(line, &row);
        if (good < 2 + NUMBERS) {
            complain("%s line %ld: %d valid columns, expected %d", path, number, good, 2 + NUMBERS);
            status = EXIT_FAILED;
        } else if (row.step <= last_step) {
            add_row(strcmp(row.kind, "train") == 0 ? &history->steps : &history->evaluations, &row);
        }
    }
    if (status < 0 && ferror(file)) {
        complain("reading %s failed", path);
        status = EXIT_FAILED;
    }
    fclose(file);
    return status;
}

static void put_row(FILE *file, struct history_row row) {
    double *numbers[NUMBERS];
    numbers_of(&row, numbers);
    fprintf(file, "%s\t%lld", row.kind, (long long)row.step);
    for (int i = 0; i < NUMBERS; ++i) {
        if (*numbers[i] < 0)
            fputs("\t-", file);
        else
            fprintf(file, "\t%.12g", *numbers[i]);
    }
    putc('\n', file);
}

/* Writes all rows in the order of their steps. */
static bool put_history(FILE *file, const void *user) {
    const struct history *history = user;
    const struct history_rows *steps = &history->steps, *evaluations = &history->evaluations;
    fputs(header, file);
    size_t next = 0;
    for (size_t i = 0; i < evaluations->count; ++i) {
        while (next < steps->count && steps->rows[next].step <= evaluations->rows[i].step)
            put_row(file, steps->rows[next++]);
        put_row(file, evaluations->rows[i]);
    }
    while (next < steps->count) put_row(file, steps->rows[next++]);
    return true;
}

int history_write(const struct history *history, const char *path) { return replace_file(path, put_history, history); }

double history_elapsed(const struct history *history) {
    double elapsed = 0;
    const struct history_rows *lists[] = {&history->steps, &history->evaluations};
    for (int i = 0; i < 2; ++i)
        if (lists[i]->count > 0 && lists[i]->rows[lists[i]->count - 1].elapsed > elapsed)
            elapsed = lists[i]->rows[lists[i]->count - 1].elapsed;
    return elapsed;
}

void history_free(struct history *history) {
    free(history->steps.rows);
    free(history->evaluations.rows);
    memset(history, 0, sizeof *history);
}
