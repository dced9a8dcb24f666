/*
 * parser.h - a parser: a model, the tokenizer of its sentences and the labels of its trees; and how good it is.
 *
 * It is three files: M.xf, M.xf.tokenizer.json and M.xf.labels (a label on each line, in the order of the symbols;
 * before them "XX 10" when the leaves have ten ids, see alphabet.h).
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

/* What stands beside a model's name in the names of a parser's files, and of a training run's; for check_beside(). */
extern const char *const parser_endings[];

struct parser {
    xf_model *model;
    xf_tokenizer *tokenizer;
    struct labels labels;
    int32_t leaves; /* ids of a leaf; see alphabet.h */
};

/* The ids of its trees. */
struct alphabet parser_alphabet(const struct parser *parser);

/* Loads the three files. False after a message. */
bool parser_load(struct parser *parser, xf_context *context, const char *path);
/* Tokenizer and labels alone: what a checkpoint does not hold. False after a message. */
bool parser_load_vocabulary(struct parser *parser, xf_context *context, const char *path);
bool parser_save_vocabulary(const struct parser *parser, const char *path);
void parser_free(struct parser *parser);

/* What a parser says to one sentence. */
struct answer {
    struct tree tree;      /* empty when it holds a token that is no symbol */
    enum tree_fault fault; /* TREE_OK: a tree with as many leaves as there are words */
    bool finished;         /* else it was cut off at the length limit */
    double log_probability;
};

/*
 * Parses all sentences, which pairs_encode() has encoded; answers has room for as many. With constrained, no answer is
 * anything but a tree of the sentence.
 */
enum xf_status parse_all(const struct parser *parser, xf_decoder *decoder, const struct pairs *pairs, bool constrained,
                         struct answer *answers, xf_error *err);
void answers_free(struct answer *answers, size_t count);

/* What parsing a test set gave. */
struct parse_score {
    struct evalb evalb;
    int64_t malformed;    /* answers that are no tree of their sentence */
    int64_t unfinished;   /* of those: cut off at the length limit */
    int64_t wrong_leaves; /* of those: a tree, with another number of leaves */
    double seconds;
};
enum xf_status measure_parser(const struct parser *parser, xf_decoder *decoder, const struct pairs *pairs,
                              bool constrained, struct answer *answers, struct parse_score *score, xf_error *err);

/*
 * Opens what a command needs that parses: the options of the preset "parsing" with those of the command line, and a
 * context. Returns -1 to go on, or the exit status; the caller frees both either way.
 */
int open_parsing(const struct command_line *line, xf_config **config, xf_context **context);

/* Cross-entropy in nats per target token, without smoothing, on all pairs. */
enum xf_status measure_nll(const struct parser *parser, xf_decoder *decoder, const struct pairs *pairs, double *nll,
                           xf_error *err);

#endif
