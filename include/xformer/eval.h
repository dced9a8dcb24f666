/*
 * xformer/eval.h - translation metrics: BLEU and chrF.
 *
 * Corpus-level, one reference, equal to sacreBLEU 2.x.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_EVAL_H
#define XFORMER_EVAL_H

#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup eval Metrics
 * @brief BLEU and chrF.
 * @{
 */

/** @brief How BLEU splits text into words. @since 0.1 */
enum xf_bleu_tokenize {
    /** mteval-v13a, sacreBLEU's default: for raw text. */
    XF_BLEU_13A = 0,
    /** At white space only: for text that is tokenised already. As multi-bleu, but smoothed. */
    XF_BLEU_NONE = 1,
    /**
     * For text that is tokenised already: at the white space of ASCII and around a hyphen within a word, and a
     * precision of zero is not smoothed. The paper's Table 2: multi-bleu on tokenised text with compounds split, as
     * tensor2tensor's get_ende_bleu.sh does (of the hyphens of "a-b-c" it splits the first).
     */
    XF_BLEU_SPLIT_HYPHENS = 2
};

/** @brief A corpus BLEU score with its parts. @since 0.1 */
typedef struct xf_bleu_score {
    /** In: sizeof(xf_bleu_score) of the caller. */
    size_t struct_size;
    /** 0 to 100. */
    double score;
    /** n-gram precisions in percent, n = 1 to 4, smoothed as sacreBLEU's "exp" does, but for XF_BLEU_SPLIT_HYPHENS. */
    double precisions[4];
    /** 0 to 1. */
    double brevity_penalty;
    /** Words of all hypotheses. */
    int64_t hypothesis_length;
    /** Words of all references. */
    int64_t reference_length;
    /** What was computed, in sacreBLEU's manner; NUL-terminated. */
    char signature[96];
} xf_bleu_score;

/** @brief A zeroed xf_bleu_score with its struct_size. @since 0.1 */
#define XF_BLEU_SCORE_INIT                            \
    {                                                 \
        sizeof(xf_bleu_score), 0, {0}, 0, 0, 0, { 0 } \
    }

/**
 * @brief Computes corpus BLEU.
 * @param hypotheses [in] count NUL-terminated strings
 * @param references [in] count NUL-terminated strings
 * @param count [in] segments; at least 1
 * @param tokenize [in] an enum xf_bleu_tokenize
 * @param score [in,out] struct_size set by the caller
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (tokenize), XF_ERROR_NO_MEMORY
 * @threads any
 * @par Source
 * Papineni et al. 2002; Post 2018 (sacreBLEU)
 * @since 0.1
 */
XF_API enum xf_status xf_bleu(const char *const *hypotheses, const char *const *references, size_t count,
                              int32_t tokenize, xf_bleu_score *score, xf_error *err);

/**
 * @brief Computes corpus chrF2: character n-grams to 6, beta 2, white space removed. sacreBLEU's signature of it is
 * nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no.
 * @param hypotheses [in] count NUL-terminated strings
 * @param references [in] count NUL-terminated strings
 * @param count [in] segments; at least 1
 * @param score [out] 0 to 100
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY
 * @threads any
 * @par Source
 * Popovic 2015
 * @since 0.1
 */
XF_API enum xf_status xf_chrf(const char *const *hypotheses, const char *const *references, size_t count, double *score,
                              xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_EVAL_H */
