/*
 * parse_command.c - `paper_parse parse`: reads sentences, one per line, and prints a tree for each as soon as possible.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "lines.h"
#include "options.h"
#include "parser.h"

enum { AT_A_TIME = 64 };

struct session {
    const char *model;
    bool words;
    struct parser parser;
    xf_decoder *decoder;
    struct pairs pairs;
    bool has_tree[AT_A_TIME]; /* for each line read; false prints an empty line */
    size_t lines;
    int64_t longest; /* limit of source tokens */
    size_t line;     /* number of the last line read */
    bool refused;    /* at least one line was rejected */
};

/* Prints a word as in the Penn Treebank, with brackets escaped to distinguish them from those of the tree. */
static void print_word(const char *word, size_t length) {
    for (size_t i = 0; i < length; ++i) {
        if (word[i] == '(')
            fputs("-LRB-", stdout);
        else if (word[i] == ')')
            fputs("-RRB-", stdout);
        else
            putchar(word[i]);
    }
}

/* Prints the tree with words at its leaves, as in the Penn Treebank: "(S (NP Dogs) (VP bark))". */
static void print_words(const struct session *session, const struct pair *pair, const struct tree *tree) {
    const char *word = pair->text, *end = pair->text + pair->text_length;
    for (size_t i = 0; i < tree->length; ++i) {
        const int32_t symbol = tree->symbols[i];
        if (is_closing(symbol)) {
            putchar(')');
            continue;
        }
        if (i > 0) putchar(' ');
        if (symbol != SYMBOL_LEAF) {
            printf("(%s", session->parser.labels.names[label_of(symbol)]);
        } else {
            const char *blank = memchr(word, ' ', (size_t)(end - word)); /* a word may contain a NUL byte */
            if (blank == NULL) blank = end;
            print_word(word, (size_t)(blank - word));
            word = blank < end ? blank + 1 : end;
        }
    }
    putchar('\n');
}

static void print_tree(const struct session *session, const struct pair *pair, const struct tree *tree) {
    if (session->words) {
        print_words(session, pair, tree);
        return;
    }
    char *text = allocate(tree_text_size(&session->parser.labels, tree->symbols, tree->length));
    tree_write(text, &session->parser.labels, tree->symbols, tree->length);
    puts(text);
    free(text);
}

static void take_line(struct session *session, const char *text, size_t length) {
    xf_error err;
    struct pairs one = {0};
    const bool has_words = pairs_add(&one, text, length);
    bool good = has_words;
    if (good && pairs_encode(&one, session->parser.tokenizer, &err) != XF_OK) {
        complain("line %zu: %s", session->line, err.message);
        good = false;
    } else if (good && one.list[0].source_length > session->longest) {
        complain("line %zu has %d tokens, expected at most %lld", session->line, (int)one.list[0].source_length,
                 (long long)session->longest);
        good = false;
    }
    if (has_words && !good) session->refused = true;
    if (good) pairs_add(&session->pairs, text, length);
    pairs_free(&one);
    session->has_tree[session->lines++] = good;
}

/* Parses the lines read so far and prints a tree for each. Returns -1, or the exit status on failure. */
static int answer_lines(struct session *session) {
    struct answer answers[AT_A_TIME];
    xf_error err;
    size_t next = 0;
    xf_status status = pairs_encode(&session->pairs, session->parser.tokenizer, &err);
    if (status == XF_OK && session->pairs.count > 0)
        status = parse_all(&session->parser, session->decoder, &session->pairs, true, answers, &err);
    if (status != XF_OK) return fail(&err);
    for (size_t i = 0; i < session->lines; ++i) {
        if (!session->has_tree[i]) {
            putchar('\n');
            continue;
        }
        if (answers[next].fault != TREE_OK) {
            complain("line %zu: no tree fits into the source length plus decode.max_extra_tokens; increase that option",
                     session->line - session->lines + i + 1);
            session->refused = true;
        }
        print_tree(session, &session->pairs.list[next], &answers[next].tree);
        ++next;
    }
    answers_free(answers, session->pairs.count);
    pairs_free(&session->pairs);
    session->lines = 0;
    return check_output();
}

static int parse_lines(struct session *session) {
    struct line_reader reader = {.fd = 0};
    int status = -1;
    for (bool ended = false; status < 0 && !ended;) {
        const char *text;
        size_t length;
        switch (next_line(&reader, session->lines == 0, &text, &length)) {
            case LINE_OK:
                session->line++;
                take_line(session, text, length);
                if (session->lines == AT_A_TIME) status = answer_lines(session);
                break;
            case LINE_TOO_LONG:
                complain("line %zu is longer than 1 MiB", ++session->line);
                session->refused = true;
                session->has_tree[session->lines++] = false;
                if (session->lines == AT_A_TIME) status = answer_lines(session);
                break;
            case LINE_NONE_NOW:
                status = answer_lines(session);
                break;
            case LINE_END:
                ended = true;
                break;
            case LINE_FAILED:
                complain("reading failed: %s", strerror(reader.error));
                status = EXIT_FAILED;
                break;
        }
    }
    if (status < 0) status = answer_lines(session);
    close_lines(&reader);
    return status >= 0 ? status : session->refused ? EXIT_FAILED : EXIT_OK;
}

static int open_and_parse(struct session *session, const xf_config *config, xf_context *context) {
    xf_error err;
    if (!parser_load(&session->parser, context, session->model)) return EXIT_FAILED;
    if (xf_decoder_create(session->parser.model, NULL, config, &session->decoder, &err) != XF_OK ||
        get_integer(xf_model_config(session->parser.model), "model.max_length", &session->longest, &err) != XF_OK)
        return fail(&err);
    /* A tree has one token per word, two per bracket, and the end token: at least three more than the words. */
    session->longest -= 3;
    return parse_lines(session);
}

int parse_command(int argc, char **argv) {
    static struct session session;
    const struct flag flags[] = {
        {"model", FLAG_TEXT, &session.model, NULL, "M.xf", "The model. Required."},
        {"words", FLAG_SWITCH, &session.words, NULL, "",
         "Prints the words at the leaves: (S (NP Dogs) (VP bark)). A bracket in a word is printed as -LRB- or -RRB-."},
        {"beam", FLAG_OPTION, NULL, "decode.beam", "21", "The same as --decode.beam."},
        {"threads", FLAG_OPTION, NULL, "context.threads", "N", "The same as --context.threads."},
    };
    struct command_line line = {.usage = "parse --model M.xf [options] < sentences > trees",
                                .about =
                                    "Parses sentences, one per line, with words and punctuation separated by "
                                    "blanks. Every output is a well-formed tree.",
                                .groups = "context. decode.",
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0]};
    int status = read_command_line(&line, argc - 2, argv + 2);
    if (status >= 0) return status;
    if (session.model == NULL) {
        complain("--model M.xf is missing; see paper_parse parse --help");
        return EXIT_USAGE;
    }
    xf_config *config = NULL;
    xf_context *context = NULL;
    status = open_parsing(&line, &config, &context);
    if (status < 0) status = open_and_parse(&session, config, context);
    xf_decoder_free(session.decoder);
    pairs_free(&session.pairs);
    parser_free(&session.parser);
    xf_context_free(context);
    xf_config_free(config);
    return status;
}
