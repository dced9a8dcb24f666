/*
 * report.c - prints scores, and writes Table 4 as Markdown, TSV, and plots; see report.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "files.h"
#include "plot.h"
#include "scale.h"

void print_score(const struct parse_score *score, double nll, const struct tree_kind *trees) {
    const struct evalb *e = &score->evalb;
    const int64_t answers = e->sentences + e->errors + e->skipped;
    printf("%-12s %s: %s\n", "trees", trees->name, trees->about);
    printf("%-12s %.4f nats per target token, perplexity %.3f\n", "loss", nll, exp(nll));
    printf("%-12s F1 %.2f, recall %.2f, precision %.2f, against %s trees\n", "brackets", evalb_f1(e), evalb_recall(e),
           evalb_precision(e), trees->name);
    printf("%-12s complete %.2f %%, %.3f crossing brackets per sentence, none in %.2f %%\n", "sentences",
           evalb_complete(e), evalb_average_crossing(e),
           e->sentences > 0 ? 100.0 * (double)e->not_crossing / (double)e->sentences : 0);
    printf("%-12s %lld of %lld outputs: %lld cut off, %lld trees with a wrong number of leaves\n", "malformed",
           (long long)score->malformed, (long long)answers, (long long)score->unfinished,
           (long long)score->wrong_leaves);
    if (e->skipped > 0)
        printf("%-12s %lld sentences with only punctuation are not scored, as in EVALB\n", "skipped",
               (long long)e->skipped);
    if (e->errors > 0)
        printf("%-12s F1 %.2f, recall %.2f, including the sentences that EVALB excludes\n", "strict",
               evalb_strict_f1(e), evalb_strict_recall(e));
    printf("%-12s %.1f sentences/s, %.1f s in total\n", "speed", (double)answers / score->seconds, score->seconds);
}

/* The rows of the paper's Table 4: F1 on section 23 of the Wall Street Journal. */
static const struct {
    const char *parser, *training;
    double f1;
} paper[] = {
    {"Vinyals & Kaiser et al. (2014)", "WSJ only, discriminative", 88.3},
    {"Petrov et al. (2006)", "WSJ only, discriminative", 90.4},
    {"Zhu et al. (2013)", "WSJ only, discriminative", 90.4},
    {"Dyer et al. (2016)", "WSJ only, discriminative", 91.7},
    {"Transformer (4 layers)", "WSJ only, discriminative", 91.3},
    {"Zhu et al. (2013)", "semi-supervised", 91.3},
    {"Huang & Harper (2009)", "semi-supervised", 91.3},
    {"McClosky et al. (2006)", "semi-supervised", 92.1},
    {"Vinyals & Kaiser et al. (2014)", "semi-supervised", 92.1},
    {"Transformer (4 layers)", "semi-supervised", 92.7},
    {"Luong et al. (2015)", "multi-task", 93.0},
    {"Dyer et al. (2016)", "generative", 93.3},
};
enum { PAPER_ROWS = sizeof paper / sizeof paper[0] };

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
line(struct sentences *lines, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sentences_add(lines, text, strlen(text));
}

static void score_row(struct sentences *lines, const char *format, const char *name, const struct parse_score *score) {
    const struct evalb *e = &score->evalb;
    line(lines, format, name, evalb_f1(e), evalb_recall(e), evalb_precision(e), evalb_complete(e),
         evalb_average_crossing(e), (long long)score->malformed, evalb_strict_f1(e));
}

/* Writes the options that differ from the library's defaults, so that the run can be repeated. */
static void changed_options(const xf_config *config, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < xf_option_count(); ++i) {
        xf_option_info info = XF_OPTION_INFO_INIT;
        const char *value = NULL;
        if (xf_option_get(i, &info, NULL) != XF_OK) continue;
        const bool seed = strstr(info.key, ".seed") != NULL;
        if (strncmp(info.key, "context.", 8) == 0 || strncmp(info.key, "file.", 5) == 0) continue;
        if (xf_config_get(config, info.key, &value, NULL) != XF_OK) continue;
        if ((!seed && strcmp(value, info.default_value) == 0) || used >= size) continue;
        const int length = snprintf(text + used, size - used, "%s%s=%s", used > 0 ? " " : "", info.key, value);
        used += length > 0 ? (size_t)length : 0;
    }
}

static void markdown(struct sentences *lines, const struct table4 *t) {
    static const char row[] = "| %s | %.2f | %.2f | %.2f | %.2f | %.3f | %lld | %.2f |";
    char options[900];
    changed_options(t->config, options, sizeof options);
    line(lines, "# Table 4: constituency parsing, on %s trees", t->test_trees->name);
    line(lines, "%s", "");
    line(lines, "The trees are **%s**: %s.", t->test_trees->name, t->test_trees->about);
    line(lines, "%s", "");
    line(lines,
         "| decoding | F1 | recall | precision | complete match, %% | crossing brackets per sentence | malformed of "
         "%lld "
         "| F1, all sentences |",
         (long long)t->test_pairs);
    line(lines, "| --- | --- | --- | --- | --- | --- | --- | --- |");
    score_row(lines, row, "constrained to well-formed trees", &t->constrained);
    score_row(lines, row, "unconstrained", &t->unconstrained);
    line(lines, "%s", "");
    line(lines,
         "The rules are those of EVALB with COLLINS.prm, which excludes sentences with malformed outputs; the last "
         "column includes them. The options below contain beam, alpha, and length limit.");
    line(lines, "%s", "");
    line(lines,
         "Transformer with %lld parameters, %lld updates on %lld pairs with %s trees, %.0f s of training and "
         "evaluation.",
         (long long)t->parameters, (long long)t->steps, (long long)t->train_pairs, t->train_trees->name,
         t->curve->count > 0 ? t->curve->rows[t->curve->count - 1].seconds : 0.0);
    if (t->made_pairs > 0)
        line(lines,
             "Another %lld pairs were made from these by replacing brackets, including their words, with others of the "
             "same label (Shi et al. 2021).",
             (long long)t->made_pairs);
    if (t->init != NULL) line(lines, "These updates began with the weights of %s.", base_name(t->init));
    if (t->leaves > 1)
        line(lines,
             "The leaves have %d ids in turn, so that the id of a leaf gives its index modulo %d; in the paper, all "
             "leaves "
             "have the same id.",
             (int)t->leaves, (int)t->leaves);
    const char *scaled = scale_text(t->config, t->scale);
    if (*scaled != '\0') line(lines, "%s", scaled);
    line(lines, "%s", "");
    line(lines, "- library: %s; %s", xf_version(), xf_build_info());
    line(lines, "- device: %s", t->device);
    line(lines, "- parsing the test set took %.1f s with the constraint, %.1f s without", t->constrained.seconds,
         t->unconstrained.seconds);
    line(lines, "- options: `%s`", options);
    line(lines, "%s", "");
    line(lines, "![F1 on the dev set by update](table4.svg)");
    line(lines, "![loss by update](table4-loss.svg)");
    line(lines, "%s", "");
    line(
        lines,
        "The rows of the paper are for reference: they use gold trees of section 23 of the Wall Street Journal and are "
        "**not comparable** with scores on other trees.");
    line(lines, "%s", "");
    line(lines, "| parser | training | WSJ 23 F1 |");
    line(lines, "| --- | --- | --- |");
    for (size_t i = 0; i < PAPER_ROWS; ++i)
        line(lines, "| %s | %s | %.1f |", paper[i].parser, paper[i].training, paper[i].f1);
}

static void tsv(struct sentences *lines, const struct table4 *t) {
    static const char row[] = "%s trees\t%.2f\t%.2f\t%.2f\t%.2f\t%.3f\t%lld\t%.2f";
    char name[128];
    line(lines, "parser\ttrees\tf1\trecall\tprecision\tcomplete\tcrossing\tmalformed\tstrict_f1");
    snprintf(name, sizeof name, "this library, constrained to well-formed trees\t%s", t->test_trees->name);
    score_row(lines, row, name, &t->constrained);
    snprintf(name, sizeof name, "this library, unconstrained\t%s", t->test_trees->name);
    score_row(lines, row, name, &t->unconstrained);
    for (size_t i = 0; i < PAPER_ROWS; ++i)
        line(lines, "%s, %s\tWSJ 23, gold: not comparable\t%.1f\t\t\t\t\t\t", paper[i].parser, paper[i].training,
             paper[i].f1);
}

/* Plots F1 and loss on the dev set by update, in two files because their axes differ. */
static bool write_plots(const struct table4 *t, const char *folder) {
    const struct curve *curve = t->curve;
    const size_t count = curve->count;
    double *numbers = allocate((4 * count + 1) * sizeof *numbers);
    double *steps = numbers, *f1 = steps + count, *train = f1 + count, *dev = train + count;
    for (size_t i = 0; i < count; ++i) {
        const struct curve_row *row = &curve->rows[i];
        steps[i] = (double)row->step;
        f1[i] = row->f1;
        train[i] = row->train_nll;
        dev[i] = row->dev_nll;
    }
    const struct plot_series scores[] = {{"dev F1", steps, f1, count, NULL}};
    const struct plot_series losses[] = {{"train, with dropout", steps, train, count, NULL},
                                         {"dev", steps, dev, count, NULL}};
    char score_subtitle[160], loss_subtitle[160];
    snprintf(score_subtitle, sizeof score_subtitle, "%s trees; greedy, constrained to well-formed trees",
             t->dev_trees->name);
    snprintf(loss_subtitle, sizeof loss_subtitle, "train %s, dev %s trees; cross-entropy without smoothing",
             t->train_trees->name, t->dev_trees->name);
    const struct plot score = {.title = "Labeled F1 on dev sentences, by EVALB's rules",
                               .subtitle = score_subtitle,
                               .x_label = "update",
                               .y_label = "F1",
                               .series = scores,
                               .series_count = 1};
    const struct plot loss = {.title = "Loss of the parser",
                              .subtitle = loss_subtitle,
                              .x_label = "update",
                              .y_label = "nats per target token",
                              .series = losses,
                              .series_count = 2};
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/table4.svg", folder);
    bool good = write_plot(path, &score);
    snprintf(path, sizeof path, "%.4000s/table4-loss.svg", folder);
    good = good && write_plot(path, &loss);
    free(numbers);
    return good;
}

bool write_table4(const struct table4 *table, const char *folder) {
    static const struct {
        const char *name;
        void (*fill)(struct sentences *lines, const struct table4 *table);
    } files[] = {{"table4.md", markdown}, {"table4.tsv", tsv}};
    char path[PATH_SIZE];
    bool good = true;
    for (size_t i = 0; good && i < sizeof files / sizeof files[0]; ++i) {
        struct sentences lines = {0};
        files[i].fill(&lines, table);
        snprintf(path, sizeof path, "%.4000s/%s", folder, files[i].name);
        good = write_sentences(path, &lines) < 0;
        sentences_free(&lines);
    }
    return good && write_plots(table, folder);
}
