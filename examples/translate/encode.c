/*
 * encode.c - translate encode: writes a corpus as token ids, so that training can read it in parts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "files.h"
#include "signals.h"
#include "system.h"

/* Pairs from which a tokenizer is learned, unless data.sample is set. More hardly change it. */
enum { SAMPLE = 1000000 };

struct encoding {
    const char *source, *target; /* target is NULL for a file of pairs */
    const char *output, *tokenizer, *model;
    xf_context *context;
    xf_config *config;
    bool terminal;
};

static int32_t show_progress(void *user, const xf_progress *progress) {
    const struct encoding *encoding = user;
    if (!encoding->terminal || strcmp(progress->task, "encode") != 0 || progress->total <= 0) return 0;
    fprintf(stderr, "\r\033[Kencoded %.1f of %.1f MB (%.0f %%)", (double)progress->done / 1e6,
            (double)progress->total / 1e6, 100.0 * (double)progress->done / (double)progress->total);
    set_unfinished_line(true);
    return 0;
}

/* Learns a tokenizer from a sample of the texts. */
static xf_status learn(struct encoding *encoding, const struct command_line *line, xf_tokenizer **tokenizer,
                       xf_error *err) {
    xf_corpus *sample = NULL;
    xf_corpus_stats stats = {.struct_size = sizeof stats};
    int64_t wanted = 0;
    const double began = now();
    xf_status status = get_integer(encoding->config, "data.sample", &wanted, err);
    if (status == XF_OK && wanted == 0) status = xf_config_set_number(encoding->config, "data.sample", SAMPLE, err);
    if (status == XF_OK)
        status = xf_corpus_open(encoding->context, encoding->source, encoding->target, encoding->config,
                                &until_interrupted, &sample, err);
    if (status == XF_OK) status = xf_corpus_get_stats(sample, &stats, err);
    if (status == XF_OK && !is_given(line, "tokenizer.vocab_size") && vocabulary_for(stats.kept) > 0)
        status = xf_config_set_number(encoding->config, "tokenizer.vocab_size", vocabulary_for(stats.kept), err);
    if (status == XF_OK)
        status = xf_tokenizer_train(encoding->context, sample, encoding->config, &until_interrupted, tokenizer, err);
    if (status == XF_OK)
        printf("%-12s %d tokens, learned from %lld pairs in %.1f s\n", "vocabulary", (int)vocabulary_size(*tokenizer),
               (long long)xf_corpus_pair_count(sample), now() - began);
    check_output();
    xf_corpus_free(sample);
    return status;
}

static int encode(struct encoding *encoding, const struct command_line *line) {
    xf_model *model = NULL;
    xf_tokenizer *own = NULL;
    xf_corpus *corpus = NULL;
    xf_error err;
    xf_status status = XF_OK;
    const double began = now();
    encoding->context = open_context(encoding->config);
    if (encoding->context == NULL) return EXIT_FAILED;
    if (encoding->model != NULL) {
        model = open_model(encoding->context, encoding->model, encoding->config);
        if (model == NULL) {
            xf_context_free(encoding->context);
            return EXIT_FAILED;
        }
    } else if (encoding->tokenizer != NULL) {
        const xf_source source = XF_SOURCE_PATH(encoding->tokenizer);
        status = xf_tokenizer_load(encoding->context, &source, &until_interrupted, &own, &err);
    } else {
        status = learn(encoding, line, &own, &err);
    }
    xf_call call = until_interrupted;
    call.progress = show_progress;
    call.user = encoding;
    if (status == XF_OK)
        status = xf_corpus_encode(encoding->context, encoding->source, encoding->target,
                                  model != NULL ? xf_model_tokenizer(model) : own, encoding->config, &call,
                                  encoding->output, &err);
    if (encoding->terminal) fputs("\r\033[K", stderr);
    set_unfinished_line(false);
    if (status == XF_OK)
        status = xf_corpus_open(encoding->context, encoding->output, NULL, encoding->config, NULL, &corpus, &err);
    if (status == XF_OK) {
        print_corpus("corpus", corpus);
        printf("%-12s %s in %.1f s; train with: translate train --train %s\n", "encoded", encoding->output,
               now() - began, encoding->output);
    }
    const int result = status == XF_OK ? check_output() : fail(&err);
    if (status != XF_OK && was_interrupted())
        complain("the parts in %s are kept; the same command continues", encoding->output);
    xf_corpus_free(corpus);
    xf_tokenizer_free(own);
    xf_model_free(model);
    xf_context_free(encoding->context);
    if (status != XF_OK && was_interrupted()) return EXIT_INTERRUPTED;
    return result < 0 ? EXIT_OK : result;
}

int encode_command(int argc, char **argv) {
    struct encoding encoding = {.source = NULL};
    const struct flag flags[] = {
        {"output", FLAG_TEXT, &encoding.output, NULL, "FOLDER",
         "The folder to write, for translate train --train FOLDER. After an interruption, the same command continues. "
         "Required."},
        {"tokenizer", FLAG_TEXT, &encoding.tokenizer, NULL, "FILE.json",
         "Uses this tokenizer. Without it, one is learned from a sample of data.sample pairs, by default a million, "
         "and "
         "the texts are read twice."},
        {"model", FLAG_TEXT, &encoding.model, NULL, "M.xf", "Uses the tokenizer and the special tokens of this model."},
        {"threads", FLAG_OPTION, NULL, "context.threads", "N", "The same as --context.threads."},
    };
    struct command_line line = {.usage = "encode --output FOLDER [options] PAIRS.tsv | SOURCES TARGETS",
                                .about =
                                    "Encodes a corpus once, so that training can begin at once and needs memory for a "
                                    "part of it only. Reads a file of pairs (source TAB target), or two files with "
                                    "the same number of lines, also compressed by gzip or Zstandard; with --tokenizer "
                                    "or --model, also a pipe such as /dev/stdin.",
                                .groups = "context. tokenizer. data. text.",
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0],
                                .most_arguments = 2};
    int status = read_command_line(&line, argc - 2, argv + 2);
    if (status >= 0) return status;
    if (encoding.output == NULL || line.argument_count == 0) {
        complain("%s missing; see translate encode --help",
                 encoding.output == NULL ? "--output FOLDER is" : "the file of pairs is");
        return EXIT_USAGE;
    }
    if (encoding.tokenizer != NULL && encoding.model != NULL) {
        complain("--tokenizer and --model can't be combined");
        return EXIT_USAGE;
    }
    encoding.source = line.arguments[0];
    encoding.target = line.argument_count > 1 ? line.arguments[1] : NULL;
    encoding.terminal = isatty(STDERR_FILENO) == 1;
    for (size_t i = 0; i < line.argument_count && encoding.tokenizer == NULL && encoding.model == NULL; ++i) {
        struct stat status_of;
        if (stat(line.arguments[i], &status_of) != 0 || S_ISREG(status_of.st_mode) || S_ISDIR(status_of.st_mode))
            continue;
        complain("%s is a pipe, which can be read only once; --tokenizer or --model is required", line.arguments[i]);
        return EXIT_USAGE;
    }
    xf_error err;
    if (xf_config_create(&encoding.config, &err) != XF_OK) return fail(&err);
    status = apply_settings(&line, encoding.config);
    catch_signals();
    if (status < 0) status = encode(&encoding, &line);
    xf_config_free(encoding.config);
    return status;
}
