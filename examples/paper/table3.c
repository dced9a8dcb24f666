/*
 * table3.c - `paper table3`: trains and measures all variations of the model in Table 3.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "commands.h"
#include "experiment.h"
#include "output.h"
#include "plot.h"

static const double paper_vocabulary = 37000;

/* The number of parameters of a row at full size, in millions. */
static double full_parameters(const struct paper_row *row) {
    xf_config *config = NULL;
    double count = NAN;
    if (xf_config_create(&config, NULL) == XF_OK && set_row(config, row->name, 1) < 0) {
        const struct model_size size = size_of(config, (int64_t)paper_vocabulary);
        count = (double)count_parameters(&size) / 1e6;
    }
    xf_config_free(config);
    return count;
}

static void add_sizes(const struct experiment *e, const struct paper_row *row, struct table *table) {
    xf_config *config = NULL;
    double dropout = NAN, smoothing = NAN;
    if (xf_config_create(&config, NULL) != XF_OK || set_row(config, row->name, e->scale) >= 0) {
        for (int i = 0; i < 8; ++i) table_cell(table, "-");
    } else {
        const struct model_size z = size_of(config, 0);
        const int64_t sizes[] = {z.encoder_layers, z.d_model, z.d_ff, z.heads, z.d_k, z.d_v};
        for (int i = 0; i < 6; ++i) table_cell(table, "%lld", (long long)sizes[i]);
        xf_config_get_number(config, "train.dropout", &dropout, NULL);
        xf_config_get_number(config, "train.label_smoothing", &smoothing, NULL);
        table_number(table, dropout, 1);
        table_number(table, smoothing, 1);
    }
    xf_config_free(config);
}

static void fill_table(const struct experiment *e, struct table *table) {
    for (int i = 0; i < PAPER_ROWS; ++i) {
        const struct paper_row *row = &paper_rows[i];
        const struct result *r = find_result(e, row->name);
        table_cell(table, "%s", row->name);
        add_sizes(e, row, table);
        table_number(table, r != NULL ? (double)r->steps : NAN, 0);
        table_number(table, r != NULL ? r->perplexity : NAN, 2);
        table_number(table, r != NULL ? r->bleu : NAN, 2);
        table_number(table, r != NULL ? (double)r->parameters / 1e6 : NAN, 2);
        table_number(table, row->perplexity, 2);
        table_number(table, row->bleu, 1);
        table_number(table, row->parameters > 0 ? row->parameters : NAN, 0);
        table_number(table, full_parameters(row), 1);
        table_number(table, r != NULL ? r->seconds : NAN, 0);
    }
}

static bool write_tables(const struct experiment *e) {
    static const char *const columns[] = {"row",
                                          "N",
                                          "d_model",
                                          "d_ff",
                                          "h",
                                          "d_k",
                                          "d_v",
                                          "P_drop",
                                          "eps_ls",
                                          "steps",
                                          "PPL",
                                          "BLEU",
                                          "params M",
                                          "paper PPL",
                                          "paper BLEU",
                                          "paper params M",
                                          "params M at V 37000",
                                          "seconds"};
    struct table table = {.columns = columns, .column_count = 18};
    char path[4096];
    struct output out;
    fill_table(e, &table);
    bool good = join_path(path, e->folder, "table3", ".md") && output_open(&out, path);
    if (good) {
        fputs("# Table 3: variations on the Transformer\n\n", out.file);
        describe_experiment(e, out.file);
        fprintf(out.file,
                "\nThe \"paper\" columns are from the paper's Table 3 (newstest2013, d_model 512), so data and size "
                "differ. "
                "Compare the\ndifferences to the base row, not the absolute numbers. Checkpoints are not averaged. "
                "\"-\": not trained%s.\n\n",
                e->result_count < PAPER_ROWS ? " yet" : "");
        table_markdown(&table, out.file);
        fputs("\n![Perplexity against the base model](table3.svg)\n\n![BLEU against the base model](table3.bleu.svg)\n",
              out.file);
        good = output_close(&out);
    }
    good = good && table_write_tsv(&table, e->folder, "table3");
    table_free(&table);
    return good;
}

/* Draws the difference of each row to the base model, as bars: in nats per token or in BLEU. */
static bool write_difference(const struct experiment *e, const char *ending, bool bleu, const char *title,
                             const char *y_label) {
    const struct result *base = find_result(e, "base");
    double here[PAPER_ROWS], paper[PAPER_ROWS];
    const char *names[PAPER_ROWS];
    char path[4096], subtitle[160];
    for (int i = 1; i < PAPER_ROWS; ++i) { /* skips the base model */
        const struct paper_row *row = &paper_rows[i];
        const struct result *r = find_result(e, row->name);
        names[i - 1] = row->name;
        here[i - 1] = NAN;
        paper[i - 1] = bleu ? row->bleu - paper_rows[0].bleu : log(row->perplexity / paper_rows[0].perplexity);
        if (r != NULL && base != NULL)
            here[i - 1] = bleu ? r->bleu - base->bleu : log(r->perplexity / base->perplexity);
    }
    const struct plot_series series[] = {{"here", NULL, here, PAPER_ROWS - 1, NULL},
                                         {"the paper", NULL, paper, PAPER_ROWS - 1, NULL}};
    snprintf(subtitle, sizeof subtitle, "widths / %lld, %lld training pairs; the paper: full size, 4.5 million",
             (long long)e->scale, (long long)xf_corpus_pair_count(e->train));
    const struct plot plot = {.kind = PLOT_BARS,
                              .title = title,
                              .subtitle = subtitle,
                              .x_label = "",
                              .y_label = y_label,
                              .series = series,
                              .series_count = 2,
                              .categories = names};
    return join_path(path, e->folder, "table3", ending) && write_plot(path, &plot);
}

static bool write_all(const struct experiment *e) {
    return write_tables(e) &&
           write_difference(e, ".svg", false, "Table 3: perplexity against the base model",
                            "nats per token, minus base") &&
           write_difference(e, ".bleu.svg", true, "Table 3: BLEU against the base model", "BLEU, minus base");
}

static int run_table3(struct experiment *e) {
    int status = experiment_open(e);
    for (int i = 0; i < PAPER_ROWS && status < 0; ++i) {
        const struct paper_row *row = &paper_rows[i];
        if (find_result(e, row->name) != NULL || !is_wanted(e, row->name)) continue;
        status = train_row(e, row);
        /* Write after each row, because the run may be stopped. */
        if (status < 0 && !write_all(e)) status = EXIT_FAILED;
    }
    if (status < 0) status = write_all(e) ? EXIT_OK : EXIT_FAILED;
    if (status == EXIT_OK)
        printf("wrote %s/table3.md, table3.tsv, table3.svg, and table3.bleu.svg with %zu of %d rows\n", e->folder,
               e->result_count, PAPER_ROWS);
    experiment_close(e);
    return status;
}

int table3_command(int argc, char **argv) {
    static struct experiment e;
    static char about[1024];
    size_t used = (size_t)snprintf(about, sizeof about,
                                   "Trains all rows of Table 3 and reports perplexity and BLEU. The same command "
                                   "resumes a run that was stopped. Rows: ");
    for (int i = 0; i < PAPER_ROWS && used < sizeof about; ++i)
        used += (size_t)snprintf(about + used, sizeof about - used, "%s%s", paper_rows[i].name,
                                 i + 1 < PAPER_ROWS ? ", " : ".");
    struct flag flags[EXPERIMENT_FLAGS + 1];
    experiment_defaults(&e);
    e.folder = "table3";
    for (int i = 0; i < PAPER_ROWS; ++i) e.choices[e.choice_count++] = paper_rows[i].name;
    experiment_flags(&e, flags);
    flags[EXPERIMENT_FLAGS] =
        (struct flag){"dev", FLAG_TEXT,  &e.held_path,
                      NULL,  "FILE.tsv", "Held-out pairs. Default: the 349 pairs in examples/translate/data."};
    struct command_line line = {.usage = "table3 [options]",
                                .about = about,
                                .groups = experiment_groups,
                                .flags = flags,
                                .flag_count = EXPERIMENT_FLAGS + 1};
    e.line = &line;
    const int status = read_command_line(&line, argc - 2, argv + 2);
    return status >= 0 ? status : run_table3(&e);
}
