/*
 * table4.c - `paper_parse table4`: trains a parser or resumes a run, parses the test set with and without the
 * constraint, and writes the table and the plots. Without files it uses generated trees.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"
#include "common.h"
#include "files.h"
#include "generated.h"
#include "output.h"
#include "report.h"
#include "scale.h"
#include "signals.h"

/* Default steps for generated trees: a few minutes on one core. */
enum { GENERATED_STEPS = 3000 };

struct table4_run {
    const char *test, *output;
    int lock;                   /* lock of the folder */
    struct generated generated; /* the files, if the user named none */
    int64_t test_sentences;
    struct parse_run run;
};

static xf_status measure_one(const struct parser *parser, const xf_config *config, const struct pairs *pairs,
                             const struct tree_kind *trees, bool constrained, struct parse_score *score,
                             xf_error *err) {
    xf_decoder *decoder = NULL;
    struct answer *answers = allocate(pairs->count * sizeof *answers);
    xf_status status = xf_decoder_create(parser->model, NULL, config, &decoder, err);
    if (status == XF_OK) status = measure_parser(parser, decoder, pairs, constrained, answers, score, err);
    if (status == XF_OK) {
        printf("%s\n", constrained ? "test set, constrained to well-formed trees" : "test set, unconstrained");
        double nll = 0;
        status = measure_nll(parser, decoder, pairs, &nll, err);
        if (status == XF_OK) print_score(score, nll, trees);
        answers_free(answers, pairs->count);
        check_output();
    }
    xf_decoder_free(decoder);
    free(answers);
    return status;
}

static int measure_and_write(struct table4_run *self) {
    struct parse_run *run = &self->run;
    struct parser parser = {0};
    struct pairs test = {0};
    xf_error err;
    int result = EXIT_FAILED;
    if (parser_load(&parser, run->context, run->flags.model) && pairs_read(&test, &parser.labels, false, self->test)) {
        pairs_limit(&test, self->test_sentences);
        struct table4 table = {.curve = &run->curve,
                               .config = run->config,
                               .device = device_of(run->context),
                               .scale = run->flags.scale,
                               .init = run->flags.init,
                               .leaves = parser.leaves,
                               .parameters = parameter_count(parser.model),
                               .steps = xf_trainer_step_count(run->trainer),
                               .train_pairs = (int64_t)run->train_read,
                               .made_pairs = (int64_t)(run->train.count - run->train_read),
                               .test_pairs = (int64_t)test.count,
                               .train_trees = tree_kind_of(&run->train, run->flags.gold),
                               .dev_trees = tree_kind_of(&run->dev, run->flags.gold),
                               .test_trees = tree_kind_of(&test, run->flags.gold)};
        xf_status status = pairs_encode(&test, parser.tokenizer, &err);
        if (status == XF_OK)
            status = measure_one(&parser, run->config, &test, table.test_trees, true, &table.constrained, &err);
        if (status == XF_OK)
            status = measure_one(&parser, run->config, &test, table.test_trees, false, &table.unconstrained, &err);
        if (status == XF_OK)
            result = write_table4(&table, self->output) ? EXIT_OK : EXIT_FAILED;
        else
            result = fail(&err);
        if (result == EXIT_OK)
            printf("written      %s/table4.md, table4.tsv, table4.svg, and table4-loss.svg\n", self->output);
    }
    pairs_free(&test);
    parser_free(&parser);
    return was_interrupted() ? EXIT_INTERRUPTED : result;
}

/* Checks that the user named all three files or none. With none, sets defaults for generated trees. Returns -1, or the
 * exit status on failure. */
static int choose_trees(struct table4_run *self) {
    struct parse_train_flags *flags = &self->run.flags;
    const struct named_file files[] = {{"--train", flags->train}, {"--dev", flags->dev}, {"--test", self->test}};
    const char *given = NULL, *missing = NULL;
    for (size_t i = sizeof files / sizeof files[0]; i-- > 0;)
        *(files[i].path != NULL ? &given : &missing) = files[i].option;
    if (given != NULL && missing != NULL) {
        complain(
            "%s FILE.tsv is missing: found %s, expected all of --train, --dev, and --test, or none of them for "
            "generated trees",
            missing, given);
        return EXIT_USAGE;
    }
    if (flags->scale == NULL) flags->scale = missing != NULL ? "generated" : "scaled";
    if (missing == NULL) return -1;
    if (flags->gold) {
        complain("found --gold without files, expected --train, --dev, and --test; generated trees are not gold");
        return EXIT_USAGE;
    }
    if (flags->steps < 0 && flags->minutes <= 0) flags->steps = GENERATED_STEPS;
    return -1;
}

/* Locks the folder and generates the trees if needed. Returns -1, or the exit status on failure. */
static int fill_folder(struct table4_run *self) {
    struct parse_train_flags *flags = &self->run.flags;
    if ((self->lock = lock_folder(self->output)) < 0) return EXIT_FAILED;
    if (flags->train != NULL) return -1;
    if (!generated_make(&self->generated, self->output)) return EXIT_FAILED;
    flags->train = self->generated.train;
    flags->dev = self->generated.dev;
    self->test = self->generated.test;
    return -1;
}

/* Checks that the outputs do not overwrite the inputs; check_parse_train_flags() does the other checks. */
static int check_read(const struct table4_run *self, const char *model) {
    static const char *const tables[] = {"table4.md", "table4.tsv", "table4.svg", "table4-loss.svg", NULL};
    char folder[PATH_SIZE];
    snprintf(folder, sizeof folder, "%.4000s/", self->output);
    const struct named_file read[] = {
        {"--test", self->test}, {"--train", self->run.flags.train}, {"--dev", self->run.flags.dev}};
    const int status = check_beside(model, parser_endings, read, 1);
    return status < 0 ? check_beside(folder, tables, read, 3) : status;
}

/* Prepares trees, folder, and model name, and detects a run to resume. Returns -1, or the exit status on failure. */
static int prepare(struct table4_run *self, char model[PATH_SIZE]) {
    char checkpoint[PATH_SIZE];
    int status = choose_trees(self);
    if (status < 0) status = fill_folder(self);
    if (status >= 0) return status;
    snprintf(model, PATH_SIZE, "%.4000s/table4.xf", self->output);
    snprintf(checkpoint, sizeof checkpoint, "%.4000s/table4.xf.ckpt", self->output);
    if ((status = check_read(self, model)) >= 0) return status;
    self->run.flags.model = model;
    self->run.flags.resume = !self->run.flags.overwrite && access(checkpoint, F_OK) == 0;
    return check_parse_train_flags(&self->run.flags);
}

int table4_command(int argc, char **argv) {
    static struct table4_run self;
    static char model[PATH_SIZE];
    struct parse_run *run = &self.run;
    run->flags = (struct parse_train_flags)PARSE_TRAIN_DEFAULTS;
    run->flags.scale = NULL; /* the default depends on the trees */
    self.output = "table4";
    struct flag flags[PARSE_TRAIN_FLAGS + 3] = {
        {"test", FLAG_TEXT, &self.test, NULL, "FILE.tsv", "Test pairs for the scores at the end."},
        {"out", FLAG_TEXT, &self.output, NULL, "table4",
         "Folder for the table, the plots, and the model. A run that was stopped resumes from there."},
        {"test-sentences", FLAG_COUNT, &self.test_sentences, NULL, "0", "Number of test pairs; 0: all."}};
    parse_train_flags(&run->flags, flags + 3);
    struct command_line line = {
        .usage = "table4 [--train FILE.tsv --dev FILE.tsv --test FILE.tsv] [options]",
        .about =
            "Makes Table 4: trains a parser and scores it with and without the constraint to well-formed trees. "
            "Without "
            "the three files it generates trees of a small grammar, and sets --scale generated --steps 3000.",
        .groups = "context. tokenizer. data.batch_tokens data.seed model. train. decode.",
        .flags = flags,
        .flag_count = sizeof flags / sizeof flags[0]};
    int status = read_command_line(&line, argc - 2, argv + 2);
    if (status < 0) status = prepare(&self, model);
    if (status >= 0) return status;
    xf_error err;
    if (xf_config_create(&run->config, &err) != XF_OK) return fail(&err);
    if (set_scale(run->config, run->flags.scale, &err) != XF_OK) {
        fail(&err);
        status = EXIT_USAGE;
    }
    if (status < 0) status = apply_decoding(&line, run->config, false);
    if (status < 0 && (run->context = open_context(run->config)) == NULL) status = EXIT_FAILED;
    if (status < 0) {
        catch_signals();
        status = parse_train(run);
        if (status == EXIT_OK) status = measure_and_write(&self);
    }
    parse_run_close(run);
    xf_context_free(run->context);
    xf_config_free(run->config);
    return status;
}
