/*
 * xformer/model.h - the Transformer's parameters, in memory and in a file.
 *
 * The model of Vaswani et al. 2017, s. 3: post-LN layers, d_k and d_v free of each other and of d_model / h, one
 * matrix for source embedding, target embedding and projection. A model file is one valid safetensors file with the
 * configuration and the tokenizer inside.
 *
 * A model of fp32 can be trained and decode. One whose matrices are kept in 16 or 8 bits ("narrow") needs a half or a
 * quarter of the memory and decodes, scores and evaluates alone: what would train or write it is XF_ERROR_STATE.
 * "context.weights" decides when a model is loaded or copied; xf_model_copy() makes one of the other kind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_MODEL_H
#define XFORMER_MODEL_H

#include "xformer/config.h"
#include "xformer/context.h"
#include "xformer/data.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup model Model
 * @brief Parameters, in memory and in a file.
 * @{
 */

/** @brief A Transformer's parameters with their configuration and, perhaps, a tokenizer. @since 0.1 */
typedef struct xf_model xf_model;

/**
 * @brief Creates a model with fresh parameters.
 *
 * Reads the options of the group "model.". Always of fp32. Matrices are Glorot-uniform, each of q, k and v on its own;
 * embeddings are normal with deviation d_model^-0.5; biases 0; norm weights 1. The same "model.seed" gives the same
 * bits.
 *
 * @param context [in] the context
 * @param config [in] NULL: all defaults (the paper's base model)
 * @param tokenizer [in] kept alive by the model; NULL: ids only, then "model.vocab_size" must be set
 * @param out [out] the model; the caller frees it with xf_model_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also when "model.vocab_size" is set and is not the tokenizer's size),
 *         XF_ERROR_NO_MEMORY, XF_ERROR_LIMIT, XF_ERROR_BACKEND
 * @threads shared-read
 * @par Source
 * Vaswani et al. 2017, s. 3; initialisation of tensor2tensor's transformer_base_v1
 * @since 0.1
 */
XF_API enum xf_status xf_model_create(xf_context *context, const xf_config *config, const xf_tokenizer *tokenizer,
                                      xf_model **out, xf_error *err);

/**
 * @brief Loads a model that xf_model_save() or xf_trainer_save() wrote. The file is not trusted.
 *
 * Everything is checked before it is used: sizes, shapes, names, the checksum over all bytes, that all numbers are
 * finite. Of a checkpoint the model is taken and the optimizer's state left. Can be cancelled.
 *
 * Matrices are kept as "context.weights" of the context says. "file": as the file has them, or, where the device can't
 * multiply with those, widened to fp32, which the log tells.
 *
 * @param context [in] the context
 * @param path [in] file name
 * @param out [out] the model; the caller frees it with xf_model_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND, XF_ERROR_IO, XF_ERROR_CORRUPT, XF_ERROR_LIMIT,
 *         XF_ERROR_VERSION, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND, XF_ERROR_CANCELLED, XF_ERROR_CALLBACK (progress);
 *         XF_ERROR_OUT_OF_RANGE when "context.weights" asks for a type that a number is too large for
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_load(xf_context *context, const char *path, xf_model **out, xf_error *err);

/**
 * @brief Where the bytes of a model come from: exactly one of path, data, read and fd is given.
 * @since 0.1
 */
typedef struct xf_source {
    /** sizeof(xf_source) of the caller. */
    size_t struct_size;
    /** A file name; NULL: not this. */
    const char *path;
    /** Memory of size bytes; NULL: not this. Borrowed for the call. */
    const void *data;
    /** Bytes behind data or read. */
    uint64_t size;
    /**
     * Copies bytes from offset on to dst and returns 0; anything else ends the call with XF_ERROR_IO. All within size.
     * Called on the thread that made the call, offsets in any order. NULL: not this.
     */
    int32_t (*read)(void *user, uint64_t offset, void *dst, size_t bytes);
    /** Passed to read. */
    void *read_user;
    /** A descriptor of a regular file, open for reading; its position is neither used nor changed. -1: not this. */
    int32_t fd;
    /** Not used, 0. */
    int32_t reserved;
} xf_source;

/** @brief A source that names nothing yet. @since 0.1 */
#define XF_SOURCE_INIT \
    { sizeof(xf_source), NULL, NULL, 0, NULL, NULL, -1, 0 }

/**
 * @brief Loads a model from a file, memory, a descriptor or a callback. See xf_model_load().
 * @param context [in] the context
 * @param source [in] the bytes; not trusted
 * @param out [out] the model; the caller frees it with xf_model_free()
 * @param err [out] NULL allowed
 * @return as xf_model_load()
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_load_from(xf_context *context, const xf_source *source, xf_model **out, xf_error *err);

/** @brief What a model file holds and needs, told without loading it. @since 0.1 */
typedef struct xf_model_summary {
    /** In: sizeof(xf_model_summary) of the caller. */
    size_t struct_size;
    /** Numbers in all parameter tensors. */
    int64_t parameters;
    /** V. */
    int64_t vocab_size;
    /** Bytes of the file. */
    int64_t file_bytes;
    /** Bytes of the context's account to load it and to translate one group of "decode.batch_sentences" sentences of
     *  "data.max_tokens" tokens into as many, with the config's beam: an upper estimate. */
    int64_t decode_bytes;
    /** Bytes to train it with batches of "data.batch_tokens" source and as many target tokens: an upper estimate. */
    int64_t train_bytes;
    /** Updates made, of a checkpoint; -1 of a model. */
    int64_t step;
    /** 1 when a tokenizer is inside. */
    int32_t has_tokenizer;
    /** Not used, 0. */
    int32_t reserved;
    /** Type of the matrices in the file: "fp32", "fp16", "bf16" or "int8"; NUL-terminated. */
    char precision[16];
} xf_model_summary;

/** @brief A zeroed xf_model_summary with its struct_size. @since 0.1 */
#define XF_MODEL_SUMMARY_INIT                                   \
    {                                                           \
        sizeof(xf_model_summary), 0, 0, 0, 0, 0, 0, 0, 0, { 0 } \
    }

/**
 * @brief Reads what a model file holds and what it would need: its header alone, so damage behind it is not seen.
 * @param context [in] the context it would be loaded into: "context.precision" and "context.weights" count
 * @param config [in] options of "decode." and "data." that the estimates are for; NULL: all defaults
 * @param source [in] the bytes; not trusted
 * @param summary [in,out] struct_size set by the caller
 * @param err [out] NULL allowed
 * @return as xf_model_load()
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_inspect(xf_context *context, const xf_config *config, const xf_source *source,
                                       xf_model_summary *summary, xf_error *err);

/**
 * @brief Saves a model, replacing an old file at once or not at all; the old one stays as "<path>.prev".
 *
 * Any model can be saved in any "file.precision". fp16 or bf16 halves the file. Numbers are rounded to nearest: fp16
 * keeps 11 bits of those from 2^-14 on and multiples of 2^-24 below, bf16 keeps 8 bits. int8 quarters it: each row of a
 * matrix has a scale, its largest magnitude / 127, and each number is the nearest of -127 to 127 times that; vectors
 * and tables of positions stay fp32. A model that is kept so is saved as it is. Training goes on from a narrow file
 * less exactly than from one in fp32 or from a checkpoint. Can be cancelled.
 *
 * @param model [in] the model
 * @param config [in] options of the group "file."; NULL: all defaults (fp32)
 * @param path [in] file name
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_IO, XF_ERROR_NOT_FOUND, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND,
 *         XF_ERROR_CANCELLED, XF_ERROR_CALLBACK (progress); XF_ERROR_OUT_OF_RANGE when a number would round to
 *         infinity: beyond 65504 in fp16, 3.3895e38 in bf16; XF_ERROR_NONFINITE when one is not finite already;
 *         XF_ERROR_LIMIT when a row is too long for int8, which none is with "model.d_ff" and "model.heads" times
 *         "model.d_v" up to 131072. After an error the old file is as it was, unless the message says that the new one
 *         is in place and only its folder could not be flushed
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_save(const xf_model *model, const xf_config *config, const char *path, xf_error *err);

/**
 * @brief Writes to memory what xf_model_save() writes to a file, byte for byte.
 * @param model [in] the model
 * @param config [in] options of the group "file."; NULL: all defaults (fp32)
 * @param buffer [out] room for capacity bytes; may be NULL when capacity is 0
 * @param capacity [in] bytes
 * @param size [out] bytes of the model, also when they don't fit
 * @param err [out] NULL allowed
 * @return as xf_model_save(); XF_ERROR_BUFFER_TOO_SMALL (*size is set, buffer is not; nothing was converted). After
 *         another error what buffer holds is of no use
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_save_memory(const xf_model *model, const xf_config *config, void *buffer,
                                           size_t capacity, size_t *size, xf_error *err);

/**
 * @brief Averages the parameters of models, in double precision. The first gives tokenizer and metadata. The average
 * is of fp32, whatever the models are.
 * @param models [in] count models of the same configuration
 * @param count [in] at least 1
 * @param out [out] the model, in the context of the first; the caller frees it with xf_model_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also when configurations differ), XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND,
 *         XF_ERROR_BUSY, XF_ERROR_CANCELLED, XF_ERROR_CALLBACK (progress)
 * @threads shared-read
 * @par Source
 * Vaswani et al. 2017, s. 6.1: the last 5 (base) or 20 (big) checkpoints
 * @since 0.1
 */
XF_API enum xf_status xf_model_average(const xf_model *const *models, size_t count, xf_model **out, xf_error *err);

/**
 * @brief The same of files, with about three times a model's memory however many there are.
 * @param context [in] the context
 * @param paths [in] count file names: models or checkpoints of the same configuration
 * @param count [in] at least 1
 * @param out [out] the model; the caller frees it with xf_model_free()
 * @param err [out] NULL allowed
 * @return as xf_model_load() and xf_model_average()
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_average_files(xf_context *context, const char *const *paths, size_t count,
                                             xf_model **out, xf_error *err);

/**
 * @brief Copies a model with its tokenizer and metadata, to another device if need be.
 *
 * "context.weights" of the copy's context says how it keeps its matrices, "file" meaning as the model has them. So a
 * trained model becomes one of int8 in memory, and a narrow one becomes fp32, to be trained.
 *
 * @param model [in] what to copy
 * @param context [in] where the copy lives; NULL: the model's own
 * @param out [out] the copy; the caller frees it with xf_model_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND, XF_ERROR_BUSY; XF_ERROR_OUT_OF_RANGE
 *         and XF_ERROR_LIMIT as xf_model_save() in such a "file.precision"
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_copy(const xf_model *model, xf_context *context, xf_model **out, xf_error *err);

/**
 * @brief Frees the caller's hold on a model. Trainers and decoders keep it alive.
 * @param model [in] NULL is allowed and does nothing
 * @threads exclusive
 * @since 0.1
 */
XF_API void xf_model_free(xf_model *model);

/**
 * @brief Gives the configuration the model was made with, "model.vocab_size" filled in.
 * @param model [in] the model
 * @return owned by the model, valid until it is freed; NULL when model is not a model
 * @threads shared-read
 * @since 0.1
 */
XF_API const xf_config *xf_model_config(const xf_model *model);

/**
 * @brief Gives the model's tokenizer. A batcher that is made with it frames texts for this model (xf_batcher_create()).
 * @param model [in] the model
 * @return owned by the model, valid until it is freed; NULL when it has none
 * @threads shared-read
 * @since 0.1
 */
XF_API const xf_tokenizer *xf_model_tokenizer(const xf_model *model);

/**
 * @brief Keeps a text with a model, in its files and checkpoints: where it came from, its languages, a licence.
 * @param model [in,out] the model
 * @param key [in] 1 to 256 bytes of UTF-8
 * @param value [in] UTF-8, copied, at most 1 MiB; NULL removes the key
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_DATA (invalid UTF-8), XF_ERROR_LIMIT (more than 1,000 keys or 16
 *         MiB in all), XF_ERROR_NO_MEMORY, XF_ERROR_BUSY
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_model_set_metadata(xf_model *model, const char *key, const char *value, xf_error *err);

/**
 * @brief Gives a text that is kept with a model.
 * @param model [in] the model
 * @param key [in] as it was set
 * @return owned by the model, valid until the key is set again or the model freed; NULL when there is none, or while
 *         another call sets one
 * @threads shared-read
 * @since 0.1
 */
XF_API const char *xf_model_metadata(const xf_model *model, const char *key);

/**
 * @brief Lists the keys of what is kept with a model.
 * @param model [in] the model
 * @param index [in] from 0; keys are in the order of their bytes
 * @return owned by the model, valid until the next xf_model_set_metadata(); NULL when there are no more
 * @threads shared-read
 * @since 0.1
 */
XF_API const char *xf_model_metadata_key(const xf_model *model, size_t index);

/** @brief One parameter tensor. @since 0.1 */
typedef struct xf_tensor_info {
    /** In: sizeof(xf_tensor_info) of the caller. */
    size_t struct_size;
    /** Module path, such as "encoder.0.self_attention.q.weight"; owned by the model. */
    const char *name;
    /** Rows: outputs of a linear map, ids of an embedding; 1 for a vector. */
    int64_t rows;
    /** Columns: inputs of a linear map, d_model of an embedding; the length of a vector. */
    int64_t columns;
} xf_tensor_info;

/** @brief A zeroed xf_tensor_info with its struct_size. @since 0.1 */
#define XF_TENSOR_INFO_INIT \
    { sizeof(xf_tensor_info), NULL, 0, 0 }

/**
 * @brief Counts the parameter tensors.
 * @param model [in] the model
 * @return tensors; 0 when model is not a model
 * @threads shared-read
 * @since 0.1
 */
XF_API size_t xf_model_tensor_count(const xf_model *model);

/**
 * @brief Describes a parameter tensor.
 * @param model [in] the model
 * @param index [in] from 0 to xf_model_tensor_count() - 1; the order is that of the file
 * @param info [in,out] struct_size set by the caller
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_get_tensor(const xf_model *model, size_t index, xf_tensor_info *info, xf_error *err);

/**
 * @brief Copies a parameter tensor out, row-major; of a narrow model, widened.
 * @param model [in] the model
 * @param index [in] which
 * @param values [out] room for count numbers
 * @param count [in] must be rows * columns
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT (also a wrong count), XF_ERROR_OUT_OF_RANGE, XF_ERROR_BACKEND
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_read_tensor(const xf_model *model, size_t index, float *values, size_t count,
                                           xf_error *err);

/**
 * @brief Replaces a parameter tensor: for porting models and for tests.
 * @param model [in,out] the model; no trainer or decoder of it may be in a call
 * @param index [in] which
 * @param values [in] count numbers, row-major, all finite
 * @param count [in] must be rows * columns
 * @param err [out] NULL allowed
 * @return as xf_model_read_tensor(); XF_ERROR_STATE when the model is narrow
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_model_write_tensor(xf_model *model, size_t index, const float *values, size_t count,
                                            xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_MODEL_H */
