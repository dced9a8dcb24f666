/*
 * xformer/text.h - the tokenizer: text to ids and back.
 *
 * Byte pair encoding (Sennrich et al. 2016; paper s. 5.1), WordPiece (Schuster and Nakajima 2012; Wu et al. 2016,
 * s. 4.1) or unigram (Kudo 2018), learnt by the library from raw text and shared by source and target. Reversible:
 * decode(encode(x)) is x after Unicode normalisation, white space included. What the vocabulary lacks is spelt in
 * bytes, so there is no unknown token.
 *
 * Or a tokenizer that the SentencePiece program learnt (Kudo and Richardson 2018; unigram or BPE), which
 * `python -m xformer.convert from-sentencepiece` makes a file for xf_tokenizer_load(). It gives the ids that the
 * sentencepiece package gives, so it has that model's normalisation, which loses white space, and its unknown token;
 * its start and end symbols have ids of their own; and it takes any bytes: U+FFFD stands for what is not UTF-8.
 *
 * Or a file of two, one for sources and one for targets; batchers, decoders and models take each for its side. Here
 * xf_tokenizer_encode() then uses the one for sources. What decodes, counts or names ids uses the one for targets.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_TEXT_H
#define XFORMER_TEXT_H

#include "xformer/config.h"
#include "xformer/context.h"
#include "xformer/data.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup text Tokenizer
 * @brief Text to ids and back.
 * @{
 */

/** @brief Id of the start symbol, which the decoder is fed first, of tokenizers learnt here; see "model.start_token".
 * @since 0.1 */
#define XF_TOKEN_START 0
/** @brief Id of the end symbol, which ends every source and every target, of tokenizers learnt here; see
 * "model.end_token". @since 0.1 */
#define XF_TOKEN_END 1

/**
 * @brief Learns a vocabulary from both sides of a corpus.
 *
 * Reads the options of the group "tokenizer.". Ids: 0 start, 1 end, 2 to 257 the bytes, then characters, then longer
 * pieces in the order learnt. A small corpus may give fewer than asked for. The same corpus and options give the same
 * tokenizer. Takes seconds; can be cancelled.
 *
 * @param context [in] the context
 * @param config [in] NULL: all defaults
 * @param corpus [in] the text
 * @param out [out] the new tokenizer; the caller frees it with xf_tokenizer_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_DATA (invalid UTF-8, no text), XF_ERROR_STATE (a corpus of ids),
 *         XF_ERROR_NO_MEMORY, XF_ERROR_CANCELLED, XF_ERROR_CALLBACK (progress)
 * @threads shared-read
 * @par Source
 * Vaswani et al. 2017, s. 5.1; Sennrich, Haddow, Birch 2016; Wu et al. 2016, s. 4.1; Kudo 2018
 * @since 0.1
 */
XF_API enum xf_status xf_tokenizer_train(xf_context *context, const xf_config *config, const xf_corpus *corpus,
                                         xf_tokenizer **out, xf_error *err);

/**
 * @brief Loads a tokenizer that xf_tokenizer_save() or the converter wrote. The file is not trusted.
 * @param context [in] the context
 * @param path [in] file name
 * @param out [out] the new tokenizer; the caller frees it with xf_tokenizer_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND, XF_ERROR_IO, XF_ERROR_CORRUPT, XF_ERROR_LIMIT,
 *         XF_ERROR_VERSION, XF_ERROR_NO_MEMORY
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_tokenizer_load(xf_context *context, const char *path, xf_tokenizer **out, xf_error *err);

/**
 * @brief Saves a tokenizer as one JSON file, at once or not at all; an old file stays as "<path>.prev".
 * @param tokenizer [in] the tokenizer
 * @param path [in] file name
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_IO, XF_ERROR_NOT_FOUND, XF_ERROR_NO_MEMORY
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_tokenizer_save(const xf_tokenizer *tokenizer, const char *path, xf_error *err);

/**
 * @brief Frees a tokenizer. Models that use it keep it alive.
 * @param tokenizer [in] NULL is allowed and does nothing
 * @threads exclusive
 * @since 0.1
 */
XF_API void xf_tokenizer_free(xf_tokenizer *tokenizer);

/**
 * @brief Counts the ids of a tokenizer, V.
 * @param tokenizer [in] the tokenizer
 * @return V, ids are 0 to V - 1; 0 when tokenizer is not a tokenizer
 * @threads shared-read
 * @since 0.1
 */
XF_API int32_t xf_tokenizer_vocab_size(const xf_tokenizer *tokenizer);

/**
 * @brief Gives the id of the start symbol, which the decoder is fed first.
 * @param tokenizer [in] the tokenizer
 * @return XF_TOKEN_START of a tokenizer learnt here; -1 when it has none, or tokenizer is not a tokenizer
 * @threads shared-read
 * @since 0.1
 */
XF_API int32_t xf_tokenizer_start_token(const xf_tokenizer *tokenizer);

/**
 * @brief Gives the id of the end symbol, which ends every source and every target.
 * @param tokenizer [in] the tokenizer
 * @return XF_TOKEN_END of a tokenizer learnt here; -1 when it has none, or tokenizer is not a tokenizer
 * @threads shared-read
 * @since 0.1
 */
XF_API int32_t xf_tokenizer_end_token(const xf_tokenizer *tokenizer);

/**
 * @brief Turns text into ids, without start and end symbols.
 * @param tokenizer [in] the tokenizer
 * @param text [in] UTF-8 of length bytes; NUL bytes are text; may be NULL when length is 0
 * @param length [in] bytes
 * @param ids [out] room for capacity ids; may be NULL when capacity is 0
 * @param capacity [in] how many ids fit
 * @param count [out] how many ids the text has, also when they don't fit
 * @param err [out] NULL allowed; for invalid UTF-8 it gives the byte offset
 * @return XF_OK; XF_ERROR_BUFFER_TOO_SMALL (*count is set, ids are not), XF_ERROR_DATA (invalid UTF-8, unless the
 *         tokenizer was made with "tokenizer.invalid_utf8" replace), XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_tokenizer_encode(const xf_tokenizer *tokenizer, const char *text, size_t length, int32_t *ids,
                                          size_t capacity, size_t *count, xf_error *err);

/**
 * @brief Turns ids into text; start, end and other control symbols give nothing.
 * @param tokenizer [in] the tokenizer
 * @param ids [in] count ids, each from 0 to V - 1
 * @param count [in] how many
 * @param text [out] room for capacity bytes; NUL-terminated when it fits; may be NULL when capacity is 0
 * @param capacity [in] bytes, the NUL included
 * @param length [out] bytes of the text without the NUL, also when it doesn't fit
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_BUFFER_TOO_SMALL (*length is set, text is not), XF_ERROR_OUT_OF_RANGE (an id),
 *         XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_tokenizer_decode(const xf_tokenizer *tokenizer, const int32_t *ids, size_t count, char *text,
                                          size_t capacity, size_t *length, xf_error *err);

/**
 * @brief Gives the name of an id, for people: "<s>", "</s>", "<0xC3>" for a byte that is no printable character of
 * ASCII, or the piece with U+2581 for its leading space. Of a tokenizer of SentencePiece, the piece as it is there.
 * @param tokenizer [in] the tokenizer
 * @param id [in] from 0 to V - 1
 * @param text [out] room for capacity bytes, as in xf_tokenizer_decode()
 * @param capacity [in] bytes, the NUL included
 * @param length [out] bytes without the NUL
 * @param err [out] NULL allowed
 * @return as xf_tokenizer_decode()
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_tokenizer_get_piece(const xf_tokenizer *tokenizer, int32_t id, char *text, size_t capacity,
                                             size_t *length, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_TEXT_H */
