/*
 * curve.c - reads and writes the training curve M.xf.curve.tsv; see parse_train.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "files.h"
#include "lines.h"
#include "parse_train.h"

static const char header[] = "step\tepoch\ttrain_nll\tdev_nll\trecall\tprecision\tf1\tcomplete\tseconds";

static void curve_name(const char *model, char name[PATH_SIZE]) {
    snprintf(name, PATH_SIZE, "%.4000s.curve.tsv", model);
}

void curve_add(struct curve *curve, const struct curve_row *row) {
    curve->rows = with_room(curve->rows, curve->count, &curve->capacity, sizeof *curve->rows);
    curve->rows[curve->count++] = *row;
}

void curve_free(struct curve *curve) {
    free(curve->rows);
    memset(curve, 0, sizeof *curve);
}

static bool read_row(const char *text, size_t length, struct curve_row *row) {
    char line[512];
    long long step = 0;
    int end = 0;
    if (length >= sizeof line) return false;
    memcpy(line, text, length);
    line[length] = '\0';
    const int found =
        sscanf(line, "%lld\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf%n", &step, &row->epoch, &row->train_nll,
               &row->dev_nll, &row->recall, &row->precision, &row->f1, &row->complete, &row->seconds, &end);
    row->step = step;
    return found == 9 && (size_t)end == length;
}

bool curve_read(struct curve *curve, const char *model, int64_t last_step) {
    char name[PATH_SIZE];
    curve_name(model, name);
    struct line_reader reader = {.fd = open(name, O_RDONLY | O_CLOEXEC)};
    if (reader.fd < 0 && errno == ENOENT) return true; /* stopped before the first evaluation */
    if (reader.fd < 0) {
        complain("cannot open %s: %s", name, strerror(errno));
        return false;
    }
    const char *text;
    size_t length, line = 0;
    bool good = true;
    for (enum line_status status; good && (status = next_line(&reader, true, &text, &length)) != LINE_END; ++line) {
        struct curve_row row;
        good = status == LINE_OK;
        if (good && line == 0)
            good = length == strlen(header) && memcmp(text, header, length) == 0;
        else if (good && (good = read_row(text, length, &row))) {
            curve->seconds = row.seconds;
            if (row.step <= last_step && !isnan(row.dev_nll)) curve_add(curve, &row);
        }
    }
    close(reader.fd);
    close_lines(&reader);
    if (!good) complain("%s, line %zu: unexpected contents, expected %s", name, line, line == 1 ? header : "9 numbers");
    return good;
}

static void add_row(struct sentences *lines, const struct curve_row *row) {
    char line[512];
    const int length = snprintf(line, sizeof line, "%lld\t%.3f\t%.5f\t%.5f\t%.3f\t%.3f\t%.3f\t%.2f\t%.1f",
                                (long long)row->step, row->epoch, row->train_nll, row->dev_nll, row->recall,
                                row->precision, row->f1, row->complete, row->seconds);
    sentences_add(lines, line, (size_t)length);
}

bool curve_write(const struct curve *curve, const char *model, int64_t step, double seconds) {
    char name[PATH_SIZE];
    struct sentences lines = {0};
    sentences_add(&lines, header, strlen(header));
    for (size_t i = 0; i < curve->count; ++i) add_row(&lines, &curve->rows[i]);
    const struct curve_row stop = {step, NAN, NAN, NAN, NAN, NAN, NAN, NAN, seconds};
    if (curve->count == 0 || curve->rows[curve->count - 1].step != step) add_row(&lines, &stop);
    curve_name(model, name);
    const int status = write_sentences(name, &lines);
    sentences_free(&lines);
    return status < 0;
}
