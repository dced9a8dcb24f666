/*
 * xformer/data.h - sentence pairs and batches.
 *
 * A corpus contains sentence pairs as text or as token ids. A batcher encodes the text, shuffles the pairs, groups
 * pairs of similar length (paper s. 5.1), and produces packed batches, which have no padding. The sequence of batches
 * depends only on the corpus, the options, and a position (epoch, batch), so a resumed run reads the same batches as an
 * uninterrupted one.
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
/** @brief Produces batches from a corpus. @since 0.1 */
typedef struct xf_batcher xf_batcher;
/** @brief A trainer; see train.h. @since 0.1 */
typedef struct xf_trainer xf_trainer;

/**
 * @brief Line counts of a corpus. The member lines is the sum of the others. With "data.sample", the corpus contains
 * only some of the pairs that were kept.
 * @since 0.1
 */
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

/** @brief An xf_corpus_stats with its struct_size. @since 0.1 */
#define XF_CORPUS_STATS_INIT \
    { sizeof(xf_corpus_stats), 0, 0, 0, 0, 0, 0, 0 }

/**
 * @brief Packed sentences: the concatenated ids of all sentences, and the offset at which each begins.
 *
 * Source sentence b consists of src_ids[src_offsets[b]] to src_ids[src_offsets[b + 1] - 1]. It ends with the end
 * symbol, optionally followed by a language token. If a source has no end symbol, xf_decode() gives that sentence the
 * status XF_ERROR_INVALID_ARGUMENT; other calls return this status. Targets have the same form, except that a target
 * that was cut off has no end symbol. Targets have no start symbol; the library adds it. If the decoder's first input
 * is a language token ("model.target_language" is "start"), a target may have that token after its end symbol, as in
 * mBART. For the target "y end lang", the input of the decoder is "lang y" and its expected output is "y end".
 *
 * The arrays of a batch from xf_batcher_next() are owned by the batcher. A caller may also fill the struct with its own
 * arrays. xf_model_encode() returns ids in this form.
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
    /** [B + 1] non-decreasing; the first is 0. */
    const int64_t *src_offsets;
    /** [tgt_offsets[B]] ids; NULL for decoding. */
    const int32_t *tgt_ids;
    /** [B + 1] as src_offsets; NULL for decoding. */
    const int64_t *tgt_offsets;
    /** [B] index of each pair in its corpus, or NULL. */
    const int64_t *pair_index;
    /**
     * Reserved for feature vectors [src_offsets[B], src_feature_width] instead of source ids; must be NULL. A call with
     * features returns XF_ERROR_UNSUPPORTED.
     */
    const float *src_features;
    /** Reserved; must be 0, or the call returns XF_ERROR_UNSUPPORTED. */
    int64_t src_feature_width;
} xf_batch;

/** @brief An empty xf_batch with its struct_size. @since 0.1 */
#define XF_BATCH_INIT \
    { sizeof(xf_batch), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0 }

/**
 * @brief Opens a corpus of text: one file with a pair per line (source TAB target), or two parallel files.
 *
 * Text is UTF-8; line ends may be LF or CRLF, and a byte order mark is skipped. Bad lines (see xf_corpus_stats) are
 * skipped and counted, and the first ten are logged with file and line number; with "data.strict" the first one is an
 * error. The text is held in memory and counted in the context's memory account. Reads "data.max_bytes",
 * "data.strict", and, for a sample, "data.sample" and "data.seed".
 *
 * A file or pipe that is compressed as .gz or .zst is decompressed while it is read; its content decides, not its name.
 * This needs the library libz.so.1 or libzstd.so.1 at run time.
 *
 * A folder is read as the concatenation of its files, in the byte order of their names. Files whose names begin with
 * "_" or "." are ignored.
 *
 * If source_path is a folder that xf_corpus_encode() has written, opens the encoded corpus. Its pairs remain on disk
 * until a batcher reads them. The functions that need pairs in memory return XF_ERROR_STATE for such a corpus:
 * xf_corpus_subset(), xf_corpus_split(), xf_corpus_get_pair(), and xf_tokenizer_train(). The folder must not be changed
 * while the corpus or its batchers exist; a file that is damaged, missing, or exchanged is reported by the call that
 * reads it, and nothing of it is used.
 *
 * @param context [in] the context
 * @param source_path [in] a file or a folder
 * @param target_path [in] the translations, in a file or a folder like source_path; corresponding files have the same
 * number of lines. NULL: source_path contains pairs
 * @param config [in] NULL: all defaults
 * @param call [in] NULL: defaults
 * @param out [out] the corpus; free it with xf_corpus_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND, XF_ERROR_IO (also if a folder contains a folder),
 *         XF_ERROR_DATA (a bad line with "data.strict"; no valid line; a folder without files; different numbers of
 *         lines or files; an incomplete encoded corpus), XF_ERROR_CORRUPT (also of compressed text), XF_ERROR_VERSION
 *         (an encoded corpus), XF_ERROR_UNSUPPORTED (text that cannot be decompressed here),
 *         XF_ERROR_NO_MEMORY, XF_ERROR_CANCELLED, XF_ERROR_DEADLINE
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_corpus_open(xf_context *context, const char *source_path, const char *target_path,
                                const xf_config *config, const xf_call *call, xf_corpus **out, xf_error *err);

/**
 * @brief Encodes files of text and writes an encoded corpus, which may be larger than memory.
 *
 * Writes a folder of files with token ids (their format is in docs/guide/files.md). A batcher reads it in chunks, so
 * that neither starting nor training needs the text or all ids in memory. The files do not depend on the number of
 * threads. Uses the threads of the context, and memory for two parts of "data.part_pairs" pairs.
 *
 * A call that failed or was stopped may be repeated with the same arguments: parts that are complete are kept after
 * their texts and checksums have been compared, and damaged ones are encoded again. A folder with parts of other texts
 * is an error, and they are not changed.
 *
 * Reads the options of xf_corpus_open() (except "data.sample") and "data.part_pairs", and those that determine the
 * special tokens, as xf_batcher_create(). The limits "data.max_tokens" and "data.batch_tokens" are applied later, by
 * the batcher. "data.sampling" and "data.augment" must not be set, because they need the text in each epoch.
 *
 * @param context [in] the context
 * @param source_path [in] as for xf_corpus_open(); pipes are allowed
 * @param target_path [in] as for xf_corpus_open()
 * @param tokenizer [in] the tokenizer, of a model or not; xf_batcher_create() requires the same one. A copy of its file
 * is stored in the folder as tokenizer.json
 * @param config [in] NULL: all defaults
 * @param call [in] NULL: defaults
 * @param folder [in] path of the folder; created if it does not exist, but not its parent
 * @param err [out] may be NULL
 * @return XF_OK; the errors of xf_corpus_open() and xf_batcher_create(); XF_ERROR_STATE (the folder has parts of other
 *         texts or of another tokenizer), XF_ERROR_IO (also a full disk)
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_corpus_encode(xf_context *context, const char *source_path, const char *target_path,
                                  const xf_tokenizer *tokenizer, const xf_config *config, const xf_call *call,
                                  const char *folder, xf_error *err);

/**
 * @brief Creates a corpus of text from pairs in memory. The texts are copied and may contain tabs and line ends.
 *
 * Bad pairs are skipped and counted like bad lines of a file.
 *
 * @param context [in] the context
 * @param sources [in] count strings
 * @param source_lengths [in] their sizes in bytes; NULL: the strings are NUL-terminated
 * @param targets [in] count strings
 * @param target_lengths [in] their sizes in bytes; NULL: the strings are NUL-terminated
 * @param count [in] number of pairs
 * @param config [in] NULL: all defaults
 * @param call [in] NULL: defaults
 * @param out [out] the corpus; free it with xf_corpus_free()
 * @param err [out] may be NULL
 * @return as xf_corpus_open()
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_corpus_from_pairs(xf_context *context, const char *const *sources, const size_t *source_lengths,
                                      const char *const *targets, const size_t *target_lengths, size_t count,
                                      const xf_config *config, const xf_call *call, xf_corpus **out, xf_error *err);

/**
 * @brief Creates a corpus of ids, for hosts with their own tokenizer. The ids are copied.
 * @param context [in] the context
 * @param pairs [in] each side consists of at least one token, then the end symbol (the same one in all pairs), then at
 * most one language token; for example "5 7 1" or "5 7 1 9" with end symbol 1 and language token 9. Ids are not
 * negative; an id outside the vocabulary is reported by the call that uses it
 * @param call [in] NULL: defaults
 * @param out [out] the corpus, which contains no text; free it with xf_corpus_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (an id), XF_ERROR_DATA (no pair), XF_ERROR_NO_MEMORY,
 *         XF_ERROR_CANCELLED, XF_ERROR_DEADLINE
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_corpus_from_ids(xf_context *context, const xf_batch *pairs, const xf_call *call, xf_corpus **out,
                                    xf_error *err);

/**
 * @brief Creates a corpus from some pairs of another corpus. The text is shared, not copied.
 * @param corpus [in] may be freed afterwards
 * @param indices [in] count indices of pairs, in the desired order; repetition is allowed
 * @param count [in] at least 1
 * @param out [out] the corpus; free it with xf_corpus_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (an index), XF_ERROR_STATE (an encoded corpus),
 *         XF_ERROR_NO_MEMORY
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_corpus_subset(const xf_corpus *corpus, const int64_t *indices, size_t count, xf_corpus **out,
                                  xf_error *err);

/**
 * @brief Splits a corpus at random into pairs for training and held-out pairs. Both keep the order of the corpus.
 * @param corpus [in] may be freed afterwards
 * @param held_out_count [in] number of held-out pairs, from 1 to xf_corpus_pair_count() - 1
 * @param seed [in] the same seed and count select the same pairs
 * @param rest [out] the pairs for training; free it with xf_corpus_free()
 * @param held_out [out] the held-out pairs; free it with xf_corpus_free()
 * @param err [out] may be NULL
 * @return as xf_corpus_subset(); XF_ERROR_OUT_OF_RANGE (held_out_count)
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_corpus_split(const xf_corpus *corpus, int64_t held_out_count, int64_t seed, xf_corpus **rest,
                                 xf_corpus **held_out, xf_error *err);

/**
 * @brief Frees a corpus. Batchers and other corpora keep the data that they need.
 * @param corpus [in] NULL has no effect
 * @threads any
 * @since 0.1
 */
XF_API void xf_corpus_free(xf_corpus *corpus);

/**
 * @brief Returns the number of pairs of a corpus.
 * @param corpus [in] the corpus
 * @return the number; 0 if corpus is NULL or another kind of handle
 * @threads shared-read
 * @since 0.1
 */
XF_API int64_t xf_corpus_pair_count(const xf_corpus *corpus);

/**
 * @brief Reports the numbers of lines that were read, kept, and skipped.
 * @param corpus [in] the corpus
 * @param stats [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_corpus_get_stats(const xf_corpus *corpus, xf_corpus_stats *stats, xf_error *err);

/**
 * @brief Returns the text of a pair. The strings are not NUL-terminated; they are owned by the corpus.
 * @param corpus [in] the corpus
 * @param index [in] from 0 to xf_corpus_pair_count() - 1
 * @param source [out] UTF-8; valid until the corpus is freed
 * @param source_length [out] size in bytes
 * @param target [out] UTF-8; valid until the corpus is freed
 * @param target_length [out] size in bytes
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (index), XF_ERROR_STATE (a corpus of ids or an
 *         encoded corpus)
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_corpus_get_pair(const xf_corpus *corpus, int64_t index, const char **source, size_t *source_length,
                                    const char **target, size_t *target_length, xf_error *err);

/**
 * @brief Creates a batcher: encodes the corpus and plans the first epoch.
 *
 * Reads "data.batch_tokens" (maximum number of source tokens and of target tokens per batch, including end symbols),
 * "data.max_tokens", "data.shuffle" (false: corpus order), and "data.seed". A pair is skipped and counted if a side has
 * more tokens than "data.max_tokens" or "data.batch_tokens".
 *
 * If the tokenizer belongs to a model (xf_model_tokenizer()), the batcher adds the same special tokens to each text as
 * xf_translate(): the end token, the model's first token, and the language tokens of "text.source_language" and
 * "text.target_language" (see xf_batch). Options of the group "model." that are set in config override those of the
 * model. The special tokens count toward the limits above. A corpus of ids is used unchanged.
 *
 * An encoded corpus of more than "data.chunk_pairs" pairs is read in chunks of whole parts, chosen at random in each
 * epoch. Pairs are shuffled and grouped within a chunk; the number of batches in an epoch is known only at its end. The
 * call that begins a chunk reads it, while the previous one is still in memory. An update of a trainer uses batches of
 * one chunk, so the last one of a chunk may have fewer. A corpus of one chunk has the same batches as the same texts in
 * memory.
 *
 * "data.mix" is a list such as "general.tsv=0.5,manuals.tsv=3": how often the pairs of a file of the corpus occur in an
 * epoch, from 0 to 1000 times. Other files have the factor 1. The corpus must have been read from files. It may be an
 * encoded corpus, or a part of one in memory.
 *
 * If "data.sampling" is set, texts are segmented at random, and differently in each epoch; if "data.augment" is set,
 * this share of the pairs is changed, also differently in each epoch. The call that begins an epoch or seeks to another
 * epoch then encodes the corpus again; the ids of both epochs are in memory during that time.
 *
 * @param corpus [in] may be freed afterwards
 * @param tokenizer [in] the tokenizer; NULL for a corpus of ids; may be freed afterwards
 * @param config [in] NULL: all defaults
 * @param call [in] NULL: defaults
 * @param out [out] the batcher; free it with xf_batcher_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also: an unknown or missing language; a tokenizer that does not support
 *         "data.sampling"; a file in "data.mix" that the corpus does not have; a corpus of ids or an encoded corpus
 *         with "data.sampling" or "data.augment"; an encoded corpus of another tokenizer or other special tokens),
 *         XF_ERROR_CORRUPT, XF_ERROR_IO, XF_ERROR_NOT_FOUND (an encoded corpus), XF_ERROR_DATA (every pair was
 *         skipped, or "data.mix" leaves none), XF_ERROR_LIMIT (2^31 - 1 pairs or more), XF_ERROR_NO_MEMORY,
 *         XF_ERROR_CANCELLED, XF_ERROR_DEADLINE, XF_ERROR_CALLBACK
 * @threads shared-read
 * @par Source
 * Vaswani et al. 2017, s. 5.1
 * @since 0.1
 */
XF_API xf_status xf_batcher_create(const xf_corpus *corpus, const xf_tokenizer *tokenizer, const xf_config *config,
                                   const xf_call *call, xf_batcher **out, xf_error *err);

/**
 * @brief Frees a batcher and its current batch.
 * @param batcher [in] NULL has no effect
 * @threads any
 * @since 0.1
 */
XF_API void xf_batcher_free(xf_batcher *batcher);

/**
 * @brief Returns the next batch.
 * @param batcher [in,out] the batcher
 * @param call [in] NULL: defaults
 * @param batch [in,out] struct_size set by the caller; its arrays are owned by the batcher and valid until the next
 * call on it
 * @param err [out] may be NULL
 * @return XF_OK; XF_DONE at the end of an epoch (the batch is empty; the next call begins the next epoch);
 *         XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY; a call that begins an epoch or a chunk may also return
 *         the errors of xf_batcher_create(). On an error, the position is unchanged, and the call may be
 *         repeated
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_batcher_next(xf_batcher *batcher, const xf_call *call, xf_batch *batch, xf_error *err);

/** @brief Position and contents of a batcher. @since 0.1 */
typedef struct xf_batcher_stats {
    /** In: sizeof(xf_batcher_stats) of the caller. */
    size_t struct_size;
    /** Epoch of the next batch, from 0. */
    int64_t epoch;
    /** Index of the next batch in its epoch, from 0. */
    int64_t batch;
    /** Batches in this epoch; with an encoded corpus of several chunks an estimate until the last one. */
    int64_t batches;
    /**
     * Pairs in this epoch; the same in every epoch unless "data.sampling", "data.augment", or "data.mix" is set. With
     * an encoded corpus, this and the following members count the present chunk.
     */
    int64_t pairs;
    /** Pairs that this epoch skips because a side has more tokens than "data.max_tokens" or "data.batch_tokens". */
    int64_t too_long;
    /** Pairs that this epoch skips because a side has no token. */
    int64_t empty;
    /** Source tokens in this epoch, including end symbols. */
    int64_t src_tokens;
    /** Target tokens in this epoch, including end symbols. */
    int64_t tgt_tokens;
} xf_batcher_stats;

/** @brief An xf_batcher_stats with its struct_size. @since 0.1 */
#define XF_BATCHER_STATS_INIT \
    { sizeof(xf_batcher_stats), 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * @brief Reports the position and the contents of a batcher.
 * @param batcher [in] the batcher
 * @param stats [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_batcher_get_stats(const xf_batcher *batcher, xf_batcher_stats *stats, xf_error *err);

/**
 * @brief Moves a batcher to a position.
 * @param batcher [in,out] the batcher
 * @param epoch [in] from 0
 * @param batch [in] from 0 to the number of batches in that epoch (then xf_batcher_next() returns XF_DONE)
 * @param call [in] NULL: defaults
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (batch), XF_ERROR_NO_MEMORY; with "data.sampling",
 *         "data.augment", "data.mix", or an encoded corpus also the errors of xf_batcher_create(). On an error, the
 *         position is unchanged
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_batcher_seek(xf_batcher *batcher, int64_t epoch, int64_t batch, const xf_call *call, xf_error *err);

/**
 * @brief Moves a batcher to the position that was saved in a checkpoint, so that training continues where it stopped.
 *
 * If "data.batch_tokens" differs from that of the saved run, the batcher moves to the same fraction of the epoch. Some
 * pairs of that epoch are then seen twice or not at all, which is logged.
 *
 * @param batcher [in,out] created from the same corpus, tokenizer, and options as in the saved run
 * @param trainer [in] from xf_trainer_resume()
 * @param call [in] NULL: defaults
 * @param err [out] may be NULL
 * @return as xf_batcher_seek(); XF_ERROR_STATE (the checkpoint contains no position), XF_ERROR_DATA (the pairs,
 *         "data.shuffle", "data.seed", "data.sampling", "data.augment", or "data.mix" differ)
 * @threads exclusive; shared-read for the trainer
 * @since 0.1
 */
XF_API xf_status xf_batcher_resume(xf_batcher *batcher, const xf_trainer *trainer, const xf_call *call, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_DATA_H */
