/*
 * measure.h - how good a model is on held-out pairs: loss, perplexity, BLEU, chrF. Used while training and by
 * `translate evaluate`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRANSLATE_MEASURE_H
#define TRANSLATE_MEASURE_H

#include "common.h"

/* Makes a batcher that hands out a corpus in its order, once. NULL after a message. */
xf_batcher *open_plain_batcher(const xf_corpus *corpus, const xf_tokenizer *tokenizer, const xf_config *config);

/* Loss and perplexity of all batches of a batcher, from its first. */
enum xf_status measure_loss(xf_decoder *decoder, xf_batcher *batcher, xf_eval_stats *total, xf_error *err);

/* What translating a test set gave. */
struct translations {
    struct sentences texts; /* as many as sources; an empty one where a source could not be translated */
    int64_t tokens;         /* target tokens without end symbols */
    int64_t refused;        /* sources that could not be translated */
    int64_t cut;            /* answers that ended at the length limit */
};

/* Translates the sources and compares with the references; score and chrf may be NULL. */
enum xf_status measure_bleu(xf_decoder *decoder, const struct sentences *sources, const struct sentences *references,
                            struct translations *out, xf_bleu_score *score, double *chrf, xf_error *err);

#endif
