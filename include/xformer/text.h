/*
 * xformer/text.h - tokenizers: text to ids and back; sentences of a text.
 *
 * There are three kinds of tokenizers:
 * - Trained by this library from raw text, and shared by source and target: byte pair encoding (Sennrich et al. 2016;
 *   paper s. 5.1), WordPiece (Schuster and Nakajima 2012; Wu et al. 2016, s. 4.1), or unigram (Kudo 2018). Such a
 *   tokenizer is reversible: decoding the ids of a text returns the text after Unicode normalization, including white
 *   space. Characters that are not in the vocabulary are encoded as bytes, so there is no unknown token.
 * - Trained by SentencePiece (Kudo and Richardson 2018; unigram or BPE) and converted by
 *   `python -m xformer.convert from-sentencepiece`. Such a tokenizer returns the same ids as the sentencepiece package.
 *   It removes extra white space, may have an unknown token, and replaces invalid UTF-8 by U+FFFD.
 * - A pair of tokenizers, one for sources and one for targets, as in MarianMT models. To encode or decode, select a
 *   side with xf_tokenizer_side().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_TEXT_H
#define XFORMER_TEXT_H

#include "xformer/config.h"
#include "xformer/context.h"
#include "xformer/data.h"
#include "xformer/io.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup text Tokenizers
 * @brief Text to ids and back.
 * @{
 */

/** @brief The two sides of a sentence pair. 0 is not a side. @since 0.1 */
enum {
    /** The source: the input of the encoder. */
    XF_SIDE_SOURCE = 1,
    /** The target: the output of the decoder. */
    XF_SIDE_TARGET = 2
};

/**
 * @brief Trains a tokenizer on both sides of a corpus.
 *
 * Reads the options of the group "tokenizer.". Ids: 0 start, 1 end, 2 to 257 the bytes, then characters, then longer
 * pieces in the order in which they were learned (for unigram: most probable first). A small corpus may yield fewer
 * tokens than requested. The same pairs and options yield the same tokenizer.
 *
 * @param context [in] the context
 * @param corpus [in] the text
 * @param config [in] NULL: all defaults
 * @param call [in] NULL: defaults
 * @param out [out] the new tokenizer; free it with xf_tokenizer_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_DATA (invalid UTF-8, or no text), XF_ERROR_STATE (a corpus of
 *         ids or an encoded corpus), XF_ERROR_NO_MEMORY, XF_ERROR_CANCELLED, XF_ERROR_DEADLINE, XF_ERROR_CALLBACK
 * @threads shared-read
 * @par Source
 * Vaswani et al. 2017, s. 5.1; Sennrich, Haddow, Birch 2016; Wu et al. 2016, s. 4.1; Kudo 2018
 * @since 0.1
 */
XF_API xf_status xf_tokenizer_train(xf_context *context, const xf_corpus *corpus, const xf_config *config,
                                    const xf_call *call, xf_tokenizer **out, xf_error *err);

/**
 * @brief Loads a tokenizer that xf_tokenizer_save() or the converter wrote.
 * @param context [in] the context
 * @param source [in] the bytes; not trusted
 * @param call [in] NULL: defaults
 * @param out [out] the new tokenizer; free it with xf_tokenizer_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND, XF_ERROR_IO, XF_ERROR_CORRUPT, XF_ERROR_LIMIT,
 *         XF_ERROR_VERSION, XF_ERROR_NO_MEMORY, XF_ERROR_CANCELLED, XF_ERROR_DEADLINE
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_tokenizer_load(xf_context *context, const xf_source *source, const xf_call *call,
                                   xf_tokenizer **out, xf_error *err);

/**
 * @brief Saves a tokenizer as a JSON file.
 * @param tokenizer [in] the tokenizer; for a pair, both sides are saved
 * @param call [in] NULL: defaults
 * @param sink [in] the destination
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_IO, XF_ERROR_NOT_FOUND (no such folder), XF_ERROR_BUFFER_TOO_SMALL
 *         (only *sink->size is written), XF_ERROR_NO_MEMORY, XF_ERROR_CANCELLED, XF_ERROR_DEADLINE
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_tokenizer_save(const xf_tokenizer *tokenizer, const xf_call *call, const xf_sink *sink,
                                   xf_error *err);

/**
 * @brief Frees a tokenizer. Models that use it keep it alive.
 * @param tokenizer [in] the tokenizer; freeing NULL or a tokenizer that another handle owns has no effect
 * @threads any
 * @since 0.1
 */
XF_API void xf_tokenizer_free(xf_tokenizer *tokenizer);

/**
 * @brief Returns the tokenizer of one side.
 * @param tokenizer [in] the tokenizer
 * @param side [in] XF_SIDE_SOURCE or XF_SIDE_TARGET
 * @return for a pair, the tokenizer of that side, owned by the pair and valid until the pair is freed; otherwise
 *         tokenizer itself; NULL if an argument is invalid
 * @threads shared-read
 * @since 0.1
 */
XF_API const xf_tokenizer *xf_tokenizer_side(const xf_tokenizer *tokenizer, int32_t side);

/** @brief Properties of a tokenizer. @since 0.1 */
typedef struct xf_tokenizer_info {
    /** In: sizeof(xf_tokenizer_info) of the caller. */
    size_t struct_size;
    /** "bpe", "wordpiece", "unigram", "sentencepiece", or "pair"; static. */
    const char *kind;
    /** V: ids are 0 to V - 1. 0 for a pair. */
    int32_t vocab_size;
    /** Id of the start symbol, the decoder's first input; -1: none, or a pair. */
    int32_t start_token;
    /** Id of the end symbol of every source and target; -1: none, or a pair. */
    int32_t end_token;
    /** Not used, 0. */
    int32_t reserved;
} xf_tokenizer_info;

/** @brief An xf_tokenizer_info with its struct_size. @since 0.1 */
#define XF_TOKENIZER_INFO_INIT \
    { sizeof(xf_tokenizer_info), NULL, 0, 0, 0, 0 }

/**
 * @brief Reports the properties of a tokenizer.
 * @param tokenizer [in] the tokenizer
 * @param info [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_tokenizer_get_info(const xf_tokenizer *tokenizer, xf_tokenizer_info *info, xf_error *err);

/**
 * @brief Encodes text as ids, without start, end, and language tokens. xf_model_encode() adds end and language tokens.
 * @param tokenizer [in] the tokenizer; of a pair, one side
 * @param text [in] UTF-8; may contain NUL; may be NULL if length is 0
 * @param length [in] size of the text in bytes
 * @param ids [out] room for capacity ids; may be NULL if capacity is 0
 * @param capacity [in] number of ids that fit
 * @param count [out] number of ids of the text, also if they do not fit
 * @param err [out] may be NULL; for invalid UTF-8 it contains the byte offset
 * @return XF_OK; XF_ERROR_BUFFER_TOO_SMALL (only *count is written), XF_ERROR_DATA (invalid UTF-8, unless the tokenizer
 *         was trained by SentencePiece, with "tokenizer.invalid_utf8" = "replace", or with "tokenizer.normalization" =
 *         "none"), XF_ERROR_LIMIT (more than 1 GiB), XF_ERROR_STATE (a pair), XF_ERROR_INVALID_ARGUMENT,
 *         XF_ERROR_NO_MEMORY
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_tokenizer_encode(const xf_tokenizer *tokenizer, const char *text, size_t length, int32_t *ids,
                                     size_t capacity, size_t *count, xf_error *err);

/**
 * @brief Decodes ids as text. Start, end, and other control symbols produce no text.
 * @param tokenizer [in] the tokenizer; of a pair, one side
 * @param ids [in] count ids, each from 0 to V - 1
 * @param count [in] number of ids
 * @param text [out] room for capacity bytes; NUL-terminated; may be NULL if capacity is 0
 * @param capacity [in] size in bytes, including the NUL
 * @param length [out] size of the text in bytes without the NUL, also if it does not fit
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_BUFFER_TOO_SMALL (only *length is written), XF_ERROR_OUT_OF_RANGE (an id), XF_ERROR_STATE (a
 *         pair), XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_tokenizer_decode(const xf_tokenizer *tokenizer, const int32_t *ids, size_t count, char *text,
                                     size_t capacity, size_t *length, xf_error *err);

/**
 * @brief Returns a readable name of an id.
 *
 * "<s>" and "</s>" are the start and end symbols, and "<0xC3>" is a byte that is not a printable ASCII character. In
 * other pieces, U+2581 represents a leading space. A SentencePiece tokenizer returns its pieces unchanged.
 *
 * @param tokenizer [in] the tokenizer; of a pair, one side
 * @param id [in] from 0 to V - 1
 * @param text [out] room for capacity bytes, as in xf_tokenizer_decode()
 * @param capacity [in] size in bytes, including the NUL
 * @param length [out] size of the name in bytes without the NUL, also if it does not fit
 * @param err [out] may be NULL
 * @return as xf_tokenizer_decode()
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_tokenizer_get_piece(const xf_tokenizer *tokenizer, int32_t id, char *text, size_t capacity,
                                        size_t *length, xf_error *err);

/** @brief A part of a text. @since 0.1 */
typedef struct xf_span {
    /** Byte offset of the first byte. */
    size_t begin;
    /** Byte offset after the last byte. */
    size_t end;
} xf_span;

/**
 * @brief Finds the sentences of a text, because a model translates single sentences.
 *
 * Sentences end as in Unicode UAX #29, except after abbreviations, initials, and ordinal numbers. A sentence excludes
 * the white space around it, and all text between two sentences is white space. A line end always ends a sentence. If
 * lines of the text end within sentences, as in e-mail, replace each such line end by a space first.
 *
 * @param text [in] UTF-8; may contain NUL; may be NULL if length is 0
 * @param length [in] size of the text in bytes
 * @param language [in] ISO 639-1 code, such as "de" or "pt-BR", which selects abbreviations and rules; there are lists
 *        for en, de, fr, es, it, pt, nl, pl, and ru, and other languages use only the general rules. NULL or "": the
 *        lists of all languages, which is less accurate
 * @param max_characters [in] longer sentences are divided: after a comma or semicolon, otherwise at white space,
 *        otherwise between two characters. In Unicode code points; 0: no limit
 * @param sentences [out] room for capacity spans; may be NULL if capacity is 0
 * @param capacity [in] number of spans that fit
 * @param count [out] number of sentences of the text, also if they do not fit
 * @param err [out] may be NULL; for invalid UTF-8 it contains the byte offset
 * @return XF_OK; XF_ERROR_BUFFER_TOO_SMALL (only *count is written), XF_ERROR_DATA (invalid UTF-8), XF_ERROR_LIMIT
 * (more than 1 GiB), XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY
 * @threads any
 * @par Source
 * Unicode Standard Annex #29, s. 5
 * @since 0.1
 */
XF_API xf_status xf_split_sentences(const char *text, size_t length, const char *language, size_t max_characters,
                                    xf_span *sentences, size_t capacity, size_t *count, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_TEXT_H */
