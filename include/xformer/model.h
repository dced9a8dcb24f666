/*
 * xformer/model.h - the parameters of a Transformer, in memory and in files.
 *
 * The model of Vaswani et al. 2017, s. 3, and its variants (options of the group "model."). A model file is one valid
 * safetensors file that also contains the configuration and the tokenizer.
 *
 * Matrices are stored as fp32, fp16, bf16, or int8. The option "model.weights" selects the type when a model is loaded,
 * copied, or saved. A model with fp32 matrices can be trained. Models with the other types, called quantized here, need
 * half or a quarter of the memory, and can only decode, score, and evaluate. xf_model_copy() converts between the
 * types, so one context can train a model and translate with a quantized copy of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_MODEL_H
#define XFORMER_MODEL_H

#include "xformer/config.h"
#include "xformer/context.h"
#include "xformer/data.h"
#include "xformer/io.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup model Models
 * @brief Parameters, in memory and in files.
 * @{
 */

/** @brief The parameters of a Transformer, its configuration, and optionally a tokenizer. @since 0.1 */
typedef struct xf_model xf_model;

/**
 * @brief Creates a model with random parameters.
 *
 * Reads the options of the group "model.". The matrices are fp32 and have a Glorot-uniform initialization, in which q,
 * k, and v are separate matrices; embeddings are normal with standard deviation d_model^-0.5; biases are 0 and
 * normalization weights are 1. The same "model.seed" yields the same bits.
 *
 * @param context [in] the context
 * @param tokenizer [in] kept alive by the model; NULL: the model works on ids, and "model.vocab_size" must be set
 * @param config [in] NULL: all defaults (the paper's base model)
 * @param out [out] the model; free it with xf_model_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also: "model.vocab_size" is set and differs from the tokenizer's size;
 *         "model.weights" is neither "same" nor "fp32"), XF_ERROR_NO_MEMORY, XF_ERROR_LIMIT, XF_ERROR_BACKEND
 * @threads shared-read
 * @par Source
 * Vaswani et al. 2017, s. 3; initialization of tensor2tensor's transformer_base_v1
 * @since 0.1
 */
XF_API xf_status xf_model_create(xf_context *context, const xf_tokenizer *tokenizer, const xf_config *config,
                                 xf_model **out, xf_error *err);

/**
 * @brief Loads a model that xf_model_save() or xf_trainer_save() wrote.
 *
 * Everything is validated before it is used: sizes, shapes, names, the checksum over all bytes, and the numbers, which
 * must be finite. From a checkpoint, the model is loaded and the optimizer's state is ignored.
 *
 * Reads "model.weights": the type of the matrices in memory. "same" keeps the type of the file; if the device cannot
 * multiply with that type, the matrices are converted to fp32, which is logged.
 *
 * @param context [in] the context
 * @param source [in] the bytes; not trusted
 * @param config [in] NULL: all defaults
 * @param call [in] NULL: defaults
 * @param out [out] the model; free it with xf_model_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND, XF_ERROR_IO, XF_ERROR_CORRUPT, XF_ERROR_LIMIT,
 *         XF_ERROR_VERSION, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND, XF_ERROR_UNSUPPORTED (the device cannot multiply with
 *         the requested type), XF_ERROR_OUT_OF_RANGE (a number is too large for the requested type),
 *         XF_ERROR_CANCELLED, XF_ERROR_DEADLINE, XF_ERROR_CALLBACK
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_model_load(xf_context *context, const xf_source *source, const xf_config *config,
                               const xf_call *call, xf_model **out, xf_error *err);

/** @brief Contents and memory requirements of a model file. @since 0.1 */
typedef struct xf_model_summary {
    /** In: sizeof(xf_model_summary) of the caller. */
    size_t struct_size;
    /** Number of parameters. */
    int64_t parameters;
    /** Size of the target vocabulary, V. */
    int64_t vocab_size;
    /** Size of the file in bytes. */
    int64_t file_bytes;
    /**
     * Estimated upper bound of the memory, in bytes, to load the model and to translate one batch of
     * "decode.batch_sentences" sentences of "data.max_tokens" tokens into translations of the same length with the beam
     * "decode.beam".
     */
    int64_t decode_bytes;
    /**
     * Estimated upper bound of the memory, in bytes, to train the model with batches of "data.batch_tokens" source
     * tokens and as many target tokens.
     */
    int64_t train_bytes;
    /** Number of updates before a checkpoint was saved; -1 for a model file. */
    int64_t step;
    /** 1 if the file contains a tokenizer. */
    int32_t has_tokenizer;
    /** Type of the matrices, one of XF_TYPE_.... */
    int32_t weights;
} xf_model_summary;

/** @brief An xf_model_summary with its struct_size. @since 0.1 */
#define XF_MODEL_SUMMARY_INIT \
    { sizeof(xf_model_summary), 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * @brief Reports the contents and memory requirements of a model file. Reads only the header; damage after the header
 * is not detected.
 * @param context [in] the context that would load it; "context.precision" affects the estimates
 * @param source [in] the bytes; not trusted
 * @param config [in] "model.weights" and options of "decode." and "data." for the estimates; NULL: all defaults
 * @param summary [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return as xf_model_load()
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_model_inspect(xf_context *context, const xf_source *source, const xf_config *config,
                                  xf_model_summary *summary, xf_error *err);

/**
 * @brief Saves a model.
 *
 * Reads "model.weights": the type of the matrices in the file; "same" keeps the model's own. Conversion rounds to
 * nearest. fp16 keeps 11 significant bits of magnitudes of at least 2^-14 and rounds smaller ones to multiples of
 * 2^-24; bf16 keeps 8 significant bits. int8 stores each row of a matrix as integers from -127 to 127 and a scale,
 * which is the row's largest magnitude divided by 127. Vectors and position tables remain fp32. Training that continues
 * from a quantized file is less exact than from fp32.
 *
 * @param model [in] the model
 * @param config [in] NULL: all defaults
 * @param call [in] NULL: defaults
 * @param sink [in] the destination
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_IO, XF_ERROR_NOT_FOUND (no such folder), XF_ERROR_BUFFER_TOO_SMALL
 *         (only *sink->size is written), XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND, XF_ERROR_CANCELLED, XF_ERROR_DEADLINE,
 *         XF_ERROR_CALLBACK; XF_ERROR_OUT_OF_RANGE (a number would round to infinity: beyond 65504 in fp16, 3.3895e38
 *         in bf16); XF_ERROR_NONFINITE (a number is not finite); XF_ERROR_LIMIT (a row is too long for int8; rows of up
 *         to 131,072 elements are supported). After an error, a file named by path is unchanged, unless the message
 *         says that the new file is in place and only its folder could not be synchronized
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_model_save(const xf_model *model, const xf_config *config, const xf_call *call, const xf_sink *sink,
                               xf_error *err);

/**
 * @brief Averages the parameters of files in fp64. The result is fp32, with tokenizer and metadata of the first file.
 *
 * Needs about three times the memory of one model, for any number of files.
 *
 * @param context [in] the context
 * @param sources [in] count models or checkpoints of the same configuration; not trusted
 * @param count [in] at least 1
 * @param call [in] NULL: defaults
 * @param out [out] the model; free it with xf_model_free()
 * @param err [out] may be NULL
 * @return as xf_model_load(); XF_ERROR_INVALID_ARGUMENT also if configurations differ
 * @threads shared-read
 * @par Source
 * Vaswani et al. 2017, s. 6.1: the last 5 (base) or 20 (big) checkpoints
 * @since 0.1
 */
XF_API xf_status xf_model_average(xf_context *context, const xf_source *sources, size_t count, const xf_call *call,
                                  xf_model **out, xf_error *err);

/**
 * @brief Copies a model with its tokenizer and metadata, optionally to another context or with another type of
 * matrices.
 *
 * Reads "model.weights": the type of the matrices of the copy; "same" keeps the model's own. Use it to quantize a
 * trained model for translation, or to convert a quantized model to fp32 for training.
 *
 * @param model [in] the model
 * @param context [in] the context of the copy; NULL: that of the model
 * @param config [in] NULL: all defaults
 * @param call [in] NULL: defaults
 * @param out [out] the copy; free it with xf_model_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND, XF_ERROR_BUSY, XF_ERROR_UNSUPPORTED
 *         (the device cannot multiply with that type), XF_ERROR_CANCELLED, XF_ERROR_DEADLINE; XF_ERROR_OUT_OF_RANGE and
 *         XF_ERROR_LIMIT as in xf_model_save()
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_model_copy(const xf_model *model, xf_context *context, const xf_config *config, const xf_call *call,
                               xf_model **out, xf_error *err);

/**
 * @brief Frees a model. Trainers and decoders that use it keep it alive.
 * @param model [in] the model; freeing NULL or a model that another handle owns has no effect
 * @threads any
 * @since 0.1
 */
XF_API void xf_model_free(xf_model *model);

/**
 * @brief Returns the model's configuration: the options of the group "model.", with "model.vocab_size" filled in.
 *
 * If the model was created with a tokenizer, "model.start_token" and "model.end_token" have its ids, unless the config
 * set them; without a start symbol, "model.start_token" is the end token. Without a tokenizer, -1 is 0 as start token
 * and 1 as end token.
 *
 * @param model [in] the model
 * @return owned by the model, valid until it is freed; NULL if model is NULL or another kind of handle
 * @threads shared-read
 * @since 0.1
 */
XF_API const xf_config *xf_model_config(const xf_model *model);

/**
 * @brief Returns the model's tokenizer. A batcher that is created with this tokenizer adds the special tokens of the
 * model to each text.
 * @param model [in] the model
 * @return owned by the model, valid until it is freed; NULL if the model has none, or if model is NULL or another kind
 *         of handle
 * @threads shared-read
 * @since 0.1
 */
XF_API const xf_tokenizer *xf_model_tokenizer(const xf_model *model);

/**
 * @brief Encodes text as the ids that the model expects in an xf_batch: with the end symbol and language tokens.
 *
 * This is the form that xf_decode(), xf_score(), and xf_train_step() accept. White space around the text is ignored. A
 * text without any token is encoded as only the end symbol.
 *
 * @param model [in] the model; it has a tokenizer
 * @param side [in] XF_SIDE_SOURCE or XF_SIDE_TARGET
 * @param text [in] UTF-8; may contain NUL; may be NULL if length is 0
 * @param length [in] size of the text in bytes
 * @param config [in] "text.source_language" and "text.target_language" of a multilingual model; NULL: all defaults
 * @param ids [out] room for capacity ids; may be NULL if capacity is 0
 * @param capacity [in] number of ids that fit
 * @param count [out] number of ids, also if they do not fit
 * @param err [out] may be NULL
 * @return as xf_tokenizer_encode(); XF_ERROR_STATE (the model has no tokenizer), XF_ERROR_INVALID_ARGUMENT also for an
 *         unknown or missing language
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_model_encode(const xf_model *model, int32_t side, const char *text, size_t length,
                                 const xf_config *config, int32_t *ids, size_t capacity, size_t *count, xf_error *err);

/**
 * @brief Stores a text with a model, for example its origin, languages, or license. It is saved in files and
 * checkpoints.
 * @param model [in,out] the model
 * @param key [in] 1 to 256 bytes
 * @param value [in] at most 1 MiB, copied; NULL removes the key
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_DATA (invalid UTF-8), XF_ERROR_LIMIT (more than 1,000 keys or 16
 *         MiB in total), XF_ERROR_NO_MEMORY, XF_ERROR_BUSY
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_model_set_metadata(xf_model *model, const char *key, const char *value, xf_error *err);

/**
 * @brief Copies a text that xf_model_set_metadata() stored with a model.
 * @param model [in] the model
 * @param key [in] its key
 * @param value [out] room for capacity bytes; NUL-terminated; may be NULL if capacity is 0
 * @param capacity [in] size in bytes, including the NUL
 * @param length [out] size of the text in bytes without the NUL, also if it does not fit
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_NOT_FOUND (no such key), XF_ERROR_BUFFER_TOO_SMALL (only *length is written), XF_ERROR_BUSY
 *         (another call changes the metadata), XF_ERROR_INVALID_ARGUMENT
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_model_get_metadata(const xf_model *model, const char *key, char *value, size_t capacity,
                                       size_t *length, xf_error *err);

/**
 * @brief Copies one of the keys under which texts are stored.
 * @param model [in] the model
 * @param index [in] from 0; keys are in byte order
 * @param key [out] room for capacity bytes; NUL-terminated; 257 bytes fit every key; may be NULL if capacity is 0
 * @param capacity [in] size in bytes, including the NUL
 * @param length [out] size of the key in bytes without the NUL, also if it does not fit
 * @param err [out] may be NULL
 * @return XF_OK; XF_DONE (there is no key with this index; nothing was written), XF_ERROR_BUFFER_TOO_SMALL (only
 *         *length is written), XF_ERROR_BUSY (another call changes the metadata), XF_ERROR_INVALID_ARGUMENT
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_model_get_metadata_key(const xf_model *model, size_t index, char *key, size_t capacity,
                                           size_t *length, xf_error *err);

/** @brief One parameter tensor. @since 0.1 */
typedef struct xf_tensor_info {
    /** In: sizeof(xf_tensor_info) of the caller. */
    size_t struct_size;
    /** Module path, for example "encoder.0.self_attention.q.weight"; owned by the model. */
    const char *name;
    /** Type in memory, one of XF_TYPE_.... */
    int32_t type;
    /** Number of dimensions, 1 to 4. */
    int32_t dims;
    /** Sizes of the dimensions, outermost first: [outputs, inputs] of a linear map, [ids, d_model] of an embedding. */
    int64_t shape[4];
} xf_tensor_info;

/** @brief An xf_tensor_info with its struct_size. @since 0.1 */
#define XF_TENSOR_INFO_INIT                                \
    {                                                      \
        sizeof(xf_tensor_info), NULL, 0, 0, { 0, 0, 0, 0 } \
    }

/**
 * @brief Returns the number of parameter tensors.
 * @param model [in] the model
 * @return the number; 0 if model is NULL or another kind of handle
 * @threads shared-read
 * @since 0.1
 */
XF_API size_t xf_model_tensor_count(const xf_model *model);

/**
 * @brief Describes a parameter tensor.
 * @param model [in] the model
 * @param index [in] from 0 to xf_model_tensor_count() - 1, in the order of the file
 * @param info [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (index)
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_model_get_tensor(const xf_model *model, size_t index, xf_tensor_info *info, xf_error *err);

/**
 * @brief Copies a parameter tensor to the caller, row-major and converted to fp32.
 * @param model [in] the model
 * @param index [in] from 0 to xf_model_tensor_count() - 1
 * @param values [out] room for count numbers
 * @param count [in] must be the product of the shape
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT (also: a wrong count), XF_ERROR_OUT_OF_RANGE (index), XF_ERROR_BUSY,
 *         XF_ERROR_BACKEND
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_model_read_tensor(const xf_model *model, size_t index, float *values, size_t count, xf_error *err);

/**
 * @brief Replaces a parameter tensor, for porting models and for tests.
 * @param model [in,out] the model; no call on its trainers or decoders may be running
 * @param index [in] from 0 to xf_model_tensor_count() - 1
 * @param values [in] count finite numbers, row-major
 * @param count [in] must be the product of the shape
 * @param err [out] may be NULL
 * @return as xf_model_read_tensor(); XF_ERROR_STATE (the model is quantized)
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_model_write_tensor(xf_model *model, size_t index, const float *values, size_t count, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_MODEL_H */
