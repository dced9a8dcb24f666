/*
 * xformer/train.h - training: loss, gradients, Adam, checkpoints.
 *
 * Training as in Vaswani et al. 2017, s. 5: label smoothing, dropout, and Adam with the warm-up schedule of eq. (3).
 * Other schedules, gradient clipping, decoupled weight decay, and an exponential moving average of the parameters are
 * optional. The same seed yields the same bits for any number of threads, and a resumed run equals an uninterrupted
 * one.
 *
 * A step may be divided into shards ("train.shards"). The shards may be distributed over several processes, called
 * ranks (experimental.h), without changing the bits. All ranks must then make the same collective calls in the same
 * order: xf_train_step() or xf_train_next(), xf_trainer_copy_average(), xf_trainer_save(), xf_context_all_gather(),
 * and, with "decode.divide_evaluation", xf_evaluate().
 * All ranks must resume from the same file. If one rank fails, the others return XF_ERROR_PEER.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_TRAIN_H
#define XFORMER_TRAIN_H

#include "xformer/config.h"
#include "xformer/context.h"
#include "xformer/data.h"
#include "xformer/io.h"
#include "xformer/model.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup train Training
 * @brief Loss, gradients, Adam, checkpoints. The type xf_trainer is declared in data.h.
 * @{
 */

/** @brief Outcome of a training step. @since 0.1 */
enum {
    /** The parameters were updated. */
    XF_STEP_UPDATED = 1,
    /** The loss or the gradient was not finite and "train.on_nonfinite" is "skip": the batches were skipped. */
    XF_STEP_SKIPPED = 2,
    /**
     * The loss or the gradient was not finite and "train.on_nonfinite" is "rollback": parameters, moments, average, and
     * step were restored from the last checkpoint.
     */
    XF_STEP_ROLLED_BACK = 3
};

/** @brief Statistics of a training step. @since 0.1 */
typedef struct xf_step_stats {
    /** In: sizeof(xf_step_stats) of the caller. */
    size_t struct_size;
    /** Number of updates so far, including this one. */
    int64_t step;
    /** Sentence pairs used. */
    int64_t sentences;
    /** Source tokens, including end symbols. */
    int64_t src_tokens;
    /** Target tokens, including end symbols. */
    int64_t tgt_tokens;
    /** Label-smoothed cross-entropy with dropout, in nats per target token. */
    double loss;
    /** Cross-entropy without label smoothing, with dropout, in nats per target token. */
    double nll;
    /** Learning rate of the update; see "train.schedule". */
    double learning_rate;
    /** L2 norm of the gradient of the mean loss, before "train.clip_norm". */
    double gradient_norm;
    /** One of XF_STEP_.... */
    int32_t outcome;
    /** Not used, 0. */
    int32_t reserved;
} xf_step_stats;

/** @brief An xf_step_stats with its struct_size. @since 0.1 */
#define XF_STEP_STATS_INIT \
    { sizeof(xf_step_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * @brief Creates a trainer at step 0.
 *
 * Reads the options of the group "train.". Memory: gradients and two moments of the size of the parameters, one more
 * block of that size with "train.ema", and a workspace that grows to the largest batch. With several ranks, each rank
 * holds only its slice of the moments and of the average, and an additional copy of that slice of the parameters.
 *
 * @param model [in] the model to train, with fp32 matrices; kept alive by the trainer
 * @param config [in] NULL: all defaults
 * @param out [out] the trainer; free it with xf_trainer_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also: "train.shards" is less than the number of ranks),
 *         XF_ERROR_STATE (the model is quantized; see model.h), XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND
 * @threads exclusive
 * @par Source
 * Vaswani et al. 2017, s. 5
 * @since 0.1
 */
XF_API xf_status xf_trainer_create(xf_model *model, const xf_config *config, xf_trainer **out, xf_error *err);

/**
 * @brief Frees a trainer.
 * @param trainer [in] NULL has no effect
 * @threads any
 * @since 0.1
 */
XF_API void xf_trainer_free(xf_trainer *trainer);

/**
 * @brief Updates the model once, from one batch or from the sum of the gradients of several batches.
 *
 * Computes forward pass, loss, and backward pass, then applies Adam to the gradient of the mean loss per target token
 * of all batches. After an error, parameters, moments, and step number are as before the call (with several ranks,
 * there is one exception, described below).
 *
 * A loss or gradient that is not finite is handled as "train.on_nonfinite" specifies: the call returns
 * XF_ERROR_NONFINITE, skips the step, or restores the last checkpoint that this trainer saved to a path or resumed from
 * a path. The tenth such step in a row always returns XF_ERROR_NONFINITE.
 *
 * With S shards ("train.shards") and R ranks, rank r passes the batches of shards r * S / R to (r + 1) * S / R - 1, in
 * this order and with the same number of batches for each shard. For example, with S = 8, R = 2, and two batches per
 * shard, rank 1 passes two batches of shard 4, two of shard 5, and so on to shard 7. The order of summation depends
 * only on S. Each rank receives the statistics of the whole step. If the batches of one rank cause an error, the others
 * return XF_ERROR_PEER and all ranks are as before the call. If the connection is lost while updated parameters are
 * exchanged, the trainer cannot continue (XF_ERROR_STATE); resume from the last checkpoint.
 *
 * @param trainer [in,out] the trainer
 * @param batches [in] count batches with targets, each with at least one sentence; ids from 0 to V - 1
 * @param count [in] at least 1; a multiple of this rank's number of shards, with the same factor on all ranks
 * @param call [in] NULL: defaults; its deadline and cancel flag end the step without an update
 * @param stats [in,out] struct_size set by the caller; may be NULL
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (an id; a sentence longer than "model.max_length"),
 *         XF_ERROR_NONFINITE, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND, XF_ERROR_CANCELLED, XF_ERROR_DEADLINE,
 *         XF_ERROR_BUSY (also if the model is in use or another collective call of the context is running),
 *         XF_ERROR_STATE (gradients of xf_train_accumulate() are pending, or the trainer cannot continue),
 *         XF_ERROR_PEER (another rank failed), XF_ERROR_DESYNC (options, parameters, or batches of another rank differ)
 * @threads exclusive
 * @par Determinism
 * The bits depend only on model, options, step, and batches, not on threads or ranks.
 * @since 0.1
 */
XF_API xf_status xf_train_step(xf_trainer *trainer, const xf_batch *batches, size_t count, const xf_call *call,
                               xf_step_stats *stats, xf_error *err);

/**
 * @brief Updates the model once from the next batches of a batcher: "train.accumulate" batches for each shard
 * ("train.shards"); fewer at the end of an epoch.
 *
 * With several ranks, each has a batcher created from the same pairs with the same options, and computes the batches of
 * its own shards; every batcher then advances by the batches of all shards.
 *
 * If the call fails or is cancelled, the batcher keeps its position, so no batch is lost. After a skipped or
 * rolled-back step, the batcher has advanced.
 *
 * @param trainer [in,out] the trainer
 * @param batcher [in,out] the source of the batches
 * @param call [in] NULL: defaults
 * @param stats [in,out] struct_size set by the caller; may be NULL
 * @param err [out] may be NULL
 * @return as xf_train_step(); XF_DONE at the end of an epoch (no step was made; the next call begins the next epoch);
 *         if the call reads pairs, also the errors of xf_batcher_create()
 * @threads exclusive; also for the batcher
 * @since 0.1
 */
XF_API xf_status xf_train_next(xf_trainer *trainer, xf_batcher *batcher, const xf_call *call, xf_step_stats *stats,
                               xf_error *err);

/**
 * @brief First half of a step: adds the gradients of a batch to the pending gradients.
 * @param trainer [in,out] the trainer
 * @param batch [in] as in xf_train_step()
 * @param call [in] NULL: defaults
 * @param stats [in,out] statistics of this batch only (step, learning_rate, and gradient_norm are 0); may be NULL
 * @param err [out] may be NULL
 * @return as xf_train_step(); XF_ERROR_STATE also if "train.shards" is greater than 1. After an error, the pending
 *         gradients are discarded
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_train_accumulate(xf_trainer *trainer, const xf_batch *batch, const xf_call *call,
                                     xf_step_stats *stats, xf_error *err);

/**
 * @brief Second half of a step: updates the parameters from the pending gradients.
 * @param trainer [in,out] the trainer
 * @param stats [in,out] statistics of all accumulated batches; may be NULL
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_STATE (no gradients are pending), XF_ERROR_NONFINITE (the pending gradients are discarded),
 *         XF_ERROR_INVALID_ARGUMENT, XF_ERROR_BUSY, XF_ERROR_BACKEND
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_train_update(xf_trainer *trainer, xf_step_stats *stats, xf_error *err);

/**
 * @brief Returns the number of updates so far.
 * @param trainer [in] the trainer
 * @return the number; -1 if trainer is NULL or another kind of handle
 * @threads shared-read
 * @since 0.1
 */
XF_API int64_t xf_trainer_step_count(const xf_trainer *trainer);

/**
 * @brief Returns the trainer's model.
 * @param trainer [in] the trainer
 * @return owned by the trainer, valid until it is freed; NULL if trainer is NULL or another kind of handle
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_model *xf_trainer_model(xf_trainer *trainer);

/**
 * @brief Returns the options of the group "train." that are in effect, also after a resume.
 * @param trainer [in] the trainer
 * @return owned by the trainer, valid until it is freed; NULL if trainer is NULL or another kind of handle
 * @threads shared-read
 * @since 0.1
 */
XF_API const xf_config *xf_trainer_config(const xf_trainer *trainer);

/**
 * @brief Copies the exponential moving average of the parameters to a new model. All ranks make this call.
 * @param trainer [in] created with "train.ema" greater than 0
 * @param call [in] NULL: defaults
 * @param out [out] the model, with tokenizer and metadata; free it with xf_model_free()
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_STATE (no average is kept), XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND,
 *         XF_ERROR_BUSY, XF_ERROR_CANCELLED, XF_ERROR_DEADLINE, XF_ERROR_PEER (another rank failed), XF_ERROR_DESYNC
 *         (another rank is at another step)
 * @threads shared-read; exclusive with several ranks
 * @since 0.1
 */
XF_API xf_status xf_trainer_copy_average(const xf_trainer *trainer, const xf_call *call, xf_model **out, xf_error *err);

/**
 * @brief Saves a checkpoint: model, tokenizer, metadata, options, moments, average, step, and the position of a
 * batcher.
 *
 * xf_model_load() can also read the file. With several ranks, all make this call. Rank 0 writes the file that a single
 * process would write, with the position of its batcher; the other ranks pass the same sink but do not write. Any
 * number of ranks up to "train.shards" can resume from it. If rank 0 fails, the others return XF_ERROR_PEER.
 *
 * @param trainer [in] the trainer
 * @param batcher [in] its position is saved; NULL: none
 * @param call [in] NULL: defaults
 * @param sink [in] the destination; if it is a path, it is replaced atomically even if the process is killed
 * @param err [out] may be NULL
 * @return XF_OK; XF_ERROR_STATE (gradients are pending), XF_ERROR_NONFINITE (the loss or gradient of the last step, or
 *         a number to save, is not finite; the old file is kept, because it may be the last good checkpoint),
 *         XF_ERROR_IO, XF_ERROR_NOT_FOUND (no such folder), XF_ERROR_BUFFER_TOO_SMALL (only *sink->size is written),
 *         XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND, XF_ERROR_CANCELLED, XF_ERROR_DEADLINE,
 *         XF_ERROR_CALLBACK, XF_ERROR_PEER (another rank failed), XF_ERROR_DESYNC (another rank is at another step).
 *         After an error, the old file is unchanged, unless the message says that the new file is in place and only its
 *         folder could not be synchronized
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_trainer_save(xf_trainer *trainer, const xf_batcher *batcher, const xf_call *call,
                                 const xf_sink *sink, xf_error *err);

/**
 * @brief Creates a trainer and its model from a checkpoint, in the state in which they were saved.
 *
 * Options of the group "train." that are set in config replace the saved ones. "train.seed", "train.ema", the constants
 * of Adam, and options of the group "model." cannot change, because the saved state depends on them. If the backend,
 * its arithmetic, or the precision differs from the saved run, later steps yield different bits, which is logged as a
 * warning.
 *
 * With several ranks, each reads the file. "train.shards" has the saved value unless it is set in config.
 *
 * @param context [in] the context; its number of threads does not affect the bits
 * @param source [in] the checkpoint; not trusted
 * @param config [in] NULL: as saved
 * @param call [in] NULL: defaults
 * @param out [out] the trainer, which owns its model (xf_trainer_model()); free it with xf_trainer_free()
 * @param err [out] may be NULL
 * @return as xf_model_load(); XF_ERROR_INVALID_ARGUMENT also if the file is a model without optimizer state;
 *         XF_ERROR_STATE if config changes an option that cannot change (the message names it)
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_trainer_resume(xf_context *context, const xf_source *source, const xf_config *config,
                                   const xf_call *call, xf_trainer **out, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_TRAIN_H */
