/*
 * xformer/decode.h - translation and scoring.
 *
 * Beam search as in Vaswani et al. 2017, s. 6.1 and Wu et al. 2016: score = log P / ((5 + L) / 6)^alpha, L counts the
 * end symbol. Limits and stop tests belong to one sentence: it decodes to the same tokens and the same score alone or
 * in any batch, in any order, with any number of threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_DECODE_H
#define XFORMER_DECODE_H

#include "xformer/config.h"
#include "xformer/data.h"
#include "xformer/model.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup decode Decoding and scoring
 * @brief Beam search, greedy search, constraints, scores of given targets, attention weights.
 * @{
 */

/** @brief A decoder: options and workspace over a model it shares with others. @since 0.1 */
typedef struct xf_decoder xf_decoder;
/** @brief The answers of a decode call. @since 0.1 */
typedef struct xf_hypotheses xf_hypotheses;

/**
 * @brief Creates a decoder.
 *
 * Reads the options of the group "decode."; for xf_evaluate() also "train.label_smoothing" and
 * "train.label_smoothing_kind". It copies no weights: many decoders may share a model, and one may be used between the
 * steps of a trainer.
 *
 * @param model [in] kept alive by the decoder
 * @param config [in] NULL: all defaults (beam 4, alpha 0.6, source length + 50)
 * @param out [out] the decoder; the caller frees it with xf_decoder_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also n_best > beam), XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND, XF_ERROR_BUSY
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_decoder_create(const xf_model *model, const xf_config *config, xf_decoder **out,
                                        xf_error *err);

/**
 * @brief Frees a decoder. Hypotheses it gave stay valid.
 * @param decoder [in] NULL is allowed and does nothing
 * @threads any
 * @since 0.1
 */
XF_API void xf_decoder_free(xf_decoder *decoder);

/**
 * @brief Cancels the call that runs on this decoder at the moment; other decoders of the context go on.
 * @param decoder [in] NULL is allowed and does nothing
 * @threads any; async-signal-safe
 * @since 0.1
 */
XF_API void xf_decoder_cancel(xf_decoder *decoder);

/** @brief A hypothesis whose next token is to be chosen: what a constraint is asked about. @since 0.1 */
typedef struct xf_prefix {
    /** sizeof(xf_prefix) of the library: it may grow at its end. */
    size_t struct_size;
    /** Which sentence of the batch, or of the texts, it answers. */
    size_t sentence;
    /** Its tokens so far, without the start symbol; valid during the call. */
    const int32_t *ids;
    /** How many. */
    int64_t length;
    /** Tokens that may follow, the end symbol counted; 1: what is not ended now is cut off. */
    int64_t remaining;
    /** V: how many ids there are. */
    int32_t vocab_size;
    /** Not used, 0. */
    int32_t reserved;
} xf_prefix;

/**
 * @brief Says which tokens may follow a hypothesis: a grammar, a lexicon.
 *
 * allowed has a bit for each id, (vocab_size + 31) / 32 words: bit id % 32 of word id / 32. All are set when it is
 * called; it clears those of the tokens that may not follow. The start symbol is never chosen, whatever its bit.
 *
 * The constraint is hard and works inside beam search: a forbidden token is never chosen, what is allowed competes as
 * ever. Probabilities are the model's own; they are not shared out again among the allowed tokens, so scores of
 * constrained answers compare with those of others. A hypothesis that nothing may follow is dropped; when all are,
 * the sentence's answer has finished 0 and a log_probability of minus infinity.
 *
 * Called on the thread that decodes, once for each live hypothesis and step, in an order that is not promised. It must
 * not throw, longjmp, or use the decoder; the answer is to depend on the prefix alone. 0: go on; any other value ends
 * the call with XF_ERROR_CALLBACK.
 *
 * @since 0.1
 */
typedef int32_t (*xf_constraint_fn)(void *user, const xf_prefix *prefix, uint32_t *allowed);

/**
 * @brief What holds for one call of xf_decode() or xf_translate(). Each pointer may be NULL.
 *
 * On a GPU a constraint costs a wait at each step, since it has to be told what was chosen; prefixes cost none.
 *
 * @since 0.1
 */
typedef struct xf_decode_params {
    /** sizeof(xf_decode_params) of the caller. */
    size_t struct_size;
    /** Options of the group "decode." that were set in it hold for this call, in place of the decoder's own. */
    const xf_config *config;
    /** xf_translate(): [count] texts that the answers begin with, UTF-8; NULL entries: nothing. */
    const char *const *prefixes;
    /** [count] bytes of each prefix; NULL: they are NUL-terminated. */
    const size_t *prefix_lengths;
    /** xf_decode(): the tokens that the answers begin with, without start and end symbol; behind the token that every
     *  answer begins with, where "model.first_token" or a language says one. */
    const int32_t *prefix_ids;
    /** [sentences + 1] where the tokens of each sentence begin, first 0, not falling. Comes with prefix_ids. */
    const int32_t *prefix_offsets;
    /** NULL: any token may follow. */
    xf_constraint_fn constraint;
    /** Passed to constraint. */
    void *constraint_user;
} xf_decode_params;

/** @brief A zeroed xf_decode_params with its struct_size. @since 0.1 */
#define XF_DECODE_PARAMS_INIT \
    { sizeof(xf_decode_params), NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/**
 * @brief Decodes source sentences given as ids.
 *
 * Any number of sentences: the decoder groups them by length and works on "decode.batch_sentences" at a time. A
 * sentence that can't be decoded (an id out of range, too many tokens) does not fail the call: xf_hypotheses_status()
 * says what became of each. Can be cancelled.
 *
 * "decode.deadline_ms" counts from the start of the call. When it passes, each search that runs ends with its best
 * answer so far (xf_hypothesis::complete is 0), and sentences not begun have the status XF_ERROR_DEADLINE.
 *
 * @param decoder [in,out] the decoder
 * @param batch [in] the source side; each sentence ends with the end symbol; targets are not looked at
 * @param params [in] NULL: as the decoder was created, no prefixes, no constraint
 * @param out [out] answers in the order of the batch; the caller frees them with xf_hypotheses_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also n_best > beam, a language that the model does not know or has to be
 *         told), XF_ERROR_LIMIT (2^31 tokens in all), XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND, XF_ERROR_BUSY,
 *         XF_ERROR_CANCELLED, XF_ERROR_CALLBACK (the constraint, progress)
 * @threads exclusive
 * @par Source
 * Vaswani et al. 2017, s. 6.1; Wu et al. 2016, eq. 14
 * @since 0.1
 */
XF_API enum xf_status xf_decode(xf_decoder *decoder, const xf_batch *batch, const xf_decode_params *params,
                                xf_hypotheses **out, xf_error *err);

/**
 * @brief Translates text: encodes, decodes, turns the answers into text.
 *
 * White space around a text, a line end say, never reaches the model. A text of nothing else, or one without a token,
 * has one empty answer with score 0. A text that can't be translated (invalid UTF-8, NULL, too long) does not fail the
 * call; see xf_hypotheses_status(). A model of many languages ("model.languages") has to be told which by
 * "decode.source_language" and "decode.target_language".
 *
 * @param decoder [in,out] the decoder; its model has a tokenizer
 * @param texts [in] count strings of UTF-8
 * @param lengths [in] bytes of each, or NULL when they are NUL-terminated
 * @param count [in] how many; 0 is allowed
 * @param params [in] NULL: as the decoder was created, no prefixes, no constraint
 * @param out [out] answers in the order of the texts; the caller frees them with xf_hypotheses_free()
 * @param err [out] NULL allowed
 * @return as xf_decode(); XF_ERROR_STATE (the model has no tokenizer)
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_translate(xf_decoder *decoder, const char *const *texts, const size_t *lengths, size_t count,
                                   const xf_decode_params *params, xf_hypotheses **out, xf_error *err);

/** @brief One answer. Pointers are owned by its xf_hypotheses. @since 0.1 */
typedef struct xf_hypothesis {
    /** In: sizeof(xf_hypothesis) of the caller. */
    size_t struct_size;
    /** The target ids, without start and end symbol; a prefix is part of them, and a token that every answer has first.
     */
    const int32_t *ids;
    /** How many. */
    int64_t length;
    /** UTF-8, NUL-terminated; NULL when the model has no tokenizer. */
    const char *text;
    /** Bytes of text without the NUL. */
    size_t text_length;
    /** [length + finished] natural logarithm of each token's probability, the end symbol's last when finished. */
    const float *token_log_probabilities;
    /** Their sum. */
    double log_probability;
    /** log_probability divided by the length penalty; answers come best first. */
    double score;
    /** 1 when the answer ended with the end symbol; 0 when a limit cut it off, or nothing could follow it. */
    int32_t finished;
    /** 1 when the search ran to its end, so that no answer within its beam is better; 0 when the deadline ended it. */
    int32_t complete;
} xf_hypothesis;

/** @brief A zeroed xf_hypothesis with its struct_size. @since 0.1 */
#define XF_HYPOTHESIS_INIT \
    { sizeof(xf_hypothesis), NULL, 0, NULL, 0, NULL, 0, 0, 0, 0 }

/**
 * @brief Counts the sentences answered.
 * @param hypotheses [in] the answers
 * @return sentences; 0 when hypotheses is not one
 * @threads shared-read
 * @since 0.1
 */
XF_API size_t xf_hypotheses_sentence_count(const xf_hypotheses *hypotheses);

/**
 * @brief Tells what became of one sentence.
 * @param hypotheses [in] the answers
 * @param sentence [in] from 0 to xf_hypotheses_sentence_count() - 1
 * @param err [out] why, when it has no answer; NULL allowed
 * @return XF_OK: it has answers; XF_ERROR_DATA (invalid UTF-8), XF_ERROR_OUT_OF_RANGE (an id; a source longer than
 *         "decode.max_source_tokens"; a prefix longer than an answer may be), XF_ERROR_DEADLINE,
 *         XF_ERROR_INVALID_ARGUMENT (the text is NULL); also XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE for wrong
 *         arguments of this call
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_hypotheses_status(const xf_hypotheses *hypotheses, size_t sentence, xf_error *err);

/**
 * @brief Counts the answers to one sentence.
 * @param hypotheses [in] the answers
 * @param sentence [in] from 0 to xf_hypotheses_sentence_count() - 1
 * @return 1 to "decode.n_best"; 0 when the sentence has none, see xf_hypotheses_status(), or there is no such sentence
 * @threads shared-read
 * @since 0.1
 */
XF_API size_t xf_hypotheses_answer_count(const xf_hypotheses *hypotheses, size_t sentence);

/**
 * @brief Reads one answer.
 * @param hypotheses [in] the answers
 * @param sentence [in] which sentence
 * @param rank [in] 0 is the best
 * @param hypothesis [in,out] struct_size set by the caller; pointers valid until the hypotheses are freed
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE; when the sentence has no answer, its own status and
 *         message
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_hypotheses_get(const xf_hypotheses *hypotheses, size_t sentence, size_t rank,
                                        xf_hypothesis *hypothesis, xf_error *err);

/**
 * @brief Frees answers.
 * @param hypotheses [in] NULL is allowed and does nothing
 * @threads any
 * @since 0.1
 */
XF_API void xf_hypotheses_free(xf_hypotheses *hypotheses);

/**
 * @brief Scores given targets: the log-probability of each target given its source, without dropout.
 *
 * A pair gets the same bits alone or in any batch. Of a model whose decoder is fed a language first it is the one
 * behind the target's end symbol (xf_batch), else "decode.target_language" of the decoder.
 *
 * @param decoder [in,out] the decoder
 * @param batch [in] pairs; any number
 * @param log_probabilities [out] [sentences] natural logarithms, end symbol included
 * @param err [out] NULL allowed
 * @return as xf_decode()
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_score(xf_decoder *decoder, const xf_batch *batch, double *log_probabilities, xf_error *err);

/** @brief Quality of a model on held-out pairs. @since 0.1 */
typedef struct xf_eval_stats {
    /** In: sizeof(xf_eval_stats) of the caller. */
    size_t struct_size;
    /** Pairs. */
    int64_t sentences;
    /** Target tokens, end symbols counted. */
    int64_t tgt_tokens;
    /** Cross-entropy with "train.label_smoothing" of the decoder's config, nats per target token, no dropout. */
    double loss;
    /** Un-smoothed cross-entropy, nats per target token, no dropout. */
    double nll;
    /** exp(nll): perplexity per token. */
    double perplexity;
} xf_eval_stats;

/** @brief A zeroed xf_eval_stats with its struct_size. @since 0.1 */
#define XF_EVAL_STATS_INIT \
    { sizeof(xf_eval_stats), 0, 0, 0, 0, 0 }

/**
 * @brief Measures loss and perplexity on pairs. Can be cancelled.
 * @param decoder [in,out] the decoder
 * @param batches [in] count batches with targets
 * @param count [in] how many
 * @param stats [in,out] struct_size set by the caller; over all batches together
 * @param err [out] NULL allowed
 * @return as xf_decode()
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_evaluate(xf_decoder *decoder, const xf_batch *batches, size_t count, xf_eval_stats *stats,
                                  xf_error *err);

/**
 * @brief Measures loss and perplexity on all pairs of a batcher, once. Can be cancelled.
 * @param decoder [in,out] the decoder
 * @param batcher [in,out] its whole epoch is read from the beginning; afterwards it stands where it stood. One that
 *        segments texts at random ("data.bpe_dropout", "data.unigram_alpha") is measured as if it did not: its pairs
 *        are encoded once more for this
 * @param stats [in,out] struct_size set by the caller
 * @param err [out] NULL allowed
 * @return as xf_decode()
 * @threads exclusive; the batcher too
 * @since 0.1
 */
XF_API enum xf_status xf_evaluate_batcher(xf_decoder *decoder, xf_batcher *batcher, xf_eval_stats *stats,
                                          xf_error *err);

/** @brief The three uses of attention (paper s. 3.2.3). @since 0.1 */
enum xf_attention_kind {
    /** Encoder self-attention: queries and keys are the source's tokens. */
    XF_ATTENTION_ENCODER = 0,
    /** Decoder self-attention: queries and keys are the target's positions; none looks ahead. */
    XF_ATTENTION_DECODER = 1,
    /** Encoder-decoder attention: queries are the target's positions, keys the source's tokens. */
    XF_ATTENTION_CROSS = 2
};

/**
 * @brief Gives the attention weights of one layer for one pair: what Figures 3 to 5 of the paper draw.
 *
 * The target is given (that of an answer, say, with its end symbol). Position i of the decoder holds the token before
 * target token i, the start symbol at 0, and predicts target token i. Each row sums to 1; what a query may not see has
 * weight 0. Without dropout.
 *
 * @param decoder [in,out] the decoder
 * @param pair [in] a batch of one sentence, source and target with their end symbols
 * @param kind [in] an enum xf_attention_kind
 * @param layer [in] from 0, the lowest
 * @param weights [out] [heads, queries, keys]; may be NULL when capacity is 0
 * @param capacity [in] how many numbers fit
 * @param count [out] how many numbers there are, also when they don't fit
 * @param err [out] NULL allowed
 * @return as xf_decode(); XF_ERROR_OUT_OF_RANGE (a layer, a kind), XF_ERROR_BUFFER_TOO_SMALL (*count is set)
 * @threads exclusive
 * @par Source
 * Vaswani et al. 2017, eq. 1, s. 3.2.3
 * @since 0.1
 */
XF_API enum xf_status xf_attention_weights(xf_decoder *decoder, const xf_batch *pair, int32_t kind, int32_t layer,
                                           float *weights, size_t capacity, size_t *count, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_DECODE_H */
