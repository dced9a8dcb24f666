/*
 * xformer/data.h - sentence pairs and batches.
 *
 * A corpus is sentence pairs as text. A batcher turns it into ids, shuffles, puts pairs of similar length together
 * (paper s. 5.1) and hands out packed batches: no padding anywhere. What comes next is a function of the corpus, the
 * options and a position (epoch, batch), so a resumed run continues exactly where it was.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_DATA_H
#define XFORMER_DATA_H

#include "xformer/config.h"
#include "xformer/context.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup data Corpus and batches
 * @brief Sentence pairs, shuffled and packed.
 * @{
 */

/** @brief Sentence pairs, as text or as ids; immutable. @since 0.1 */
typedef struct xf_corpus xf_corpus;
/** @brief A tokenizer; see text.h. @since 0.1 */
typedef struct xf_tokenizer xf_tokenizer;
/** @brief Makes batches from a corpus. @since 0.1 */
typedef struct xf_batcher xf_batcher;

/** @brief What became of the lines of a corpus: lines is the sum of the others. @since 0.1 */
typedef struct xf_corpus_stats {
    /** In: sizeof(xf_corpus_stats) of the caller. */
    size_t struct_size;
    /** Lines read. */
    int64_t lines;
    /** Pairs kept. */
    int64_t kept;
    /** Lines without exactly one tab. */
    int64_t bad_columns;
    /** Lines with an empty side. */
    int64_t empty_side;
    /** Lines with a side longer than "data.max_bytes". */
    int64_t too_long;
    /** Lines that are not UTF-8. */
    int64_t invalid_utf8;
    /** Lines with a NUL byte. */
    int64_t nul_byte;
} xf_corpus_stats;

/** @brief A zeroed xf_corpus_stats with its struct_size. @since 0.1 */
#define XF_CORPUS_STATS_INIT \
    { sizeof(xf_corpus_stats), 0, 0, 0, 0, 0, 0, 0 }

/**
 * @brief Packed sentences: the ids of all sentences one after the other, and where each begins.
 *
 * Sentence b of the source is src_ids[src_offsets[b]] to src_ids[src_offsets[b + 1] - 1], its last id the end symbol,
 * or the last but one where a language's token stands behind it; a source without is XF_ERROR_INVALID_ARGUMENT. The
 * target likewise, but it may be cut off. It has no start symbol: the library puts it in. Of a model whose decoder is
 * fed a language first ("model.target_language" start) that language's token may stand behind the target's end symbol:
 * "y end lang" is what is to be said, "lang y end" what the decoder is fed, as mBART learns it. From xf_batcher_next()
 * the arrays belong to the batcher; a caller may also fill the struct with arrays of its own. XF_BATCH_INIT makes an
 * empty one.
 *
 * @since 0.1
 */
typedef struct xf_batch {
    /** sizeof(xf_batch) of the caller. */
    size_t struct_size;
    /** Number of sentences, B. */
    int64_t sentences;
    /** [src_offsets[B]] ids. */
    const int32_t *src_ids;
    /** [B + 1], first 0, not falling. */
    const int32_t *src_offsets;
    /** [tgt_offsets[B]] ids; NULL for decoding. */
    const int32_t *tgt_ids;
    /** [B + 1]; NULL for decoding. */
    const int32_t *tgt_offsets;
    /** [B] index of each pair in its corpus, or NULL. */
    const int64_t *pair_index;
} xf_batch;

/** @brief An empty batch with its struct_size. @since 0.1 */
#define XF_BATCH_INIT \
    { sizeof(xf_batch), 0, NULL, NULL, NULL, NULL, NULL }

/**
 * @brief Opens a file of pairs, one a line: source TAB target, UTF-8.
 *
 * Bad lines (see xf_corpus_stats) are skipped, counted and told to the log with file and line number; with
 * "data.strict" the first one is an error. LF and CRLF line ends and a byte order mark are understood. The text is
 * held in memory, within the context's account. Reads "data.max_bytes", "data.strict".
 *
 * A folder is all of its files, one behind the other in the order of their names' bytes, but for those whose names
 * begin with "_" or ".".
 *
 * @param context [in] the context
 * @param config [in] NULL: all defaults
 * @param path [in] name of a file or a folder
 * @param out [out] the corpus; the caller frees it with xf_corpus_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND, XF_ERROR_IO (also for a folder in a folder),
 *         XF_ERROR_DATA (strict: a bad line; not one good line; a folder without files), XF_ERROR_NO_MEMORY,
 *         XF_ERROR_CANCELLED
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_corpus_open(xf_context *context, const xf_config *config, const char *path, xf_corpus **out,
                                     xf_error *err);

/**
 * @brief Opens two parallel files, a sentence a line each; or two folders of as many, as xf_corpus_open() reads them.
 * @param context [in] the context
 * @param config [in] NULL: all defaults
 * @param source_path [in] name of a file or a folder
 * @param target_path [in] the same; must have as many files, each of as many lines
 * @param out [out] the corpus; the caller frees it with xf_corpus_free()
 * @param err [out] NULL allowed
 * @return as xf_corpus_open(); XF_ERROR_DATA when the counts of lines or of files differ
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_corpus_open_parallel(xf_context *context, const xf_config *config, const char *source_path,
                                              const char *target_path, xf_corpus **out, xf_error *err);

/**
 * @brief Makes a corpus from text in memory, in the form of xf_corpus_open(). The text is copied.
 * @param context [in] the context
 * @param config [in] NULL: all defaults
 * @param name [in] what messages call it, in place of a file name
 * @param text [in] length bytes
 * @param length [in] bytes
 * @param out [out] the corpus; the caller frees it with xf_corpus_free()
 * @param err [out] NULL allowed
 * @return as xf_corpus_open()
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_corpus_from_memory(xf_context *context, const xf_config *config, const char *name,
                                            const char *text, size_t length, xf_corpus **out, xf_error *err);

/**
 * @brief Makes a corpus from pairs in memory. The texts are copied; tabs and line ends in them are text.
 *
 * Pairs are skipped and counted as bad lines of a file are.
 *
 * @param context [in] the context
 * @param config [in] NULL: all defaults
 * @param sources [in] count strings of UTF-8
 * @param source_lengths [in] bytes of each, or NULL when they are NUL-terminated
 * @param targets [in] count strings of UTF-8
 * @param target_lengths [in] bytes of each, or NULL when they are NUL-terminated
 * @param count [in] pairs
 * @param out [out] the corpus; the caller frees it with xf_corpus_free()
 * @param err [out] NULL allowed
 * @return as xf_corpus_open()
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_corpus_from_pairs(xf_context *context, const xf_config *config, const char *const *sources,
                                           const size_t *source_lengths, const char *const *targets,
                                           const size_t *target_lengths, size_t count, xf_corpus **out, xf_error *err);

/**
 * @brief Makes a corpus from ids: for a host with a tokenizer of its own. The ids are copied.
 * @param context [in] the context
 * @param pairs [in] each side is one token or more, then the end symbol, the same of all, then at most one token, of
 *        its language: with end 1 and language 9, "5 7 1" or "5 7 1 9". Ids are 0 or more; one too large for the model
 *        is an error of the call that uses it
 * @param out [out] the corpus, which has no text; the caller frees it with xf_corpus_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (an id), XF_ERROR_DATA (not one pair),
 *         XF_ERROR_NO_MEMORY
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_corpus_from_ids(xf_context *context, const xf_batch *pairs, xf_corpus **out, xf_error *err);

/**
 * @brief Makes a corpus of some pairs of another. The text is shared, not copied.
 * @param corpus [in] not needed afterwards
 * @param indices [in] count pairs of it, in the order wanted; a pair may come more than once
 * @param count [in] at least 1
 * @param out [out] the corpus; the caller frees it with xf_corpus_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (an index), XF_ERROR_NO_MEMORY
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_corpus_subset(const xf_corpus *corpus, const int64_t *indices, size_t count, xf_corpus **out,
                                       xf_error *err);

/**
 * @brief Splits a corpus at random: some pairs are held out, the others are for training. Both keep the corpus' order.
 * @param corpus [in] not needed afterwards
 * @param held_out_count [in] pairs to hold out, from 1 to xf_corpus_pair_count() - 1
 * @param seed [in] the same seed and count hold out the same pairs
 * @param rest [out] the others; the caller frees it with xf_corpus_free()
 * @param held_out [out] the pairs held out; the caller frees it with xf_corpus_free()
 * @param err [out] NULL allowed
 * @return as xf_corpus_subset()
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_corpus_split(const xf_corpus *corpus, int64_t held_out_count, int64_t seed, xf_corpus **rest,
                                      xf_corpus **held_out, xf_error *err);

/**
 * @brief Frees a corpus. Batchers and parts of it keep what they need.
 * @param corpus [in] NULL is allowed and does nothing
 * @threads any
 * @since 0.1
 */
XF_API void xf_corpus_free(xf_corpus *corpus);

/**
 * @brief Counts the pairs of a corpus.
 * @param corpus [in] the corpus
 * @return pairs; 0 when corpus is not a corpus
 * @threads shared-read
 * @since 0.1
 */
XF_API int64_t xf_corpus_pair_count(const xf_corpus *corpus);

/**
 * @brief Tells how many lines were read, kept and skipped, and why.
 * @param corpus [in] the corpus
 * @param stats [in,out] struct_size set by the caller
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_corpus_get_stats(const xf_corpus *corpus, xf_corpus_stats *stats, xf_error *err);

/**
 * @brief Gives the text of a pair. Not NUL-terminated; owned by the corpus, valid until it is freed.
 * @param corpus [in] the corpus
 * @param index [in] from 0 to xf_corpus_pair_count() - 1
 * @param source [out] UTF-8
 * @param source_length [out] bytes
 * @param target [out] UTF-8
 * @param target_length [out] bytes
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE, XF_ERROR_STATE (a corpus of ids)
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_corpus_get_pair(const xf_corpus *corpus, int64_t index, const char **source,
                                         size_t *source_length, const char **target, size_t *target_length,
                                         xf_error *err);

/**
 * @brief Makes a batcher: encodes the corpus and plans the first epoch.
 *
 * Reads "data.batch_tokens" (at most so many source tokens and so many target tokens a batch, end symbols counted),
 * "data.max_tokens", "data.shuffle" (off: corpus order) and "data.seed". A pair is left out and counted when a side has
 * more tokens than "data.max_tokens", or than "data.batch_tokens", as no batch could hold it.
 *
 * Texts are framed as xf_translate() frames them, for the model whose tokenizer it is (xf_model_tokenizer()); options
 * of the group "model." that are set in the config come before that model's. So both sides end with "model.end_token",
 * targets begin with "model.first_token", and of a model of many languages the tokens of "data.source_language" and
 * "data.target_language" stand where it wants them; a language that the decoder is fed first stands behind the end
 * symbol of targets (xf_batch). All these count as tokens. A corpus of ids is taken as it is.
 *
 * With "data.bpe_dropout" or "data.unigram_alpha" texts are segmented at random, by "data.seed", and anew in each
 * epoch: then the call that begins an epoch, or moves to another, encodes the corpus again, which it tells the
 * context's progress as "encode"; for that time the ids of both epochs are held. The batcher keeps the texts. Of two
 * tokenizers, one for each side, at least one must be of a kind that the option is for; a side of another kind is
 * segmented as ever.
 *
 * @param corpus [in] the corpus; not needed afterwards
 * @param tokenizer [in] the tokenizer, NULL for a corpus of ids; not needed afterwards
 * @param config [in] NULL: all defaults
 * @param out [out] the batcher; the caller frees it with xf_batcher_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also a language that the model does not know or has to be told; a tokenizer
 *         of another kind than "data.bpe_dropout" or "data.unigram_alpha" is for), XF_ERROR_DATA (no pair is left),
 *         XF_ERROR_NO_MEMORY, XF_ERROR_CANCELLED, XF_ERROR_CALLBACK (progress)
 * @threads shared-read
 * @par Source
 * Vaswani et al. 2017, s. 5.1
 * @since 0.1
 */
XF_API enum xf_status xf_batcher_create(const xf_corpus *corpus, const xf_tokenizer *tokenizer, const xf_config *config,
                                        xf_batcher **out, xf_error *err);

/**
 * @brief Frees a batcher and the batch it last gave.
 * @param batcher [in] NULL is allowed and does nothing
 * @threads exclusive
 * @since 0.1
 */
XF_API void xf_batcher_free(xf_batcher *batcher);

/**
 * @brief Gives the next batch.
 * @param batcher [in,out] the batcher
 * @param batch [in,out] struct_size set by the caller; its arrays belong to the batcher and are valid until the
 *        next call on it
 * @param err [out] NULL allowed
 * @return XF_OK; XF_DONE at the end of an epoch (batch has no sentences; the next call begins the next epoch);
 *         XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY; where texts are segmented at random, at the end of an epoch
 *         also what xf_batcher_create() gives: the batcher stays there, and the call can be made again
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_batcher_next(xf_batcher *batcher, xf_batch *batch, xf_error *err);

/** @brief Where a batcher stands and what it holds. @since 0.1 */
typedef struct xf_batcher_stats {
    /** In: sizeof(xf_batcher_stats) of the caller. */
    size_t struct_size;
    /** Epoch of the next batch, from 0. */
    int64_t epoch;
    /** Number of the next batch in its epoch, from 0. */
    int64_t batch;
    /** Batches in this epoch. */
    int64_t batches;
    /** Pairs in this epoch. Every epoch has the same, except where texts are segmented at random. */
    int64_t pairs;
    /** Pairs left out of this epoch: a side has more tokens than "data.max_tokens" or "data.batch_tokens". */
    int64_t too_long;
    /** Pairs left out because a side has no token. */
    int64_t empty;
    /** Source tokens in this epoch, end symbols counted. */
    int64_t src_tokens;
    /** Target tokens in this epoch, end symbols counted. */
    int64_t tgt_tokens;
} xf_batcher_stats;

/** @brief A zeroed xf_batcher_stats with its struct_size. @since 0.1 */
#define XF_BATCHER_STATS_INIT \
    { sizeof(xf_batcher_stats), 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * @brief Tells where a batcher stands and what it holds.
 * @param batcher [in] the batcher
 * @param stats [in,out] struct_size set by the caller
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_batcher_get_stats(const xf_batcher *batcher, xf_batcher_stats *stats, xf_error *err);

/**
 * @brief Moves a batcher to a position, so that the next batch is the one that stood there.
 * @param batcher [in,out] the batcher
 * @param epoch [in] from 0
 * @param batch [in] from 0 to the number of batches in that epoch (then the next call ends the epoch)
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE, XF_ERROR_NO_MEMORY; where texts are segmented at
 *         random, also what xf_batcher_create() gives; after an error the batcher stands where it stood
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_batcher_seek(xf_batcher *batcher, int64_t epoch, int64_t batch, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_DATA_H */
