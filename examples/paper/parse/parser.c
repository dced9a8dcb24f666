/*
 * parser.c - loads, saves, runs, and scores a parser; see parser.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "parser.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "files.h"
#include "grammar.h"
#include "lines.h"
#include "signals.h"

const char *const parser_endings[] = {".tokenizer.json", ".labels",    ".ckpt", ".ckpt.prev",
                                      ".data",           ".curve.tsv", ".avg-", NULL};

struct alphabet parser_alphabet(const struct parser *parser) {
    return (struct alphabet){vocabulary_size(parser->tokenizer), parser->labels.count, parser->leaves};
}

/* Parses "XX 10", the first line of the labels if the leaves have ten ids. */
static bool read_leaves(const char *text, size_t length, int32_t *leaves) {
    static const char head[] = {'X', 'X', ' '};
    if (length <= sizeof head || length > sizeof head + 4 || memcmp(text, head, sizeof head) != 0) return false;
    int32_t number = 0;
    for (size_t i = sizeof head; i < length; ++i) {
        if (text[i] < '0' || text[i] > '9') return false;
        number = 10 * number + (text[i] - '0');
    }
    *leaves = number;
    return number >= 2 && number <= MAX_LEAVES;
}

static bool load_labels(struct labels *labels, int32_t *leaves, const char *path) {
    struct line_reader reader = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (reader.fd < 0) {
        complain("cannot open %s: %s", path, strerror(errno));
        return false;
    }
    const char *text;
    size_t length;
    bool good = true, first = true;
    labels->count = 0;
    *leaves = 1;
    for (enum line_status status; good && (status = next_line(&reader, true, &text, &length)) != LINE_END;) {
        const bool is_leaves = first && status == LINE_OK && read_leaves(text, length, leaves);
        first = false;
        if (is_leaves) continue;
        good = status == LINE_OK && length > 0 && length < LABEL_SIZE && labels->count < MAX_LABELS &&
               memchr(text, '\0', length) == NULL && memchr(text, ' ', length) == NULL;
        if (!good) break;
        memcpy(labels->names[labels->count], text, length);
        labels->names[labels->count++][length] = '\0';
    }
    close(reader.fd);
    close_lines(&reader);
    good = good && labels->count > 0;
    if (!good)
        complain("%s is not a list of labels, expected one label of 1 to %d bytes on each line, and at most %d labels",
                 path, (int)LABEL_SIZE - 1, (int)MAX_LABELS);
    return good;
}

bool parser_load_vocabulary(struct parser *parser, xf_context *context, const char *path) {
    char name[PATH_SIZE];
    xf_error err;
    snprintf(name, sizeof name, "%.4000s.tokenizer.json", path);
    const xf_source source = XF_SOURCE_PATH(name);
    if (xf_tokenizer_load(context, &source, &until_interrupted, &parser->tokenizer, &err) != XF_OK) {
        fail(&err);
        return false;
    }
    snprintf(name, sizeof name, "%.4000s.labels", path);
    return load_labels(&parser->labels, &parser->leaves, name);
}

bool parser_save_vocabulary(const struct parser *parser, const char *path) {
    char name[PATH_SIZE];
    xf_error err;
    struct sentences lines = {0};
    snprintf(name, sizeof name, "%.4000s.tokenizer.json", path);
    const xf_sink sink = XF_SINK_PATH(name);
    if (xf_tokenizer_save(parser->tokenizer, NULL, &sink, &err) != XF_OK) {
        fail(&err);
        return false;
    }
    if (parser->leaves > 1) {
        const int length = snprintf(name, sizeof name, "XX %d", (int)parser->leaves);
        sentences_add(&lines, name, (size_t)length);
    }
    for (int32_t i = 0; i < parser->labels.count; ++i)
        sentences_add(&lines, parser->labels.names[i], strlen(parser->labels.names[i]));
    snprintf(name, sizeof name, "%.4000s.labels", path);
    const int status = write_sentences(name, &lines);
    sentences_free(&lines);
    return status < 0;
}

bool parser_load(struct parser *parser, xf_context *context, const char *path) {
    xf_error err;
    const xf_source source = XF_SOURCE_PATH(path);
    if (xf_model_load(context, &source, NULL, &until_interrupted, &parser->model, &err) != XF_OK) {
        fail(&err);
        return false;
    }
    if (!parser_load_vocabulary(parser, context, path)) return false;
    int64_t size = 0;
    const struct alphabet alphabet = parser_alphabet(parser);
    const int64_t wanted = (int64_t)alphabet.first_id + alphabet_size(&alphabet);
    get_integer(xf_model_config(parser->model), "model.vocab_size", &size, NULL);
    if (size == wanted) return true;
    complain("%s has %lld ids, but its tokenizer and labels have %lld; use files from the same training run", path,
             (long long)size, (long long)wanted);
    return false;
}

void parser_free(struct parser *parser) {
    xf_model_free(parser->model);
    xf_tokenizer_free(parser->tokenizer);
    memset(parser, 0, sizeof *parser);
}

/* Converts the best hypothesis to a tree. A token of the source vocabulary is not a symbol and makes the tree empty. */
static void take_answer(struct answer *answer, const xf_hypothesis *best, const struct alphabet *alphabet,
                        int64_t words) {
    answer->finished = best->finished != 0;
    answer->log_probability = best->log_probability;
    answer->fault = TREE_OK;
    for (size_t i = 0; i < best->id_count && answer->fault == TREE_OK; ++i) {
        const int32_t symbol = symbol_of(alphabet, best->ids[i]);
        if (symbol < 0) answer->fault = TREE_UNKNOWN_WORD;
        tree_add(&answer->tree, symbol);
    }
    if (answer->fault == TREE_OK) answer->fault = tree_check(answer->tree.symbols, answer->tree.length, words);
    if (answer->fault == TREE_UNKNOWN_WORD) answer->tree.length = 0;
}

xf_status parse_all(const struct parser *parser, xf_decoder *decoder, const struct pairs *pairs, bool constrained,
                    struct answer *answers, xf_error *err) {
    struct own_batch own = {0};
    xf_hypotheses *found = NULL;
    size_t *index = allocate(pairs->count * sizeof *index);
    int64_t *words = allocate(pairs->count * sizeof *words);
    for (size_t i = 0; i < pairs->count; ++i) index[i] = i, words[i] = pairs->list[i].words;
    memset(answers, 0, pairs->count * sizeof *answers);
    own_batch_fill(&own, pairs, index, pairs->count, NULL);
    struct grammar grammar = {parser_alphabet(parser), words, pairs->count};
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    xf_constraint constraint = XF_CONSTRAINT_INIT;
    constraint.function = grammar_allow;
    constraint.user = &grammar;
    params.constraint = constrained ? &constraint : NULL;
    xf_status status = xf_decode(decoder, &own.batch, &params, &until_interrupted, &found, err);
    for (size_t i = 0; status == XF_OK && i < pairs->count; ++i) {
        xf_hypothesis best = XF_HYPOTHESIS_INIT;
        status = xf_hypotheses_get(found, i, 0, &best, err);
        if (status == XF_OK) take_answer(&answers[i], &best, &grammar.alphabet, words[i]);
    }
    if (status != XF_OK) answers_free(answers, pairs->count);
    xf_hypotheses_free(found);
    own_batch_free(&own);
    free(words);
    free(index);
    return status;
}

void answers_free(struct answer *answers, size_t count) {
    for (size_t i = 0; i < count; ++i) tree_free(&answers[i].tree);
}

xf_status measure_parser(const struct parser *parser, xf_decoder *decoder, const struct pairs *pairs, bool constrained,
                         struct answer *answers, struct parse_score *score, xf_error *err) {
    const double began = now();
    *score = (struct parse_score){0};
    const xf_status status = parse_all(parser, decoder, pairs, constrained, answers, err);
    if (status != XF_OK) return status;
    score->seconds = now() - began;
    for (size_t i = 0; i < pairs->count; ++i) {
        const struct answer *answer = &answers[i];
        const bool good = answer->fault == TREE_OK && answer->finished;
        score->malformed += !good;
        score->unfinished += !answer->finished;
        score->wrong_leaves += answer->finished && answer->fault == TREE_LEAVES;
        evalb_add(&score->evalb, &parser->labels, pairs->list[i].deleted, &pairs->list[i].tree, answer->tree.symbols,
                  answer->tree.length);
    }
    return XF_OK;
}

xf_status measure_nll(const struct parser *parser, xf_decoder *decoder, const struct pairs *pairs, double *nll,
                      xf_error *err) {
    enum { AT_A_TIME = 64 }; /* limits memory use; does not affect the sum */
    struct own_batch own = {0};
    size_t index[AT_A_TIME];
    const struct alphabet alphabet = parser_alphabet(parser);
    double sum = 0, tokens = 0;
    xf_status status = XF_OK;
    for (size_t begin = 0; status == XF_OK && begin < pairs->count; begin += AT_A_TIME) {
        size_t count = 0;
        while (count < AT_A_TIME && begin + count < pairs->count) index[count] = begin + count, ++count;
        own_batch_fill(&own, pairs, index, count, &alphabet);
        double scores[AT_A_TIME];
        status = xf_score(decoder, &own.batch, &until_interrupted, scores, err);
        for (size_t i = 0; status == XF_OK && i < count; ++i) sum -= scores[i];
        tokens += (double)own.batch.tgt_offsets[count];
    }
    own_batch_free(&own);
    if (status == XF_OK) *nll = sum / tokens;
    return status;
}

int open_parsing(const struct command_line *line, xf_config **config, xf_context **context) {
    xf_error err;
    if (xf_config_create(config, &err) != XF_OK || xf_config_preset(*config, "parsing", &err) != XF_OK)
        return fail(&err);
    const int status = apply_decoding(line, *config, false);
    if (status >= 0) return status;
    *context = open_context(*config);
    return *context != NULL ? -1 : EXIT_FAILED;
}
