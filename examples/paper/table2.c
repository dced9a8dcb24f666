/*
 * table2.c - `paper table2`: BLEU and training cost of the base and the big model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "commands.h"
#include "experiment.h"
#include "layers.h"
#include "output.h"
#include "plot.h"

static const struct {
    const char *name, *title;
    double bleu, flops; /* en-de newstest2014; time x GPUs x sustained FLOP/s */
} paper[] = {{"base", "Transformer (base model)", 27.3, 3.3e18}, {"big", "Transformer (big)", 28.4, 2.3e19}};
enum { MODELS = sizeof paper / sizeof paper[0], MAX_OTHERS = 8 };

/* Models that were trained otherwise: the rows of --models. */
static struct {
    const char *path;
    struct result rows[MAX_OTHERS];
    size_t count;
} others;

static bool is_other(const char *name) { return find_row(name) == NULL; }

static int read_others(void) {
    if (others.path == NULL) return -1;
    FILE *file = fopen(others.path, "rb");
    if (file == NULL) {
        complain("cannot open '%s': %s", others.path, strerror(errno));
        return EXIT_FAILED;
    }
    int status = read_results(file, others.path, is_other, others.rows, MAX_OTHERS, &others.count);
    fclose(file);
    if (status < 0 && others.count == 0) {
        complain("'%s' contains no rows of results", others.path);
        status = EXIT_FAILED;
    }
    return status;
}

/*
 * The operations of the paper's training, counted with pair_flops(): steps of 25,000 source and 25,000 target tokens in
 * sentences of 25 tokens, with a vocabulary of 37,000.
 */
static double counted_for_paper(const struct paper_row *row) {
    const int64_t sentence = 25, tokens = 25000;
    xf_config *config = NULL;
    double flops = NAN;
    if (xf_config_create(&config, NULL) == XF_OK && set_row(config, row->name, 1) < 0) {
        const struct model_size size = size_of(config, 37000);
        flops = pair_flops(&size, sentence, sentence) * (double)(tokens / sentence) * 1000.0 * row->steps;
    }
    xf_config_free(config);
    return flops;
}

static void add_power(struct table *table, double number) {
    if (isfinite(number))
        table_cell(table, "%.2e", number);
    else
        table_cell(table, "-");
}

/* The cells from the steps to the second cost. */
static void add_result_cells(const struct result *r, double speed, struct table *table) {
    table_number(table, r != NULL ? (double)r->steps : NAN, 0);
    table_number(table, r != NULL ? (double)r->parameters / 1e6 : NAN, 2);
    table_number(table, r != NULL ? r->perplexity : NAN, 2);
    table_number(table, r != NULL ? r->bleu : NAN, 2);
    add_power(table, r != NULL ? r->flops : NAN);
    table_number(table, r != NULL ? r->seconds : NAN, 0);
    add_power(table, r != NULL ? r->seconds * speed : NAN);
}

static void fill_table(const struct experiment *e, double speed, struct table *table) {
    for (int i = 0; i < MODELS; ++i) {
        table_cell(table, "%s", paper[i].title);
        add_result_cells(find_result(e, paper[i].name), speed, table);
        table_number(table, paper[i].bleu, 1);
        add_power(table, paper[i].flops);
        add_power(table, counted_for_paper(find_row(paper[i].name)));
    }
    for (size_t i = 0; i < others.count; ++i) {
        table_cell(table, "%s", others.rows[i].name);
        add_result_cells(&others.rows[i], NAN, table); /* the speed of their hardware is not known */
        for (int k = 0; k < 3; ++k) table_cell(table, "-");
    }
}

static bool write_tables(const struct experiment *e, double speed, bool given) {
    static const char *const columns[] = {"model",
                                          "steps",
                                          "params M",
                                          "PPL",
                                          "BLEU",
                                          "FLOPs counted",
                                          "seconds",
                                          "FLOPs by time x speed",
                                          "paper BLEU",
                                          "paper FLOPs",
                                          "paper's training, counted"};
    struct table table = {.columns = columns, .column_count = 11};
    const struct paper_row *base = find_row("base"), *big = find_row("big");
    char path[4096];
    struct output out;
    fill_table(e, speed, &table);
    bool good = join_path(path, e->folder, "table2", ".md") && output_open(&out, path);
    if (good) {
        fputs("# Table 2: BLEU and training cost\n\n", out.file);
        describe_experiment(e, out.file);
        fprintf(
            out.file,
            "The base model is the average of its last %lld snapshots, taken every %lld steps; the big model, of its "
            "last "
            "%lld, taken\nevery %lld%s.\n\n"
            "**Cost, by two methods.** Counted: for a pair of s source and t target tokens, in multiply-adds,\n\n"
            "    encoder     N (s (2 d h (d_k + d_v) + 2 d d_ff) + s² h (d_k + d_v))\n"
            "    decoder     N (t (3 d h (d_k + d_v) + 2 d d_ff) + s d h (d_k + d_v) + (t (t + 1) / 2 + s t) h (d_k + "
            "d_v))\n"
            "    projection  t d V\n\n"
            "times 2 for a multiply and an add, times 3 for the forward product and two backward products, summed over "
            "all "
            "batches.\nThe paper's method: training time, times the sustained speed of the hardware, ",
            (long long)snapshots_averaged(base), (long long)snapshot_steps(e, base), (long long)snapshots_averaged(big),
            (long long)snapshot_steps(e, big),
            e->steps > 0 ? "; the big model has three times the steps, as in the paper" : "");
        if (isfinite(speed))
            fprintf(out.file, "here %.1f GFLOP/s (%s).\n\n", speed / 1e9,
                    given ? "--sustained"
                          : "a product of 1024 x 1024 matrices on one thread,\ntimes the number of threads");
        else
            fputs("not available:\non a device other than a CPU it requires --sustained.\n\n", out.file);
        if (others.count > 0)
            fprintf(out.file,
                    "The rows after the big model are from %s: models of other sizes that were trained with other\n"
                    "data and on other hardware. Their operations are counted by the same formula. Their BLEU is that "
                    "of\ntheir own test sets, so it cannot be compared with the other rows.\n\n",
                    base_name(others.path));
        table_markdown(&table, out.file);
        fputs("\n![BLEU by training cost](table2.svg)\n", out.file);
        good = output_close(&out);
    }
    good = good && table_write_tsv(&table, e->folder, "table2");
    table_free(&table);
    return good;
}

static bool draw(const struct experiment *e) {
    static const char *const labels[] = {"base", "big"};
    double x[2][MODELS], y[2][MODELS], other_x[MAX_OTHERS], other_y[MAX_OTHERS];
    const char *other_labels[MAX_OTHERS];
    char path[4096], subtitle[160];
    for (size_t i = 0; i < others.count; ++i) {
        other_x[i] = others.rows[i].flops;
        other_y[i] = others.rows[i].bleu;
        other_labels[i] = others.rows[i].name;
    }
    for (int i = 0; i < MODELS; ++i) {
        const struct result *r = find_result(e, paper[i].name);
        x[0][i] = r != NULL ? r->flops : NAN;
        y[0][i] = r != NULL ? r->bleu : NAN;
        x[1][i] = paper[i].flops;
        y[1][i] = paper[i].bleu;
    }
    const struct plot_series series[] = {{"here, counted", x[0], y[0], MODELS, labels},
                                         {"the paper", x[1], y[1], MODELS, labels},
                                         {"other models", other_x, other_y, others.count, other_labels}};
    snprintf(subtitle, sizeof subtitle, "here: widths / %lld, %lld training pairs; the test sets differ",
             (long long)e->scale, (long long)xf_corpus_pair_count(e->train));
    const struct plot plot = {.kind = PLOT_POINTS,
                              .title = "Table 2: BLEU by training cost",
                              .subtitle = subtitle,
                              .x_label = "floating-point operations of training",
                              .y_label = "BLEU",
                              .x_base = 10,
                              .series = series,
                              .series_count = others.count > 0 ? 3 : 2};
    return join_path(path, e->folder, "table2", ".svg") && write_plot(path, &plot);
}

/* The FLOP/s that all threads can sustain: the given value, or measured on a CPU, or NaN. */
static double sustained(const struct experiment *e, double given) {
    const char *device = device_of(e->context);
    if (given > 0) return 1e9 * given;
    return strstr(device, " on cpu") != NULL ? product_speed() * device_threads(device) : NAN;
}

static bool write_all(const struct experiment *e, double speed, bool given) {
    return write_tables(e, speed, given) && draw(e);
}

static int run_table2(struct experiment *e, double given) {
    int status = read_others();
    if (status < 0) status = experiment_open(e);
    double speed = status < 0 ? sustained(e, given) : NAN;
    for (int i = 0; i < MODELS && status < 0; ++i) {
        if (find_result(e, paper[i].name) != NULL || !is_wanted(e, paper[i].name)) continue;
        status = train_row(e, find_row(paper[i].name));
        /* Write after each row, because the big model takes long and may be stopped. */
        if (status < 0 && !write_all(e, speed, given > 0)) status = EXIT_FAILED;
    }
    if (status < 0) status = write_all(e, speed, given > 0) ? EXIT_OK : EXIT_FAILED;
    if (status == EXIT_OK) printf("wrote %s/table2.md, table2.tsv, and table2.svg\n", e->folder);
    experiment_close(e);
    return status;
}

int table2_command(int argc, char **argv) {
    static struct experiment e;
    struct flag flags[EXPERIMENT_FLAGS + 3];
    double given = 0;
    experiment_defaults(&e);
    e.folder = "table2";
    e.averages = true;
    for (int i = 0; i < MODELS; ++i) e.choices[e.choice_count++] = paper[i].name;
    experiment_flags(&e, flags);
    flags[EXPERIMENT_FLAGS] =
        (struct flag){"test", FLAG_TEXT,  &e.held_path,
                      NULL,   "FILE.tsv", "Test pairs. Default: the 349 pairs in examples/translate/data."};
    flags[EXPERIMENT_FLAGS + 1] = (struct flag){
        "sustained",
        FLAG_NUMBER,
        &given,
        NULL,
        "GFLOPS",
        "Sustained speed of the hardware in GFLOP/s, for the paper's cost estimate. Default: measured on a CPU."};
    flags[EXPERIMENT_FLAGS + 2] = (struct flag){"models",
                                                FLAG_TEXT,
                                                &others.path,
                                                NULL,
                                                "FILE.tsv",
                                                "Results of other models to show beside them, with the columns of "
                                                "results.tsv, such as docs/models/results.tsv."};
    struct command_line line = {
        .usage = "table2 [options]",
        .about =
            "Trains the base and the big model and reports BLEU and training cost. The same command resumes a run that "
            "was stopped. Rows: base, big.",
        .groups = experiment_groups,
        .flags = flags,
        .flag_count = EXPERIMENT_FLAGS + 3};
    e.line = &line;
    const int status = read_command_line(&line, argc - 2, argv + 2);
    return status >= 0 ? status : run_table2(&e, given);
}
