/*
 * experiment.c - the folder, settings, and corpora of an experiment; see experiment.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _XOPEN_SOURCE 700

#include "experiment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "measure.h"
#include "output.h"
#include "signals.h"

/* Prints everything that affects the results of a row, except the row itself. */
static void print_settings(const struct experiment *e, FILE *file) {
    static const char *const groups[] = {"context.precision", "tokenizer.", "data.", "model.", "train.", "decode."};
    fprintf(file, "scale %lld\nsteps %lld\nminutes-per-row %g\nheld-sentences %lld\n", (long long)e->scale,
            (long long)e->steps, e->minutes, (long long)e->held_sentences);
    /* Omitted for the default, so that folders written before --bleu existed remain valid. */
    if (e->tokenize != XF_BLEU_13A) fprintf(file, "bleu %s\n", e->bleu);
    fprintf(file, "train %s, %lld pairs\n", base_name(e->train_path), (long long)xf_corpus_pair_count(e->train));
    fprintf(file, "held-out %s, %lld pairs\n", base_name(e->held_path), (long long)xf_corpus_pair_count(e->held));
    for (size_t i = 0; i < xf_option_count(); ++i) {
        xf_option_info info = XF_OPTION_INFO_INIT;
        const char *value = "";
        if (xf_option_get(i, &info, NULL) != XF_OK) continue;
        for (size_t g = 0; g < sizeof groups / sizeof groups[0]; ++g)
            if (strncmp(info.key, groups[g], strlen(groups[g])) == 0 &&
                xf_config_get(e->config, info.key, &value, NULL) == XF_OK)
                fprintf(file, "%s %s\n", info.key, value);
    }
}

/* Compares the settings with those of earlier runs, line by line. */
static int check_settings(const struct experiment *e, FILE *old, const char *path) {
    FILE *fresh = tmpfile();
    char found[512], expected[512];
    int status = -1;
    if (fresh == NULL) {
        complain("cannot create a temporary file: %s", strerror(errno));
        return EXIT_FAILED;
    }
    print_settings(e, fresh);
    rewind(fresh);
    while (status < 0) {
        const bool more = fgets(expected, sizeof expected, old) != NULL;
        if ((fgets(found, sizeof found, fresh) != NULL) != more)
            snprintf(more ? found : expected, sizeof found, "nothing");
        else if (!more)
            break;
        if (strcmp(found, expected) == 0) continue;
        found[strcspn(found, "\n")] = expected[strcspn(expected, "\n")] = '\0';
        complain("%s: found '%s', expected '%s' as in earlier runs; use these settings or another --out", path, found,
                 expected);
        status = EXIT_USAGE;
    }
    fclose(fresh);
    return status;
}

static int keep_settings(const struct experiment *e) {
    char path[4096];
    if (!join_path(path, e->folder, "settings", "")) return EXIT_FAILED;
    FILE *old = fopen(path, "rb");
    if (old != NULL) {
        const int status = check_settings(e, old, path);
        fclose(old);
        return status;
    }
    struct output out;
    if (!output_open(&out, path)) return EXIT_FAILED;
    print_settings(e, out.file);
    return output_close(&out) ? -1 : EXIT_FAILED;
}

const struct result *find_result(const struct experiment *e, const char *name) {
    for (size_t i = 0; i < e->result_count; ++i)
        if (strcmp(e->results[i].name, name) == 0) return &e->results[i];
    return NULL;
}

static const char result_columns[] = "row\tsteps\tparameters\ttokens\tperplexity\tbleu\tseconds\tflops\n";

int read_results(FILE *file, const char *path, bool (*accepts)(const char *name), struct result *results, size_t limit,
                 size_t *count) {
    char line[512];
    for (int number = 1; fgets(line, sizeof line, file) != NULL; ++number) {
        struct result r;
        long long steps, parameters, tokens;
        if (number == 1 && strcmp(line, result_columns) == 0) continue;
        if (number > 1 && *count < limit &&
            sscanf(line, "%31s %lld %lld %lld %lf %lf %lf %lf", r.name, &steps, &parameters, &tokens, &r.perplexity,
                   &r.bleu, &r.seconds, &r.flops) == 8 &&
            accepts(r.name)) {
            r.steps = steps, r.parameters = parameters, r.tokens = tokens;
            results[(*count)++] = r;
            continue;
        }
        line[strcspn(line, "\n")] = '\0';
        if (number > 1 && *count == limit)
            complain("%s:%d: found '%.40s', expected at most %zu rows", path, number, line, limit);
        else
            complain("%s:%d: found '%.40s', expected a row of results", path, number, line);
        return EXIT_FAILED;
    }
    if (ferror(file) == 0) return -1;
    complain("cannot read '%s': %s", path, strerror(errno));
    return EXIT_FAILED;
}

static bool is_row(const char *name) { return find_row(name) != NULL; }

static int resume_results(struct experiment *e) {
    char path[4096];
    if (!join_path(path, e->folder, "results", ".tsv")) return EXIT_FAILED;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return -1;
    const int status = read_results(file, path, is_row, e->results, PAPER_ROWS, &e->result_count);
    fclose(file);
    return status;
}

bool add_result(struct experiment *e, const struct result *result) {
    char path[4096];
    struct output out;
    e->results[e->result_count++] = *result;
    if (!join_path(path, e->folder, "results", ".tsv") || !output_open(&out, path)) return false;
    fputs(result_columns, out.file);
    for (size_t i = 0; i < e->result_count; ++i) {
        const struct result *r = &e->results[i];
        fprintf(out.file, "%s\t%lld\t%lld\t%lld\t%.6f\t%.4f\t%.1f\t%.6e\n", r->name, (long long)r->steps,
                (long long)r->parameters, (long long)r->tokens, r->perplexity, r->bleu, r->seconds, r->flops);
    }
    return output_close(&out);
}

static int open_tokenizer(struct experiment *e) {
    char path[4096];
    xf_error err;
    if (!join_path(path, e->folder, "tokenizer", ".json")) return EXIT_FAILED;
    const xf_source source = XF_SOURCE_PATH(path);
    const xf_sink sink = XF_SINK_PATH(path);
    xf_status status = xf_tokenizer_load(e->context, &source, &until_interrupted, &e->tokenizer, &err);
    if (status == XF_ERROR_NOT_FOUND) {
        status = xf_tokenizer_train(e->context, e->train, e->config, &until_interrupted, &e->tokenizer, &err);
        if (status == XF_OK) status = xf_tokenizer_save(e->tokenizer, NULL, &sink, &err);
    }
    if (status != XF_OK) return fail(&err);
    printf("%-12s %d tokens\n", "vocabulary", (int)vocabulary_size(e->tokenizer));
    return -1;
}

/* Counts the held-out pairs that are included in the perplexity. */
static int count_measured(struct experiment *e) {
    xf_batcher *batcher = open_plain_batcher(e->held, e->tokenizer, e->config);
    xf_batcher_stats stats = XF_BATCHER_STATS_INIT;
    xf_error err;
    const xf_status status = batcher != NULL ? xf_batcher_get_stats(batcher, &stats, &err) : XF_OK;
    xf_batcher_free(batcher);
    if (batcher == NULL) return EXIT_FAILED;
    if (status != XF_OK) return fail(&err);
    e->measured = stats.pairs;
    if (stats.too_long + stats.empty > 0)
        printf("%-12s %lld pairs are not in the perplexity: they exceed data.max_tokens or are empty\n", "",
               (long long)(stats.too_long + stats.empty));
    return -1;
}

int experiment_open(struct experiment *e) {
    xf_error err;
    if (xf_config_create(&e->config, &err) != XF_OK) return fail(&err);
    int status = set_options(e);
    if (status < 0 && (e->lock = lock_folder(e->folder)) < 0) status = EXIT_FAILED;
    if (status >= 0) return status;
    e->context = open_context(e->config);
    if (e->context == NULL) return EXIT_FAILED;
    catch_signals();
    printf("%-12s %s\n", "device", device_of(e->context));
    if (xf_corpus_open(e->context, e->train_path, NULL, e->config, &until_interrupted, &e->train, &err) != XF_OK)
        return fail(&err);
    print_corpus("train", e->train);
    if (xf_corpus_open(e->context, e->held_path, NULL, e->config, &until_interrupted, &e->held, &err) != XF_OK)
        return fail(&err);
    print_corpus("held out", e->held);
    status = keep_settings(e);
    if (status < 0) status = resume_results(e);
    if (status < 0) status = open_tokenizer(e);
    if (status < 0) status = count_measured(e);
    sentences_of_corpus(&e->sources, e->held, SIDE_SOURCE, e->held_sentences);
    sentences_of_corpus(&e->references, e->held, SIDE_TARGET, e->held_sentences);
    if (check_output() >= 0 && status < 0) status = EXIT_FAILED;
    return status;
}

void experiment_close(struct experiment *e) {
    sentences_free(&e->sources);
    sentences_free(&e->references);
    xf_tokenizer_free(e->tokenizer);
    xf_corpus_free(e->held);
    xf_corpus_free(e->train);
    xf_context_free(e->context);
    xf_config_free(e->config);
    if (e->lock >= 0) close(e->lock);
}
