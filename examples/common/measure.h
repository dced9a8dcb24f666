/*
 * measure.h - how good a model is on held-out pairs: loss, perplexity, BLEU, chrF. For while training, and at its end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_MEASURE_H
#define EXAMPLE_MEASURE_H

#include "common.h"

/* Makes a batcher that hands out a corpus in its order, once. NULL after a message. */
xf_batcher *open_plain_batcher(const xf_corpus *corpus, const xf_tokenizer *tokenizer, const xf_config *config);

/*
 * Of a model of many languages: what one group of options says of them, for another that says nothing: "data.", which
 * is of pairs, and "decode.", which is of texts and answers.
 */
enum xf_status share_languages(xf_config *config, const char *from, const char *to, xf_error *err);

/* What translating a test set gave. */
struct translations {
    struct sentences texts; /* as many as sources; an empty one where a source could not be translated */
    int64_t tokens;         /* target tokens without end symbols */
    int64_t refused;        /* sources that could not be translated */
    int64_t cut;            /* answers that ended at the length limit */
};

/* The flag --bleu: what it says of itself, and what its value names. False after a message. */
#define BLEU_FLAG_HELP                                                                                                \
    "13a: sacreBLEU's, for plain text. paper: that of the paper's Table 2, multi-bleu with compounds split at their " \
    "hyphens, for text that is tokenised."
bool read_bleu(const char *name, int32_t *tokenize);

/* Translates the sources and compares with the references; tokenize is an enum xf_bleu_tokenize, score and chrf may be
 * NULL. */
enum xf_status measure_bleu(xf_decoder *decoder, const struct sentences *sources, const struct sentences *references,
                            int32_t tokenize, struct translations *out, xf_bleu_score *score, double *chrf,
                            xf_error *err);

#endif
