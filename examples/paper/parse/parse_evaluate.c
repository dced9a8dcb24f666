/*
 * parse_evaluate.c - `paper_parse evaluate`: labeled bracketing scores on a test set, with or without the constraint.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "files.h"
#include "options.h"
#include "report.h"
#include "signals.h"
#include "tree_kind.h"

struct evaluation {
    const char *model, *test, *output;
    int64_t sentences;
    bool unconstrained, gold;
};

/* Writes one tree per line; the line is empty if there is no tree. */
static int write_answers(const char *path, const struct parser *parser, const struct answer *answers, size_t count) {
    struct sentences lines = {0};
    for (size_t i = 0; i < count; ++i) {
        const struct tree *tree = &answers[i].tree;
        char *text = allocate(tree_text_size(&parser->labels, tree->symbols, tree->length));
        tree_write(text, &parser->labels, tree->symbols, tree->length);
        sentences_add(&lines, text, strlen(text));
        free(text);
    }
    const int status = write_sentences(path, &lines);
    sentences_free(&lines);
    return status;
}

static int measure(const struct evaluation *evaluation, const struct parser *parser, xf_decoder *decoder,
                   const struct pairs *pairs) {
    xf_error err;
    double nll = 0;
    struct parse_score score;
    struct answer *answers = allocate(pairs->count * sizeof *answers);
    xf_status result = measure_nll(parser, decoder, pairs, &nll, &err);
    if (result == XF_OK)
        result = measure_parser(parser, decoder, pairs, !evaluation->unconstrained, answers, &score, &err);
    int status = result == XF_OK ? EXIT_OK : fail(&err);
    if (result == XF_OK) {
        print_score(&score, nll, tree_kind_of(pairs, evaluation->gold));
        if (evaluation->output != NULL && write_answers(evaluation->output, parser, answers, pairs->count) >= 0)
            status = EXIT_FAILED;
        answers_free(answers, pairs->count);
    }
    free(answers);
    return was_interrupted() ? EXIT_INTERRUPTED : status;
}

static int evaluate(const struct evaluation *evaluation, const xf_config *config, xf_context *context) {
    struct parser parser = {0};
    struct pairs pairs = {0};
    xf_decoder *decoder = NULL;
    xf_error err;
    int status = EXIT_FAILED;
    if (parser_load(&parser, context, evaluation->model) &&
        pairs_read(&pairs, &parser.labels, false, evaluation->test)) {
        pairs_limit(&pairs, evaluation->sentences);
        if (pairs_encode(&pairs, parser.tokenizer, &err) != XF_OK ||
            xf_decoder_create(parser.model, NULL, config, &decoder, &err) != XF_OK) {
            fail(&err);
        } else {
            const char *beam = "?", *alpha = "?", *extra = "?";
            xf_config_get(config, "decode.beam", &beam, NULL);
            xf_config_get(config, "decode.alpha", &alpha, NULL);
            xf_config_get(config, "decode.max_extra_tokens", &extra, NULL);
            printf("%-12s %s\n", "device", device_of(context));
            printf("%-12s %s, %lld parameters\n", "model", evaluation->model, (long long)parameter_count(parser.model));
            printf("%-12s beam %s, alpha %s, source length + %s, %s\n", "decoding", beam, alpha, extra,
                   evaluation->unconstrained ? "unconstrained" : "constrained to well-formed trees");
            check_output();
            status = measure(evaluation, &parser, decoder, &pairs);
        }
    }
    xf_decoder_free(decoder);
    pairs_free(&pairs);
    parser_free(&parser);
    return status;
}

int parse_evaluate_command(int argc, char **argv) {
    struct evaluation evaluation = {0};
    const struct flag flags[] = {
        {"model", FLAG_TEXT, &evaluation.model, NULL, "M.xf", "The model. Required."},
        {"test", FLAG_TEXT, &evaluation.test, NULL, "FILE.tsv",
         "Test pairs: sentence TAB tree, one per line. Required."},
        {"unconstrained", FLAG_SWITCH, &evaluation.unconstrained, NULL, "",
         "Does not restrict the output to well-formed trees."},
        GOLD_FLAG(&evaluation.gold),
        {"sentences", FLAG_COUNT, &evaluation.sentences, NULL, "0", "Number of pairs to parse; 0: all."},
        {"output", FLAG_TEXT, &evaluation.output, NULL, "FILE", "Writes the trees to this file, one per line."},
        {"beam", FLAG_OPTION, NULL, "decode.beam", "21", "The same as --decode.beam."},
        {"alpha", FLAG_OPTION, NULL, "decode.alpha", "0.3", "The same as --decode.alpha."},
        {"threads", FLAG_OPTION, NULL, "context.threads", "N", "The same as --context.threads."},
    };
    struct command_line line = {.usage = "evaluate --model M.xf --test FILE.tsv [options]",
                                .about = "Parses a test set and scores the result by the rules of EVALB.",
                                .groups = "context. decode.",
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0]};
    int status = read_command_line(&line, argc - 2, argv + 2);
    if (status >= 0) return status;
    if (evaluation.model == NULL || evaluation.test == NULL) {
        complain("%s is missing; see paper_parse evaluate --help",
                 evaluation.model == NULL ? "--model M.xf" : "--test FILE.tsv");
        return EXIT_USAGE;
    }
    const struct named_file output = {"--output", evaluation.output};
    const struct named_file read[] = {{"--test", evaluation.test}, {"--model", evaluation.model}};
    status = check_apart(&output, read, sizeof read / sizeof read[0]);
    if (status < 0) status = check_beside(evaluation.model, parser_endings, &output, 1);
    if (status < 0) status = check_writable(&output);
    if (status >= 0) return status;
    xf_config *config = NULL;
    xf_context *context = NULL;
    status = open_parsing(&line, &config, &context);
    if (status < 0) {
        catch_signals();
        status = evaluate(&evaluation, config, context);
    }
    xf_context_free(context);
    xf_config_free(config);
    return status;
}
