/*
 * score.c - `translate score`: prints the log-probability that the model assigns to each translation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "lines.h"
#include "options.h"
#include "signals.h"
#include "system.h"

enum { BATCH_LINES = 256 };

struct scoring {
    const char *model;
    struct more_models more;
    const char *paths[2]; /* of the sources and their translations; NULL: pairs on standard input */
    bool normalize;

    const xf_config *config;
    const xf_model *scorer;
    xf_decoder *decoder;
    struct line_reader readers[2];
    struct sentences sides[2];   /* of the current batch */
    bool refused[BATCH_LINES];   /* the pair has no score, and a message gives the reason */
    int64_t lines_read, missing; /* pairs, and those without a score */
};

static const char *name_of(const struct scoring *scoring, int side) {
    return scoring->paths[side] != NULL ? scoring->paths[side] : "standard input";
}

/* Splits a line at its tab. Returns NULL, or the reason why the line is not a pair. */
static const char *split(const char *texts[2], size_t lengths[2]) {
    const char *tab = lengths[0] > 0 ? memchr(texts[0], '\t', lengths[0]) : NULL;
    if (tab == NULL) return "the line has no tab, expected source TAB translation";
    texts[1] = tab + 1;
    lengths[1] = lengths[0] - (size_t)(tab + 1 - texts[0]);
    lengths[0] = (size_t)(tab - texts[0]);
    return memchr(texts[1], '\t', lengths[1]) == NULL ? NULL : "the line has several tabs, expected one";
}

/* Reads the next pair into the batch. After a failure, prints a message. */
static enum line_status read_pair(struct scoring *scoring) {
    const bool files = scoring->paths[0] != NULL;
    const size_t index = scoring->sides[0].count;
    const char *texts[2] = {"", ""}, *why = NULL;
    size_t lengths[2] = {0, 0};
    enum line_status status[2] = {LINE_OK, LINE_OK};
    for (int side = 0; side < (files ? 2 : 1); ++side) {
        status[side] = next_line(&scoring->readers[side], files || index == 0, &texts[side], &lengths[side]);
        if (status[side] != LINE_FAILED) continue;
        complain("reading %s failed: %s", name_of(scoring, side), strerror(scoring->readers[side].error));
        return LINE_FAILED;
    }
    if (files && (status[0] == LINE_END) != (status[1] == LINE_END)) {
        const int shorter = status[0] == LINE_END ? 0 : 1;
        complain("%s has %lld lines, and %s has more; expected the same number", name_of(scoring, shorter),
                 (long long)scoring->lines_read, name_of(scoring, 1 - shorter));
        return LINE_FAILED;
    }
    if (status[0] == LINE_END || status[0] == LINE_NONE_NOW) return status[0];
    scoring->lines_read++;
    if (status[0] == LINE_TOO_LONG || status[1] == LINE_TOO_LONG)
        why = "longer than 1 MiB";
    else if (!files)
        why = split(texts, lengths);
    if (why != NULL) complain("line %lld: %s", (long long)scoring->lines_read, why);
    scoring->refused[index] = why != NULL;
    for (int side = 0; side < 2; ++side)
        sentences_add(&scoring->sides[side], why == NULL ? texts[side] : "", why == NULL ? lengths[side] : 0);
    return LINE_OK;
}

/* Scores some pairs of the batch. If statuses is NULL, a pair that cannot be scored is an error. */
static xf_status score_pairs(const struct scoring *scoring, size_t first, size_t count, double *values,
                             xf_status *statuses, xf_error *err) {
    const struct sentences *from = &scoring->sides[0], *to = &scoring->sides[1];
    return xf_score_texts(scoring->decoder, (const char *const *)from->texts + first, from->lengths + first,
                          (const char *const *)to->texts + first, to->lengths + first, count, &until_interrupted,
                          values, statuses, err);
}

/* Returns the number of tokens that the score of a translation includes; the end symbol is one of them. */
static double tokens_of(const struct scoring *scoring, size_t index) {
    const struct sentences *to = &scoring->sides[1];
    const char *language = "";
    size_t count = 0;
    xf_model_encode(scoring->scorer, XF_SIDE_TARGET, to->texts[index], to->lengths[index], scoring->config, NULL, 0,
                    &count, NULL); /* an empty buffer: returns only the count */
    xf_config_get(xf_model_config(scoring->scorer), "model.target_language", &language, NULL);
    return (double)count - (strcmp(language, "start") == 0 ? 1 : 0); /* the first input of the decoder is not scored */
}

/* Prints the scores of the batch. Returns -1 to continue, or the exit status. */
static int print_scores(struct scoring *scoring) {
    const size_t count = scoring->sides[0].count;
    const int64_t first_line = scoring->lines_read - (int64_t)count + 1;
    double values[BATCH_LINES];
    xf_status statuses[BATCH_LINES];
    xf_error err;
    if (score_pairs(scoring, 0, count, values, statuses, &err) != XF_OK) return fail(&err);
    for (size_t i = 0; i < count; ++i) {
        if (statuses[i] != XF_OK) { /* scores it again to get the reason */
            score_pairs(scoring, i, 1, &values[i], NULL, &err);
            const char *reason = strchr(err.message, ':'); /* after "pair 0" */
            complain("line %lld%s", (long long)first_line + (long long)i, reason != NULL ? reason : "");
        }
        if (scoring->refused[i] || statuses[i] != XF_OK) {
            scoring->missing++;
            printf("nan\n");
        } else {
            printf("%.4f\n", scoring->normalize ? values[i] / tokens_of(scoring, i) : values[i]);
        }
    }
    return check_output();
}

static int score_lines(struct scoring *scoring) {
    enum line_status status = LINE_OK;
    int result = -1;
    while (result < 0 && status != LINE_END && status != LINE_FAILED) {
        status = LINE_OK;
        while (status == LINE_OK && scoring->sides[0].count < BATCH_LINES) status = read_pair(scoring);
        result = print_scores(scoring);
        for (int side = 0; side < 2; ++side) sentences_clear(&scoring->sides[side]);
    }
    if (result >= 0) return result;
    return status == LINE_FAILED || scoring->missing > 0 ? EXIT_FAILED : EXIT_OK;
}

static int score(struct scoring *scoring) {
    int status = EXIT_FAILED;
    xf_context *context = open_context(scoring->config);
    xf_model *model = context != NULL ? open_model(context, scoring->model, scoring->config) : NULL;
    if (model != NULL) scoring->decoder = open_decoder(context, model, &scoring->more, scoring->config);
    if (scoring->decoder != NULL) {
        scoring->scorer = model;
        if (scoring->paths[0] == NULL && isatty(STDIN_FILENO) == 1)
            fprintf(stderr, "%s on %s. Enter pairs: source TAB translation; Ctrl-D ends.\n", scoring->model,
                    device_of(context));
        status = score_lines(scoring);
    }
    xf_decoder_free(scoring->decoder);
    xf_model_free(model);
    xf_context_free(context);
    return status;
}

int score_command(int argc, char **argv) {
    struct scoring scoring = {.model = NULL};
    const struct flag flags[] = {
        {"model", FLAG_TEXT, &scoring.model, NULL, "en-de.xf",
         "The model, or a checkpoint. The default is the one beside the program, English to German."},
        {"ensemble", FLAG_LIST, &scoring.more.ensemble, NULL, "M2.xf",
         "Another model with the same tokenizer. Prints the mean of the scores of all models. Up to 7 times."},
        {"normalize", FLAG_SWITCH, &scoring.normalize, NULL, "",
         "Divides each score by the number of tokens of the translation, end symbol included."},
        {"threads", FLAG_OPTION, NULL, "context.threads", "N", "The same as --context.threads."},
        {"device", FLAG_OPTION, NULL, "context.device", "NAME", "The same as --context.device."},
    };
    struct command_line line = {.usage = "score [--model M.xf] [options] [SOURCES TRANSLATIONS] > scores",
                                .about =
                                    "Prints the natural logarithm of the probability of each translation, one per "
                                    "line. Reads pairs from standard input, one per line: source TAB translation; "
                                    "or two files with the same number of lines.",
                                .groups = "context. text. model.weights",
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0],
                                .most_arguments = 2};
    int status = read_command_line(&line, argc - 2, argv + 2);
    if (status >= 0) return status;
    if (line.argument_count == 1) {
        complain("the file of the translations of '%.64s' is missing; expected two files, or pairs on standard input",
                 line.arguments[0]);
        return EXIT_USAGE;
    }
    if (scoring.model == NULL && (scoring.model = model_beside()) == NULL) return EXIT_USAGE;
    xf_config *config = NULL;
    xf_error err;
    if (xf_config_create(&config, &err) != XF_OK) return fail(&err);
    status = apply_settings(&line, config);
    for (size_t i = 0; i < line.argument_count && status < 0; ++i) {
        scoring.paths[i] = line.arguments[i];
        if (!open_lines(&scoring.readers[i], line.arguments[i])) status = EXIT_FAILED;
    }
    scoring.config = config;
    if (status < 0) status = score(&scoring);
    for (int side = 0; side < 2; ++side) {
        close_lines(&scoring.readers[side]);
        sentences_free(&scoring.sides[side]);
    }
    xf_config_free(config);
    return status;
}
