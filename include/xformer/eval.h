/*
 * xformer/eval.h - translation metrics: BLEU and chrF.
 *
 * Corpus-level scores with one reference per segment, equal to those of sacreBLEU 2.x.
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

/** @brief Tokenization for BLEU: how text is split into words. @since 0.1 */
enum {
    /** mteval-v13a, the default of sacreBLEU: for raw text. */
    XF_BLEU_13A = 0,
    /** For tokenized text: splits only at white space, like multi-bleu, but with smoothing. */
    XF_BLEU_NONE = 1,
    /**
     * For tokenized text: splits at ASCII white space and around a hyphen within a word, without smoothing. This is the
     * score of the paper's Table 2: multi-bleu on tokenized text after the compound splitting of tensor2tensor's
     * get_ende_bleu.sh. Like that script, it splits only the first hyphen of "a-b-c".
     */
    XF_BLEU_SPLIT_HYPHENS = 2
};

/** @brief A corpus BLEU score and its parts. @since 0.1 */
typedef struct xf_bleu_score {
    /** In: sizeof(xf_bleu_score) of the caller. */
    size_t struct_size;
    /** 0 to 100. */
    double score;
    /** n-gram precisions in percent, n = 1 to 4, smoothed like sacreBLEU's "exp", except for XF_BLEU_SPLIT_HYPHENS. */
    double precisions[4];
    /** 0 to 1. */
    double brevity_penalty;
    /** Number of words of all hypotheses. */
    int64_t hypothesis_length;
    /** Number of words of all references. */
    int64_t reference_length;
    /** How the score was computed, in the form of sacreBLEU; NUL-terminated. */
    char signature[96];
} xf_bleu_score;

/** @brief An xf_bleu_score with its struct_size. @since 0.1 */
#define XF_BLEU_SCORE_INIT                            \
    {                                                 \
        sizeof(xf_bleu_score), 0, {0}, 0, 0, 0, { 0 } \
    }

/**
 * @brief Computes corpus BLEU.
 * @param hypotheses [in] count strings
 * @param hypothesis_lengths [in] their sizes in bytes; NULL: the strings are NUL-terminated
 * @param references [in] count strings
 * @param reference_lengths [in] their sizes in bytes; NULL: the strings are NUL-terminated
 * @param count [in] number of segments; at least 1
 * @param tokenize [in] one of XF_BLEU_...
 * @param score [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (tokenize), XF_ERROR_NO_MEMORY
 * @threads any
 * @par Source
 * Papineni et al. 2002; Post 2018 (sacreBLEU)
 * @since 0.1
 */
XF_API xf_status xf_bleu(const char *const *hypotheses, const size_t *hypothesis_lengths, const char *const *references,
                         const size_t *reference_lengths, size_t count, int32_t tokenize, xf_bleu_score *score,
                         xf_error *err);

/** @brief A corpus chrF score. @since 0.1 */
typedef struct xf_chrf_score {
    /** In: sizeof(xf_chrf_score) of the caller. */
    size_t struct_size;
    /** 0 to 100. */
    double score;
    /** How the score was computed, in the form of sacreBLEU; NUL-terminated. */
    char signature[96];
} xf_chrf_score;

/** @brief An xf_chrf_score with its struct_size. @since 0.1 */
#define XF_CHRF_SCORE_INIT              \
    {                                   \
        sizeof(xf_chrf_score), 0, { 0 } \
    }

/**
 * @brief Computes corpus chrF2: character n-grams up to 6, beta 2, white space removed.
 * @param hypotheses [in] count strings
 * @param hypothesis_lengths [in] their sizes in bytes; NULL: the strings are NUL-terminated
 * @param references [in] count strings
 * @param reference_lengths [in] their sizes in bytes; NULL: the strings are NUL-terminated
 * @param count [in] number of segments; at least 1
 * @param score [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY
 * @threads any
 * @par Source
 * Popovic 2015
 * @since 0.1
 */
XF_API xf_status xf_chrf(const char *const *hypotheses, const size_t *hypothesis_lengths, const char *const *references,
                         const size_t *reference_lengths, size_t count, xf_chrf_score *score, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_EVAL_H */
