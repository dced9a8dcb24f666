/*
 * xformer/decode.h - translation, scoring, and evaluation.
 *
 * Beam search is that of Vaswani et al. 2017, s. 6.1, and Wu et al. 2016, with score = log P / ((5 + L) / 6)^alpha,
 * where the length L includes the end symbol. Limits and stop criteria apply to each sentence separately. A sentence
 * therefore yields the same tokens and the same score in any batch, in any order, and with any number of threads.
 *
 * Sampling. If "decode.temperature" T is above 0, each token v is chosen at random, with a probability proportional to
 * w(v) = P(v)^(1/T), among the tokens that remain after three selections:
 * - "decode.top_k" keeps the most probable tokens (ties: the lower id).
 * - Of these, "decode.top_p" keeps the smallest number of most probable tokens whose sum of w is at least top_p times
 *   the sum over all tokens that top_k kept (Holtzman et al. 2020).
 * - Of these, "decode.min_p" keeps the tokens whose w is at least min_p times that of the most probable token.
 *
 * "decode.n_best" is the number of independent samples. The random numbers are a function (Philox) of "decode.seed",
 * the ids of the source, the number of the sample, and the step. Sentences with equal sources therefore have equal
 * samples. The reported log-probabilities are those of the model, before temperature and selection.
 *
 * "decode.alternatives": each of the n_best most probable tokens after the prefix (possibly the end symbol) begins one
 * hypothesis, which greedy search completes.
 *
 * "decode.repetition_penalty" applies after the prefix. It multiplies the log-probability of each token that the
 * hypothesis already contains, including its prefix (Keskar et al. 2019, s. 4.1, applied to log-probabilities). The
 * reported log-probabilities include the penalty. "decode.no_repeat_ngram" n forbids each token that would complete a
 * sequence of n tokens that the hypothesis already contains (Paulus et al. 2018, s. 2.5).
 *
 * "decode.banned_phrases": no hypothesis contains one of these texts after its prefix. Hypotheses are compared as text,
 * so a phrase is banned for every sequence of tokens that spells it. A phrase that begins with a letter or digit is
 * banned only where a word begins; the word may be longer than the phrase. The comparison is case-sensitive.
 *
 * "decode.alignment": each token of a hypothesis is aligned to the source token with the largest encoder-decoder
 * attention weight when the token is predicted. The weights are the mean over all heads of the last two decoder layers
 * of the first model. The end symbol and language tokens of the source are excluded. If weights are equal, the token
 * with the lower index is selected. After the search of a sentence, the model runs once more on the
 * source and each hypothesis. This pass is completed even if the deadline has passed.
 *
 * On a GPU, beam search and greedy search run on the device. Other searches run on the CPU, which receives
 * log-probabilities from the GPU in each step: those with sampling, alternatives, a repetition penalty, or a draft, and
 * all searches of an ensemble. With a constraint, "decode.no_repeat_ngram", or "decode.banned_phrases", the GPU waits
 * for the CPU in each step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_DECODE_H
#define XFORMER_DECODE_H

#include "xformer/config.h"
#include "xformer/context.h"
#include "xformer/data.h"
#include "xformer/model.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup decode Decoding and scoring
 * @brief Beam search, greedy search, prefixes, scores of given targets, perplexity.
 * @{
 */

/** @brief Options and workspace for decoding with a model. @since 0.1 */
typedef struct xf_decoder xf_decoder;
/** @brief The results of a decoding call. @since 0.1 */
typedef struct xf_hypotheses xf_hypotheses;

/**
 * @brief Models that decode together with the first model: the other models of an ensemble, or a draft.
 *
 * They must belong to the same context as the first model, and have the same vocabulary sizes, start and end tokens,
 * and tokenizer. If the first model has no tokenizer, they must not have one either. The decoder or the engine keeps
 * them alive.
 *
 * @since 0.1
 */
typedef struct xf_decode_models {
    /** sizeof(xf_decode_models) of the caller. */
    size_t struct_size;
    /**
     * [ensemble_count] the other models of an ensemble. The log-probability of a token is the mean of its
     * log-probabilities in all models; the mean is not renormalized. Scores and options are defined as for one model.
     * These models must also have the same first token, banned tokens, and languages as the first model, and at least
     * its "model.max_length". May be NULL.
     */
    const xf_model *const *ensemble;
    /** Number of models in ensemble, at most 7. */
    size_t ensemble_count;
    /**
     * A smaller model that proposes the next tokens in greedy search. The first model checks up to
     * "decode.draft_tokens" proposals in one step. The results have the same bits as without a draft; only the speed
     * changes. Used with "decode.beam" 1, if there is no constraint, sampling, repetition penalty, n-gram limit, or
     * banned phrase, "decode.alternatives" is false, and the source is not longer than the "model.max_length" of the
     * draft. NULL: no draft. Must be NULL for an ensemble.
     */
    const xf_model *draft;
} xf_decode_models;

/** @brief An xf_decode_models with its struct_size. @since 0.1 */
#define XF_DECODE_MODELS_INIT \
    { sizeof(xf_decode_models), NULL, 0, NULL }

/**
 * @brief Creates a decoder.
 *
 * Reads the options of the groups "decode." and "text."; for xf_evaluate() also "train.label_smoothing" and
 * "train.label_smoothing_kind". A decoder does not copy parameters, and any number of decoders may use one model. While
 * a trainer trains the model, decoders may be used between the training steps.
 *
 * @param model [in] kept alive by the decoder
 * @param more [in] an ensemble or a draft; NULL: none. Attention weights (experimental.h) are computed only for the
 * first model
 * @param config [in] NULL: all defaults (beam 4, alpha 0.6, maximum length of source length + 50)
 * @param out [out] the decoder; free it with xf_decoder_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also: "decode.n_best" exceeds "decode.beam" without sampling and
 *         alternatives; sampling or alternatives with a "decode.beam" other than 1; sampling together with
 *         alternatives; "decode.top_k", "decode.top_p", or "decode.min_p" without sampling; models that cannot decode
 *         together), XF_ERROR_STATE ("decode.banned_phrases" for a model without a tokenizer), XF_ERROR_NO_MEMORY,
 *         XF_ERROR_BACKEND, XF_ERROR_BUSY
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_decoder_create(const xf_model *model, const xf_decode_models *more, const xf_config *config,
                                   xf_decoder **out, xf_error *err);

/**
 * @brief Frees a decoder. Its hypotheses remain valid.
 * @param decoder [in] NULL has no effect
 * @threads any
 * @since 0.1
 */
XF_API void xf_decoder_free(xf_decoder *decoder);

/** @brief A constraint; defined in experimental.h. @since 0.1 */
struct xf_constraint;

/**
 * @brief Parameters of one call of xf_decode() or xf_translate(). A pointer that is NULL is not used.
 * @since 0.1
 */
typedef struct xf_decode_params {
    /** sizeof(xf_decode_params) of the caller. */
    size_t struct_size;
    /** Options of the groups "decode." and "text." that are set here override the decoder's own during the call. */
    const xf_config *config;
    /** xf_translate(): [count] texts with which the translations begin; a NULL element: no prefix. */
    const char *const *prefixes;
    /** [count] sizes of the prefixes in bytes; NULL: they are NUL-terminated. */
    const size_t *prefix_lengths;
    /**
     * xf_decode(): concatenated ids with which the hypotheses begin, without start and end symbols. If
     * "model.first_token" or a target language defines the first token of every hypothesis, the prefix follows that
     * token.
     */
    const int32_t *prefix_ids;
    /**
     * [sentences + 1] offsets of the prefixes in prefix_ids. They start with 0 and do not decrease. Must be set if
     * prefix_ids is set.
     */
    const int64_t *prefix_offsets;
    /** Restricts the tokens that may follow a hypothesis; see experimental.h. */
    const struct xf_constraint *constraint;
} xf_decode_params;

/** @brief An xf_decode_params with its struct_size. @since 0.1 */
#define XF_DECODE_PARAMS_INIT \
    { sizeof(xf_decode_params), NULL, NULL, NULL, NULL, NULL, NULL }

/**
 * @brief Decodes source sentences that are given as ids.
 *
 * The number of sentences is not limited. The decoder sorts them by length and processes at most
 * "decode.batch_sentences" at a time. A sentence that cannot be decoded (an id out of range, too many tokens) does not
 * fail the call; xf_hypotheses_get_sentence() returns the status of each sentence.
 *
 * When the deadline of the call passes, each running search ends with its best hypothesis so far
 * (xf_hypothesis::complete is 0), and sentences whose search has not begun have the status XF_ERROR_DEADLINE. The
 * deadline is checked after each layer of the encoder and after each step of the search.
 *
 * @param decoder [in,out] the decoder
 * @param batch [in] the source side; targets are ignored
 * @param params [in] NULL: the decoder's options, no prefixes, no constraint
 * @param call [in] NULL: defaults
 * @param out [out] hypotheses in the order of the batch; free them with xf_hypotheses_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also: options that xf_decoder_create() rejects; an unknown or missing
 *         language), XF_ERROR_STATE (as for xf_decoder_create()), XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND, XF_ERROR_BUSY,
 *         XF_ERROR_CANCELLED, XF_ERROR_CALLBACK (the constraint, or progress)
 * @threads exclusive
 * @par Source
 * Vaswani et al. 2017, s. 6.1; Wu et al. 2016, eq. 14
 * @since 0.1
 */
XF_API xf_status xf_decode(xf_decoder *decoder, const xf_batch *batch, const xf_decode_params *params,
                           const xf_call *call, xf_hypotheses **out, xf_error *err);

/**
 * @brief Translates text: encodes it, decodes it, and converts the hypotheses to text.
 *
 * White space around a text is ignored. A text without any token has one empty hypothesis with score 0. A text that
 * cannot be translated (NULL, invalid UTF-8, too long) does not fail the call; xf_hypotheses_get_sentence() returns the
 * status of each text. A multilingual model requires "text.source_language" unless its "model.source_language" is
 * "none", and "text.target_language" unless its "model.target_language" is "none".
 *
 * @param decoder [in,out] the decoder; its model has a tokenizer
 * @param texts [in] count strings
 * @param lengths [in] their sizes in bytes; NULL: the strings are NUL-terminated
 * @param count [in] number of texts; may be 0
 * @param params [in] NULL: the decoder's options, no prefixes, no constraint
 * @param call [in] NULL: defaults; for the deadline see xf_decode()
 * @param out [out] hypotheses in the order of the texts; free them with xf_hypotheses_free()
 * @param err [out] may be NULL
 * @return as xf_decode(); XF_ERROR_STATE (the model has no tokenizer)
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_translate(xf_decoder *decoder, const char *const *texts, const size_t *lengths, size_t count,
                              const xf_decode_params *params, const xf_call *call, xf_hypotheses **out, xf_error *err);

/**
 * @brief Returns the number of sentences.
 * @param hypotheses [in] the hypotheses
 * @return the number; 0 if hypotheses is NULL or another kind of handle
 * @threads shared-read
 * @since 0.1
 */
XF_API size_t xf_hypotheses_sentence_count(const xf_hypotheses *hypotheses);

/** @brief Status of one sentence. @since 0.1 */
typedef struct xf_sentence_info {
    /** In: sizeof(xf_sentence_info) of the caller. */
    size_t struct_size;
    /**
     * XF_OK: the sentence has hypotheses. XF_ERROR_DATA: invalid UTF-8. XF_ERROR_LIMIT: more than 1 GiB of text.
     * XF_ERROR_OUT_OF_RANGE: an id is out of range, the prefix contains a start, end, or banned token, the source is
     * longer than "model.max_length", or the prefix is longer than the maximum length of a hypothesis.
     * XF_ERROR_DEADLINE: the deadline passed before the search of the sentence began. XF_ERROR_INVALID_ARGUMENT: the
     * text is NULL, or the source has no end symbol.
     */
    int32_t status;
    /** Not used, 0. */
    int32_t reserved;
    /** The reason, one sentence; "" if status is XF_OK. Owned by the hypotheses. */
    const char *message;
    /** Number of hypotheses, at most "decode.n_best"; 0 if status is not XF_OK. */
    size_t hypothesis_count;
    /**
     * [source_token_count] where each token of the source ends in the caller's text, in bytes. Token i covers the text
     * from the end of token i - 1, or from 0, to its own end. The end symbol and language tokens cover no text. The
     * offsets are at the ends of characters and never decrease. Where the tokenizer changes the text, for example by
     * Unicode normalization, they are approximate. White space at the beginning of the text belongs to the first token;
     * that at the end belongs to no token. NULL unless "decode.alignment" is true, the source is a text, and it has
     * tokens.
     */
    const size_t *source_ends;
    /** Number of source_ends; 0 if it is NULL. */
    size_t source_token_count;
} xf_sentence_info;

/** @brief An xf_sentence_info with its struct_size. @since 0.1 */
#define XF_SENTENCE_INFO_INIT \
    { sizeof(xf_sentence_info), 0, 0, NULL, 0, NULL, 0 }

/**
 * @brief Returns the status of one sentence.
 * @param hypotheses [in] the hypotheses
 * @param sentence [in] from 0 to xf_hypotheses_sentence_count() - 1
 * @param info [in,out] struct_size set by the caller; strings are valid until the hypotheses are freed
 * @param err [out] may be NULL
 * @return XF_OK (also if info->status is an error), XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (sentence)
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_hypotheses_get_sentence(const xf_hypotheses *hypotheses, size_t sentence, xf_sentence_info *info,
                                            xf_error *err);

/** @brief One hypothesis. The pointers are owned by its xf_hypotheses. @since 0.1 */
typedef struct xf_hypothesis {
    /** In: sizeof(xf_hypothesis) of the caller. */
    size_t struct_size;
    /** [id_count] target ids, including the prefix and the model's first token, without start and end symbols. */
    const int32_t *ids;
    /** Number of ids. */
    size_t id_count;
    /** UTF-8, NUL-terminated; NULL if the model has no tokenizer. */
    const char *text;
    /** Size of text in bytes without the NUL. */
    size_t text_length;
    /**
     * [id_count + finished] natural logarithm of the probability of each token; if finished is 1, the last value is
     * that of the end symbol.
     */
    const float *token_log_probabilities;
    /**
     * [id_count] index of the source token to which each id is aligned; -1 if the source has only special tokens. NULL
     * unless "decode.alignment" is true, and if id_count is 0.
     */
    const int32_t *alignment;
    /**
     * [id_count] size in bytes of the text of the first i + 1 ids, up to the last complete character. The values never
     * decrease, and the last one is text_length. If the tokenizer changes decoded text by rules (SentencePiece's
     * denormalizer_spec), they are approximate. NULL if alignment or text is NULL.
     */
    const size_t *text_ends;
    /** Sum of token_log_probabilities. */
    double log_probability;
    /** log_probability divided by the length penalty. Hypotheses are sorted by score, best first. */
    double score;
    /** 1 if the hypothesis ended with the end symbol; 0 if a limit cut it off or no token could follow. */
    int32_t finished;
    /** 1 if the search was completed; 0 if the deadline ended it. */
    int32_t complete;
} xf_hypothesis;

/** @brief An xf_hypothesis with its struct_size. @since 0.1 */
#define XF_HYPOTHESIS_INIT \
    { sizeof(xf_hypothesis), NULL, 0, NULL, 0, NULL, NULL, NULL, 0, 0, 0, 0 }

/**
 * @brief Returns one hypothesis.
 * @param hypotheses [in] the hypotheses
 * @param sentence [in] from 0 to xf_hypotheses_sentence_count() - 1
 * @param index [in] from 0, the best, to xf_sentence_info::hypothesis_count - 1
 * @param hypothesis [in,out] struct_size set by the caller; pointers are valid until the hypotheses are freed
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (sentence or index); if the sentence failed, the
 *         status of the sentence, with its message in err
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_hypotheses_get(const xf_hypotheses *hypotheses, size_t sentence, size_t index,
                                   xf_hypothesis *hypothesis, xf_error *err);

/**
 * @brief Frees hypotheses.
 * @param hypotheses [in] NULL has no effect
 * @threads any
 * @since 0.1
 */
XF_API void xf_hypotheses_free(xf_hypotheses *hypotheses);

/**
 * @brief Scores given targets: the log-probability of each target given its source, without dropout.
 *
 * The result of a pair has the same bits in any batch. For an ensemble, it is the mean of the results of the models. If
 * the decoder's first input is a language token, the library uses the token that follows the end symbol of the target
 * (see xf_batch); if there is none, it uses the token of "text.target_language".
 *
 * @param decoder [in,out] the decoder
 * @param batch [in] pairs; their number is not limited
 * @param call [in] NULL: defaults
 * @param log_probabilities [out] [sentences] natural log-probability of each target, including its end symbol
 * @param err [out] may be NULL
 * @return as xf_decode(); XF_ERROR_OUT_OF_RANGE (an id; a sentence longer than "model.max_length"), XF_ERROR_DEADLINE
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_score(xf_decoder *decoder, const xf_batch *batch, const xf_call *call, double *log_probabilities,
                          xf_error *err);

/**
 * @brief Scores given translations: encodes the texts like xf_model_encode() and scores them like xf_score().
 *
 * A pair that cannot be scored (NULL, invalid UTF-8, too long) does not fail the call if statuses is not NULL.
 *
 * @param decoder [in,out] the decoder; its model has a tokenizer
 * @param sources [in] count strings
 * @param source_lengths [in] their sizes in bytes; NULL: the strings are NUL-terminated
 * @param targets [in] count strings
 * @param target_lengths [in] their sizes in bytes; NULL: the strings are NUL-terminated
 * @param count [in] number of pairs; may be 0
 * @param call [in] NULL: defaults
 * @param log_probabilities [out] [count] natural log-probability of each target, including its end symbol; NaN for a
 * pair that failed
 * @param statuses [out] [count] status of each pair; NULL: if a pair fails, the call returns the status of the first
 * such pair
 * @param err [out] may be NULL
 * @return as xf_score(); XF_ERROR_STATE (the model has no tokenizer), XF_ERROR_DATA (statuses is NULL and a text is not
 *         UTF-8)
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_score_texts(xf_decoder *decoder, const char *const *sources, const size_t *source_lengths,
                                const char *const *targets, const size_t *target_lengths, size_t count,
                                const xf_call *call, double *log_probabilities, xf_status *statuses, xf_error *err);

/** @brief Quality of a model on held-out pairs. @since 0.1 */
typedef struct xf_eval_stats {
    /** In: sizeof(xf_eval_stats) of the caller. */
    size_t struct_size;
    /** Number of pairs. */
    int64_t sentences;
    /** Target tokens, including end symbols. */
    int64_t tgt_tokens;
    /** Cross-entropy with the decoder's "train.label_smoothing", without dropout, in nats per target token. */
    double loss;
    /** Cross-entropy without label smoothing and dropout, in nats per target token. */
    double nll;
    /** exp(nll): perplexity per token. */
    double perplexity;
} xf_eval_stats;

/** @brief An xf_eval_stats with its struct_size. @since 0.1 */
#define XF_EVAL_STATS_INIT \
    { sizeof(xf_eval_stats), 0, 0, 0, 0, 0 }

/**
 * @brief Measures loss and perplexity on all pairs of a batcher.
 *
 * With "decode.divide_evaluation" and several ranks, this is a collective call: each rank evaluates a part of the
 * batches, and all return the result of a single rank, bit for bit.
 *
 * @param decoder [in,out] the decoder
 * @param batcher [in,out] all batches of its current epoch are read; its position is unchanged afterwards. With
 * "data.sampling", "data.augment", or "data.mix", each pair is evaluated once, as it would be without these options
 * @param call [in] NULL: defaults
 * @param stats [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return as xf_score()
 * @threads exclusive; also for the batcher
 * @since 0.1
 */
XF_API xf_status xf_evaluate(xf_decoder *decoder, xf_batcher *batcher, const xf_call *call, xf_eval_stats *stats,
                             xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_DECODE_H */
