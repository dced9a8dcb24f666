/*
 * measure.h - measures a model on held-out pairs (loss, perplexity, BLEU, chrF), during and after training.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXAMPLE_MEASURE_H
#define EXAMPLE_MEASURE_H

#include "common.h"

/* Creates a batcher that returns the pairs of a corpus once, in order. NULL after a message. */
xf_batcher *open_plain_batcher(const xf_corpus *corpus, const xf_tokenizer *tokenizer, const xf_config *config);

/* The translations of a test set. */
struct translations {
    struct sentences texts; /* one per source; empty if the source could not be translated */
    int64_t tokens;         /* target tokens without end symbols */
    int64_t refused;        /* sources that could not be translated */
    int64_t cut;            /* translations that ended at the length limit */
};

/* Suggests chrF if BLEU is 0 although some words are right, which is usual for very short texts. */
void print_bleu_hint(const xf_bleu_score *score);

/* Help text and parser of the flag --bleu. The parser returns false after a message. */
#define BLEU_FLAG_HELP                                                                                             \
    "13a: the default of sacreBLEU, for plain text. paper: as in Table 2 of the paper, multi-bleu with compounds " \
    "split at hyphens, for tokenized text."
bool read_bleu(const char *name, int32_t *tokenize);

/*
 * Translates the sources and compares the translations with the references. tokenize is one of XF_BLEU_...; score and
 * chrf may be NULL.
 */
xf_status measure_bleu(xf_decoder *decoder, const struct sentences *sources, const struct sentences *references,
                       int32_t tokenize, struct translations *out, xf_bleu_score *score, double *chrf, xf_error *err);

/* Translates the sources and keeps the best hypothesis of each. */
xf_status translate_best(xf_decoder *decoder, const struct sentences *sources, struct translations *out, xf_error *err);

#endif
