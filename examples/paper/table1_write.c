/*
 * table1_write.c - writes the results of `paper table1`; see table1.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "common.h"
#include "output.h"
#include "plot.h"
#include "table1.h"

static int64_t seen_pairs(const struct table1 *t, enum layer_kind kind, int64_t n) {
    if (kind == FULL || kind == ENCODER) return n * n;
    int64_t pairs = 0;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t begin = i > t->window / 2 ? i - t->window / 2 : 0;
        const int64_t end = i + t->window / 2 + 1 < n ? i + t->window / 2 + 1 : n;
        pairs += end - begin;
    }
    return pairs;
}

double layer_work(const struct table1 *t, enum layer_kind kind, int64_t n) {
    const double d = (double)t->d, square = d * d;
    if (kind == RECURRENT) return (double)(n - 1) * square;
    if (kind == CONVOLUTION) return (double)(t->kernel * n) * square;
    const double attention = 2 * (double)seen_pairs(t, kind, n) * d; /* scores, and weighted sums of values */
    const bool whole = kind == ENCODER || kind == ENCODER_RESTRICTED;
    return attention + (whole ? (double)n * (4 + 2 * 4) * square : 0);
}

int64_t layer_steps(const struct table1 *t, enum layer_kind kind, int64_t n) {
    (void)t;
    return kind == RECURRENT ? n : 1;
}

int64_t layer_path(const struct table1 *t, enum layer_kind kind, int64_t n) {
    int64_t path = 0;
    switch (kind) {
        case RECURRENT:
            return n;
        case CONVOLUTION: /* dilated: each layer reaches k times as far as the previous one */
            for (int64_t reach = 1; reach < n; reach *= t->kernel) ++path;
            return path;
        case RESTRICTED:
        case ENCODER_RESTRICTED: /* half a window per layer */
            return (n - 1 + t->window / 2 - 1) / (t->window / 2);
        default:
            return 1;
    }
}

/* The name of a layer with its parameter: "self-attention, r = 256". */
static const char *layer_name(const struct table1 *t, enum layer_kind kind, char text[64]) {
    static const char *const names[LAYER_KINDS] = {"self-attention", "self-attention, r = %lld",
                                                   "recurrent",      "convolution, k = %lld",
                                                   "encoder layer",  "encoder layer, r = %lld"};
    snprintf(text, 64, names[kind], (long long)(kind == CONVOLUTION ? t->kernel : t->window));
    return text;
}

static void add_timing(struct table *table, const struct timing *timing) {
    if (isfinite(timing->median))
        table_cell(table, "%.4g (%.4g - %.4g)", 1e3 * timing->median, 1e3 * timing->least, 1e3 * timing->most);
    else
        table_cell(table, isfinite(timing->least) ? "not measurable" : "-");
}

static void write_formulas(const struct table1 *t, FILE *file) {
    static const char *const columns[] = {"layer",     "complexity per layer",           "sequential operations",
                                          "path",      "multiply-adds at the longest n", "sequential operations there",
                                          "path there"};
    static const char *const paper[][3] = {{"O(n² d)", "O(1)", "O(1)"},
                                           {"O(r n d)", "O(1)", "O(n / r)"},
                                           {"O(n d²)", "O(n)", "O(n)"},
                                           {"O(k n d²)", "O(1)", "O(log_k n)"}};
    struct table table = {.columns = columns, .column_count = 7};
    const int64_t n = t->lengths[t->length_count - 1];
    for (int kind = 0; kind <= CONVOLUTION; ++kind) {
        char name[64];
        table_cell(&table, "%s", layer_name(t, (enum layer_kind)kind, name));
        for (int i = 0; i < 3; ++i) table_cell(&table, "%s", paper[kind][i]);
        table_cell(&table, "%.3g", layer_work(t, (enum layer_kind)kind, n));
        table_cell(&table, "%lld", (long long)layer_steps(t, (enum layer_kind)kind, n));
        table_cell(&table, "%lld", (long long)layer_path(t, (enum layer_kind)kind, n));
    }
    fprintf(file, "The first four columns are from the paper; the others are computed for n = %lld.\n\n", (long long)n);
    table_markdown(&table, file);
    table_free(&table);
}

static void write_times(const struct table1 *t, bool both, FILE *file) {
    const char *columns[1 + LAYER_KINDS] = {"n"};
    char names[LAYER_KINDS][64];
    for (int kind = 0; kind < LAYER_KINDS; ++kind)
        columns[1 + kind] = layer_name(t, (enum layer_kind)kind, names[kind]);
    struct table table = {.columns = columns, .column_count = 1 + LAYER_KINDS};
    for (size_t i = 0; i < t->length_count; ++i) {
        table_cell(&table, "%lld", (long long)t->lengths[i]);
        for (int kind = 0; kind < LAYER_KINDS; ++kind)
            add_timing(&table, both ? &t->costs[i][kind].both : &t->costs[i][kind].forward);
    }
    table_markdown(&table, file);
    table_free(&table);
}

static void add_ratio(struct table *table, double windowed, double full) {
    table_number(table, full > 0 ? windowed / full : NAN, 3);
}

/* Memory as "forward / with gradients"; 0 means not measured. */
static void add_memory(struct table *table, const struct encoder_cost *cost) {
    if (cost->both_memory > 0)
        table_cell(table, "%.1f / %.1f", (double)cost->forward_memory / 1048576, (double)cost->both_memory / 1048576);
    else
        table_cell(table, "%.1f / -", (double)cost->forward_memory / 1048576);
}

static void add_bytes(struct table *table, int64_t bytes) { table_number(table, bytes > 0 ? (double)bytes : NAN, 0); }

static void write_window(const struct table1 *t, FILE *file) {
    static const char *const columns[] = {"n",
                                          "attention, forward",
                                          "attention, with gradients",
                                          "encoder layer, forward",
                                          "encoder layer, with gradients",
                                          "full: MiB forward / with gradients",
                                          "windowed: MiB forward / with gradients"};
    struct table table = {.columns = columns, .column_count = 7};
    for (size_t i = 0; i < t->length_count; ++i) {
        const struct encoder_cost *c = t->costs[i];
        table_cell(&table, "%lld", (long long)t->lengths[i]);
        add_ratio(&table, c[RESTRICTED].forward.median, c[FULL].forward.median);
        add_ratio(&table, c[RESTRICTED].both.median, c[FULL].both.median);
        add_ratio(&table, c[ENCODER_RESTRICTED].forward.median, c[ENCODER].forward.median);
        add_ratio(&table, c[ENCODER_RESTRICTED].both.median, c[ENCODER].both.median);
        for (int kind = ENCODER; kind <= ENCODER_RESTRICTED; ++kind) add_memory(&table, &c[kind]);
    }
    table_markdown(&table, file);
    table_free(&table);
}

static bool write_md(const struct table1 *t) {
    char path[4096];
    struct output out;
    if (!join_path(path, t->folder, "table1", ".md") || !output_open(&out, path)) return false;
    fprintf(out.file,
            "# Table 1: one layer by sequence length\n\n"
            "libxformer %s, %s; the recurrent and the convolutional layer use OpenBLAS on one thread.\n"
            "d = %lld, %lld heads of %lld, r = %lld, k = %lld; one sequence of n tokens; %s, the median of %lld, "
            "and the minimum and\nmaximum.\n\n"
            "The four layers are compared as the paper counts them: attention without the projections of queries, "
            "keys, and\nvalues, the recurrent layer as n steps with one d x d matrix, and the convolution with k such "
            "matrices. An \"encoder layer\"\nis complete: attention with its four projections, a feed-forward layer of "
            "width 4 d, and two norms.\n\n"
            "The times of attention and encoder layers are differences between two models. \"Not measurable\": the "
            "difference is\nnot larger than its noise, the median absolute deviation.\n\n",
            xf_version(), t->device, (long long)t->d, (long long)t->heads, (long long)(t->d / t->heads),
            (long long)t->window, (long long)t->kernel, t->cpu_time ? "processor time" : "wall-clock time",
            (long long)t->repeats);
    write_formulas(t, out.file);
    fputs(
        "\nPath: restricted attention connects positions up to r / 2 apart, and l dilated convolutions connect "
        "positions "
        "up to\nk^l apart. Contiguous convolutions would need about 2 n / (k - 1) layers.\n\n## Forward, ms\n\n"
        "![Time of one layer by sequence length](table1.svg)\n\n",
        out.file);
    write_times(t, false, out.file);
    if (!t->forward_only) {
        fputs("\n## Forward and all gradients, ms\n\n", out.file);
        write_times(t, true, out.file);
    }
    fprintf(
        out.file,
        "\n## A window of %lld against full attention\n\nTime with the window divided by time without. Memory is the "
        "peak "
        "of all tensors of a model\nwith two encoder layers and one decoder layer, including parameters. Neither kind "
        "stores the n x n weights.\n\n",
        (long long)t->window);
    write_window(t, out.file);
    return output_close(&out);
}

static bool write_tsv(const struct table1 *t) {
    static const char *const columns[] = {"layer",          "n",
                                          "forward_ms",     "forward_min",
                                          "forward_max",    "gradients_ms",
                                          "gradients_min",  "gradients_max",
                                          "multiply_adds",  "sequential",
                                          "path",           "forward_bytes",
                                          "gradients_bytes"};
    struct table table = {.columns = columns, .column_count = 13};
    for (size_t i = 0; i < t->length_count; ++i) {
        for (int kind = 0; kind < LAYER_KINDS; ++kind) {
            const struct encoder_cost *c = &t->costs[i][kind];
            const int64_t n = t->lengths[i];
            char name[64];
            table_cell(&table, "%s", layer_name(t, (enum layer_kind)kind, name));
            table_cell(&table, "%lld", (long long)n);
            const struct timing *timings[] = {&c->forward, &c->both};
            for (int j = 0; j < 2; ++j) {
                const bool known = isfinite(timings[j]->median);
                table_number(&table, 1e3 * timings[j]->median, 5);
                table_number(&table, known ? 1e3 * timings[j]->least : NAN, 5);
                table_number(&table, known ? 1e3 * timings[j]->most : NAN, 5);
            }
            table_cell(&table, "%.0f", layer_work(t, (enum layer_kind)kind, n));
            table_cell(&table, "%lld", (long long)layer_steps(t, (enum layer_kind)kind, n));
            table_cell(&table, "%lld", (long long)layer_path(t, (enum layer_kind)kind, n));
            add_bytes(&table, c->forward_memory);
            add_bytes(&table, c->both_memory);
        }
    }
    const bool good = table_write_tsv(&table, t->folder, "table1");
    table_free(&table);
    return good;
}

static bool write_svg(const struct table1 *t) {
    double x[MAX_LENGTHS], y[LAYER_KINDS][MAX_LENGTHS];
    char names[LAYER_KINDS][64], path[4096];
    struct plot_series series[LAYER_KINDS];
    for (int kind = 0; kind <= CONVOLUTION; ++kind) {
        for (size_t i = 0; i < t->length_count; ++i) {
            x[i] = (double)t->lengths[i];
            y[kind][i] = 1e3 * t->costs[i][kind].forward.median;
        }
        series[kind] =
            (struct plot_series){layer_name(t, (enum layer_kind)kind, names[kind]), x, y[kind], t->length_count, NULL};
    }
    char subtitle[128];
    snprintf(subtitle, sizeof subtitle, "forward, d = %lld, one sequence; the median of %lld", (long long)t->d,
             (long long)t->repeats);
    const struct plot plot = {.kind = PLOT_LINES,
                              .title = "Table 1: time of one layer by sequence length",
                              .subtitle = subtitle,
                              .x_label = "n, tokens",
                              .y_label = "milliseconds",
                              .x_base = 2,
                              .y_base = 10,
                              .series = series,
                              .series_count = CONVOLUTION + 1};
    return join_path(path, t->folder, "table1", ".svg") && write_plot(path, &plot);
}

bool write_table1(const struct table1 *t) { return write_md(t) && write_tsv(t) && write_svg(t); }
