/*
 * xformer/model.h - the Transformer's parameters, in memory and in a file.
 *
 * The model of Vaswani et al. 2017, s. 3: post-LN layers, d_k and d_v free of each other and of d_model / h, one
 * matrix for source embedding, target embedding and projection. A model file is one valid safetensors file with the
 * configuration and the tokenizer inside.
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
 * Reads the options of the group "model.". Matrices are Glorot-uniform, each of q, k and v on its own; embeddings
 * are normal with deviation d_model^-0.5; biases 0; norm weights 1. The same "model.seed" gives the same bits.
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
 * finite. Of a checkpoint the model is taken and the optimizer's state left.
 *
 * @param context [in] the context
 * @param path [in] file name
 * @param out [out] the model; the caller frees it with xf_model_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND, XF_ERROR_IO, XF_ERROR_CORRUPT, XF_ERROR_LIMIT,
 *         XF_ERROR_VERSION, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_load(xf_context *context, const char *path, xf_model **out, xf_error *err);

/**
 * @brief Saves a model, replacing an old file at once or not at all; the old one stays as "<path>.prev".
 * @param model [in] the model
 * @param path [in] file name
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_IO, XF_ERROR_NOT_FOUND, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND;
 *         after an error the old file is as it was, unless the message says that the new one is in
 *         place and only its folder could not be flushed
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_save(const xf_model *model, const char *path, xf_error *err);

/**
 * @brief Writes a model as the options of the group "file." say: "file.precision" fp16 or bf16 halves the file.
 *
 * Numbers are rounded to nearest: fp16 keeps 11 bits of those from 2^-14 on and multiples of 2^-24 below, bf16 keeps 8
 * bits. xf_model_load() widens them; training goes on from such a file less exactly than from one of xf_model_save() or
 * from a checkpoint.
 *
 * @param model [in] the model
 * @param config [in] NULL: all defaults, which write what xf_model_save() does
 * @param path [in] file name
 * @param err [out] NULL allowed
 * @return as xf_model_save(); XF_ERROR_OUT_OF_RANGE when a number would round to infinity: beyond 65504 in
 *         fp16, 3.3895e38 in bf16
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_model_export(const xf_model *model, const xf_config *config, const char *path, xf_error *err);

/**
 * @brief Loads several files of one model and averages their parameters, in double precision.
 * @param context [in] the context
 * @param paths [in] count file names: models or checkpoints of the same configuration
 * @param count [in] at least 1
 * @param out [out] the model; the caller frees it with xf_model_free()
 * @param err [out] NULL allowed
 * @return as xf_model_load(); XF_ERROR_INVALID_ARGUMENT when configurations differ, XF_ERROR_CANCELLED after
 * xf_context_cancel()
 * @threads shared-read
 * @par Source
 * Vaswani et al. 2017, s. 6.1: the last 5 (base) or 20 (big) checkpoints
 * @since 0.1
 */
XF_API enum xf_status xf_model_average(xf_context *context, const char *const *paths, size_t count, xf_model **out,
                                       xf_error *err);

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
 * @brief Gives the model's tokenizer.
 * @param model [in] the model
 * @return owned by the model, valid until it is freed; NULL when it has none
 * @threads shared-read
 * @since 0.1
 */
XF_API const xf_tokenizer *xf_model_tokenizer(const xf_model *model);

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
 * @brief Copies a parameter tensor out, row-major.
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
 * @return as xf_model_read_tensor()
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
