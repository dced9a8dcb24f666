/*
 * train_page.c - `translate train --report OUT.html`: writes the history of a run as a page; see pages/report.js.
 *
 * The page is written after every evaluation and checkpoint and at the end, so that a browser shows the progress of the
 * run. If the page cannot be written, the run continues.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "page.h"
#include "train.h"

void history_name(const struct run *run, char name[MAX_PATH_LENGTH]) {
    snprintf(name, MAX_PATH_LENGTH, "%.4000s.tsv", run->flags.model);
}

int open_report(struct run *run) {
    if (run->flags.report == NULL || run->flags.resume == NULL) return -1;
    char name[MAX_PATH_LENGTH];
    history_name(run, name);
    const int status = history_read(&run->history, name, xf_trainer_step_count(run->trainer));
    run->elapsed_before = history_elapsed(&run->history);
    return status;
}

void report_step(struct run *run, const xf_step_stats *stats, double seconds) {
    if (run->flags.report == NULL) return;
    const struct history_row row = {.kind = "train",
                                    .step = stats->step,
                                    .epoch = epoch_of(run),
                                    .elapsed = run->elapsed_before + now() - run->started,
                                    .loss = stats->loss,
                                    .learning_rate = stats->learning_rate,
                                    .tgt_tokens = (double)stats->tgt_tokens,
                                    .tokens = (double)(stats->src_tokens + stats->tgt_tokens),
                                    .busy = seconds,
                                    .perplexity = -1,
                                    .bleu = -1};
    history_step(&run->history, &row);
}

void report_evaluation(struct run *run) {
    if (run->flags.report == NULL || run->row_count == 0) return;
    const struct dev_row *dev = &run->rows[run->row_count - 1];
    const struct history_rows *known = &run->history.evaluations;
    for (size_t i = 0; i < known->count; ++i) /* a resumed run may repeat an evaluation */
        if (known->rows[i].step == dev->step && strcmp(known->rows[i].kind, dev->label) == 0) return;
    struct history_row row = {.step = dev->step,
                              .epoch = dev->epoch,
                              .elapsed = run->elapsed_before + dev->seconds,
                              .loss = dev->loss,
                              .learning_rate = -1,
                              .tgt_tokens = -1,
                              .tokens = -1,
                              .busy = -1,
                              .perplexity = dev->perplexity,
                              .bleu = dev->bleu};
    snprintf(row.kind, sizeof row.kind, "%s", dev->label);
    history_evaluation(&run->history, &row);
}

static void put_string(struct text *json, const char *string) { text_json(json, string, strlen(string)); }

static void put_name(struct text *json, const char *name) { text_print(json, ",\n\"%s\":", name); }

/* JSON has no infinity, which is a possible perplexity. */
static void put_number(struct text *json, double number) {
    if (isfinite(number) && number >= 0)
        text_print(json, ",%.6g", number);
    else
        text_print(json, ",null");
}

/* Writes every option of the groups that affect a run, each from the configuration that applies. */
static void put_settings(struct text *json, const struct run *run) {
    const struct {
        const char *group;
        const xf_config *config;
    } groups[] = {{"model.", xf_model_config(xf_trainer_model(run->trainer))},
                  {"train.", xf_trainer_config(run->trainer)},
                  {"data.", run->config},
                  {"text.", run->config}};
    const char *comma = "";
    text_print(json, "[");
    for (size_t i = 0; i < xf_option_count(); ++i) {
        xf_option_info info = {.struct_size = sizeof info};
        if (xf_option_get(i, &info, NULL) != XF_OK) continue;
        for (size_t k = 0; k < sizeof groups / sizeof groups[0]; ++k) {
            const char *value = NULL;
            if (strncmp(info.key, groups[k].group, strlen(groups[k].group)) != 0) continue;
            if (xf_config_get(groups[k].config, info.key, &value, NULL) != XF_OK) continue;
            text_print(json, "%s[", comma);
            put_string(json, info.key);
            text_print(json, ",");
            put_string(json, value);
            text_print(json, "]");
            comma = ",";
        }
    }
    text_print(json, "]");
}

static void put_history(struct text *json, const struct history *history) {
    put_name(json, "steps");
    text_print(json, "[");
    for (size_t i = 0; i < history->steps.count; ++i) {
        const struct history_row *row = &history->steps.rows[i];
        text_print(json, "%s[%lld", i > 0 ? ",\n" : "", (long long)row->step);
        put_number(json, row->epoch);
        put_number(json, row->elapsed);
        put_number(json, row->loss);
        put_number(json, row->learning_rate);
        put_number(json, row->busy > 0 ? row->tokens / row->busy : -1);
        text_print(json, "]");
    }
    text_print(json, "]");
    put_name(json, "evaluations");
    text_print(json, "[");
    for (size_t i = 0; i < history->evaluations.count; ++i) {
        const struct history_row *row = &history->evaluations.rows[i];
        text_print(json, "%s[%lld", i > 0 ? ",\n" : "", (long long)row->step);
        put_number(json, row->epoch);
        put_number(json, row->elapsed);
        put_number(json, row->loss);
        put_number(json, row->perplexity);
        put_number(json, row->bleu);
        text_print(json, ",");
        put_string(json, row->kind);
        text_print(json, "]");
    }
    text_print(json, "]");
}

void save_report(struct run *run, const char *state) {
    if (run->flags.report == NULL) return;
    struct text json = {0};
    text_print(&json, "{\"model\":");
    put_string(&json, base_name(run->flags.model));
    put_name(&json, "state");
    put_string(&json, state);
    put_name(&json, "corpus");
    put_string(&json, base_name(run->flags.train));
    put_name(&json, "device");
    put_string(&json, device_of(run->context));
    put_name(&json, "step");
    text_print(&json, "%lld", (long long)xf_trainer_step_count(run->trainer));
    put_name(&json, "last_step"); /* 0: no limit */
    text_print(&json, "%lld", (long long)run->flags.steps);
    put_name(&json, "elapsed");
    text_print(&json, "%.1f", run->elapsed_before + now() - run->started);
    put_name(&json, "epoch");
    text_print(&json, "%.4f", epoch_of(run));
    put_name(&json, "pairs");
    text_print(&json, "%lld", (long long)xf_corpus_pair_count(run->corpus));
    put_name(&json, "parameters");
    text_print(&json, "%lld", (long long)parameter_count(xf_trainer_model(run->trainer)));
    put_name(&json, "settings");
    put_settings(&json, run);
    put_history(&json, &run->history);
    text_print(&json, "}");
    char name[MAX_PATH_LENGTH];
    history_name(run, name);
    if (history_write(&run->history, name) >= 0) run->save_failed = true;
    if (write_page(run->flags.report, &report_page, &json) >= 0) run->save_failed = true;
    text_free(&json);
}
