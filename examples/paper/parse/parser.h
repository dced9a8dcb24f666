/*
 * parser.h - a parser: a model, the tokenizer of its sentences, and the labels of its trees. Loads, runs, and scores
 * it.
 *
 * A parser has three files: M.xf, M.xf.tokenizer.json, and M.xf.labels. The last has one label on each line, in the
 * order of the symbols; the first line is "XX 10" if the leaves have ten ids (see alphabet.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_PARSER_H
#define PARSE_PARSER_H

#include <xformer/xformer.h>

#include "evalb.h"
#include "options.h"
#include "pairs.h"

enum { PATH_SIZE = 4096 };

/* The suffixes that the files of a parser and of a training run add to the name of the model; for check_beside(). */
extern const char *const parser_endings[];

struct parser {
    xf_model *model;
    xf_tokenizer *tokenizer;
    struct labels labels;
    int32_t leaves; /* number of leaf ids; see alphabet.h */
};

/* Returns the ids of its trees. */
struct alphabet parser_alphabet(const struct parser *parser);

/* Loads the three files. Returns false after printing a message. */
bool parser_load(struct parser *parser, xf_context *context, const char *path);
/* Loads only tokenizer and labels, which a checkpoint does not contain. Returns false after printing a message. */
bool parser_load_vocabulary(struct parser *parser, xf_context *context, const char *path);
bool parser_save_vocabulary(const struct parser *parser, const char *path);
void parser_free(struct parser *parser);

/* The output of a parser for one sentence. */
struct answer {
    struct tree tree;      /* empty if the output has a token that is not a symbol */
    enum tree_fault fault; /* TREE_OK: a tree with one leaf for each word */
    bool finished;         /* false: cut off at the length limit */
    double log_probability;
};

/*
 * Parses all sentences, which must be encoded (pairs_encode()). `answers` must have room for all. If `constrained` is
 * set, the search is restricted to well-formed trees of the sentence.
 */
xf_status parse_all(const struct parser *parser, xf_decoder *decoder, const struct pairs *pairs, bool constrained,
                    struct answer *answers, xf_error *err);
void answers_free(struct answer *answers, size_t count);

/* The scores of a parser on a test set. */
struct parse_score {
    struct evalb evalb;
    int64_t malformed;    /* answers that are not a tree of their sentence */
    int64_t unfinished;   /* of those: cut off at the length limit */
    int64_t wrong_leaves; /* of those: a tree with a wrong number of leaves */
    double seconds;
};
xf_status measure_parser(const struct parser *parser, xf_decoder *decoder, const struct pairs *pairs, bool constrained,
                         struct answer *answers, struct parse_score *score, xf_error *err);

/*
 * Creates a config, from the preset "parsing" and the command line, and a context. Returns -1, or the exit status on
 * failure. The caller frees both in either case.
 */
int open_parsing(const struct command_line *line, xf_config **config, xf_context **context);

/* Computes the cross-entropy of all pairs in nats per target token, without label smoothing. */
xf_status measure_nll(const struct parser *parser, xf_decoder *decoder, const struct pairs *pairs, double *nll,
                      xf_error *err);

#endif
