/*
 * xformer/train.h - training: loss, gradients, Adam, checkpoints.
 *
 * Training as in Vaswani et al. 2017, s. 5: label smoothing, dropout, Adam with the warm-up schedule of eq. (3). The
 * same seed gives the same bits for any number of threads, and a resumed run equals one that was never interrupted.
 *
 * A step may be cut into "train.shards", and these may be dealt to ranks (comm.h), which changes nothing in the bits.
 * The ranks then make the same calls: xf_train_step() or xf_train_next(), xf_trainer_ema(), xf_trainer_save() and
 * xf_trainer_resume(), all of them in the same order. Where a rank fails the others get XF_ERROR_PEER.
 *
 * Beside the paper's schedule there are others; clipping, decoupled weight decay and an exponential moving average of
 * the parameters are off unless asked for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_TRAIN_H
#define XFORMER_TRAIN_H

#include "xformer/config.h"
#include "xformer/context.h"
#include "xformer/data.h"
#include "xformer/model.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup train Training
 * @brief Loss, gradients, Adam, checkpoints.
 * @{
 */

/** @brief The state of an optimization: gradients, moments, step, workspace. @since 0.1 */
typedef struct xf_trainer xf_trainer;

/** @brief What became of a training step. @since 0.1 */
enum xf_step_outcome {
    /** The parameters were updated. */
    XF_STEP_UPDATED = 0,
    /** Loss or gradient was not finite and "train.on_nonfinite" is skip: the batches were left out. */
    XF_STEP_SKIPPED = 1,
    /** The same with rollback: parameters, moments and step are those of the last checkpoint again. */
    XF_STEP_ROLLED_BACK = 2
};

/** @brief What a training step did. @since 0.1 */
typedef struct xf_step_stats {
    /** In: sizeof(xf_step_stats) of the caller. */
    size_t struct_size;
    /** Updates made so far, this one counted. */
    int64_t step;
    /** Sentence pairs used. */
    int64_t sentences;
    /** Source tokens, end symbols counted. */
    int64_t src_tokens;
    /** Target tokens, end symbols counted. */
    int64_t tgt_tokens;
    /** Label-smoothed cross-entropy, nats per target token, under dropout. */
    double loss;
    /** Un-smoothed cross-entropy, nats per target token, under dropout. */
    double nll;
    /** Learning rate of the update: eq. (3), or as "train.schedule" says. */
    double learning_rate;
    /** L2 norm of the gradient of the mean loss, before "train.clip_norm". */
    double gradient_norm;
    /** An enum xf_step_outcome. */
    int32_t outcome;
    /** Not used, 0. */
    int32_t reserved;
} xf_step_stats;

/** @brief A zeroed xf_step_stats with its struct_size. @since 0.1 */
#define XF_STEP_STATS_INIT \
    { sizeof(xf_step_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * @brief Creates a trainer at step 0.
 *
 * Reads the options of the group "train.". Memory: gradients and two moments as large as the parameters, with
 * "train.ema" one more block of that size, and a workspace that grows to the largest batch seen. Each of several ranks
 * holds its part of the moments and of the average, and that part of the parameters once more.
 *
 * @param model [in] what is trained, of fp32; kept alive by the trainer
 * @param config [in] NULL: all defaults
 * @param out [out] the trainer; the caller frees it with xf_trainer_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT (also: "train.shards" is no multiple of the ranks), XF_ERROR_STATE (the
 *         model is narrow: see model.h), XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND
 * @threads exclusive
 * @par Source
 * Vaswani et al. 2017, s. 5
 * @since 0.1
 */
XF_API enum xf_status xf_trainer_create(xf_model *model, const xf_config *config, xf_trainer **out, xf_error *err);

/**
 * @brief Frees a trainer.
 * @param trainer [in] NULL is allowed and does nothing
 * @threads any
 * @since 0.1
 */
XF_API void xf_trainer_free(xf_trainer *trainer);

/**
 * @brief Makes one update of the model from one batch, or from several whose gradients are added.
 *
 * Forward, loss, backward, then Adam on the gradient of the mean loss per target token of all the batches together.
 * Can be cancelled. After any error the parameters, the moments and the step number are as before the call.
 *
 * Loss or gradients that are not finite are XF_ERROR_NONFINITE, or, as "train.on_nonfinite" says, a step that is
 * skipped or a return to the last checkpoint that this trainer saved or resumed from; the tenth in a row is an error
 * all the same.
 *
 * With "train.shards" S above 1 on R ranks, rank r gives the batches of its S / R shards, from shard r * S / R on,
 * shard by shard, as many of each. With S 8, R 2 and two batches a shard, rank 1 gives two of shard 4, two of shard 5,
 * and so on to 7. Gradients are added up in an order that depends on S alone. Each rank gets the statistics of the
 * whole step. An error of one rank's batches is XF_ERROR_PEER on the others, and all stand where they stood. When ranks
 * lose each other while they exchange the updated parameters, these stay as they were and the moments do not: the
 * trainer refuses to go on (XF_ERROR_STATE).
 *
 * @param trainer [in,out] the trainer
 * @param batches [in] count batches with targets, each with at least one sentence; ids from 0 to V - 1
 * @param count [in] at least 1; a multiple of this rank's shards, by all ranks the same
 * @param stats [in,out] struct_size set by the caller; NULL allowed
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (an id, a sentence longer than "model.max_length"),
 *         XF_ERROR_NONFINITE (loss or gradient is not finite: nothing was changed), XF_ERROR_NO_MEMORY,
 *         XF_ERROR_BACKEND, XF_ERROR_CANCELLED, XF_ERROR_BUSY (the model, or the ranks of the context, too),
 *         XF_ERROR_STATE (gradients of xf_train_accumulate() are waiting; what was trained is lost),
 *         XF_ERROR_PEER (another rank), XF_ERROR_DESYNC (another rank has other options, parameters or batches)
 * @threads exclusive
 * @par Determinism
 * Bits depend on model, options, step and batches only, not on the number of ranks.
 * @since 0.1
 */
XF_API enum xf_status xf_train_step(xf_trainer *trainer, const xf_batch *batches, size_t count, xf_step_stats *stats,
                                    xf_error *err);

/**
 * @brief Makes one update from the next batches of a batcher: "train.accumulate" of them for each of
 *        "train.shards", fewer at the end of an epoch.
 *
 * Each rank has a batcher made from the same pairs by the same options, and computes the batches of its own shards; all
 * batchers then go on by those of all shards.
 *
 * When the call fails or is cancelled the batcher stands where it stood, so that nothing is left out. A skipped or
 * rolled-back step leaves its batches behind.
 *
 * @param trainer [in,out] the trainer
 * @param batcher [in,out] where the batches come from
 * @param stats [in,out] struct_size set by the caller; NULL allowed
 * @param err [out] NULL allowed
 * @return as xf_train_step(); XF_DONE at the end of an epoch: nothing was done, the next call begins the next epoch
 * @threads exclusive; the batcher too
 * @since 0.1
 */
XF_API enum xf_status xf_train_next(xf_trainer *trainer, xf_batcher *batcher, xf_step_stats *stats, xf_error *err);

/**
 * @brief Cancels the call that runs on this trainer at the moment; others of the context go on.
 * @param trainer [in] NULL is allowed and does nothing
 * @threads any; async-signal-safe
 * @since 0.1
 */
XF_API void xf_trainer_cancel(xf_trainer *trainer);

/**
 * @brief First half of a step: adds a batch's gradients to those that wait for xf_train_update().
 * @param trainer [in,out] the trainer
 * @param batch [in] as in xf_train_step()
 * @param stats [in,out] of this batch alone (step, learning_rate and gradient_norm are 0); NULL allowed
 * @param err [out] NULL allowed
 * @return as xf_train_step(); XF_ERROR_STATE also with "train.shards" above 1, a step of which is one call; after an
 *         error the waiting gradients are dropped and nothing waits any more
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_train_accumulate(xf_trainer *trainer, const xf_batch *batch, xf_step_stats *stats,
                                          xf_error *err);

/**
 * @brief Second half of a step: updates the parameters from the gradients that wait.
 * @param trainer [in,out] the trainer
 * @param stats [in,out] of all the batches together; NULL allowed
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_STATE (nothing waits), XF_ERROR_NONFINITE (the waiting gradients are dropped),
 *         XF_ERROR_INVALID_ARGUMENT, XF_ERROR_BACKEND
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_train_update(xf_trainer *trainer, xf_step_stats *stats, xf_error *err);

/**
 * @brief Copies out a waiting gradient: that of the mean loss per target token so far.
 * @param trainer [in] the trainer
 * @param index [in] parameter, as in xf_model_get_tensor()
 * @param values [out] room for count numbers, row-major
 * @param count [in] must be rows * columns
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_STATE (nothing waits), XF_ERROR_OUT_OF_RANGE, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_BACKEND
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_trainer_read_gradient(xf_trainer *trainer, size_t index, float *values, size_t count,
                                               xf_error *err);

/**
 * @brief Tells the number of updates made.
 * @param trainer [in] the trainer
 * @return updates; -1 when trainer is not a trainer
 * @threads shared-read
 * @since 0.1
 */
XF_API int64_t xf_trainer_step_count(const xf_trainer *trainer);

/**
 * @brief Gives the trainer's model.
 * @param trainer [in] the trainer
 * @return owned by the trainer, valid until it is freed, and xf_model_free() leaves it alone; NULL when trainer is
 *         not a trainer
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_model *xf_trainer_model(xf_trainer *trainer);

/**
 * @brief Copies the exponential moving average of the parameters to a model of its own. Of several ranks all call this.
 * @param trainer [in] the trainer, made with "train.ema" above 0
 * @param out [out] the model, with tokenizer and metadata; the caller frees it with xf_model_free()
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_STATE (no average is kept), XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND,
 *         XF_ERROR_BUSY, XF_ERROR_PEER (another rank), XF_ERROR_DESYNC (another rank stands elsewhere)
 * @threads shared-read; exclusive where there are ranks
 * @since 0.1
 */
XF_API enum xf_status xf_trainer_ema(const xf_trainer *trainer, xf_model **out, xf_error *err);

/**
 * @brief Saves a checkpoint: model, tokenizer, metadata, options, moments, average, step, and a batcher's position.
 *
 * One file, written beside the old one and put in its place at once; the old one stays as "<path>.prev". Killing
 * the process at any instant leaves a file that loads. xf_model_load() reads it too.
 *
 * Of several ranks all call this, with the same path, and rank 0 writes the file that one rank alone would write, with
 * the position of its own batcher. The file names no ranks, so any number that divides "train.shards" can go on from
 * it. An error of rank 0 is XF_ERROR_PEER on the others.
 *
 * @param trainer [in] the trainer
 * @param batcher [in] its position is stored; NULL: none
 * @param path [in] file name
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_STATE (gradients wait), XF_ERROR_NONFINITE (the last step was not finite, or a number to
 *         save is not: what this trainer saved last may be the last good one and is not replaced), XF_ERROR_IO,
 *         XF_ERROR_NOT_FOUND, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY, XF_ERROR_BACKEND, XF_ERROR_PEER (another
 *         rank), XF_ERROR_DESYNC (another rank stands elsewhere); after an error the old file is as it was, unless the
 *         message says that the new one is in place and only its folder could not be flushed
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_trainer_save(xf_trainer *trainer, const xf_batcher *batcher, const char *path, xf_error *err);

/**
 * @brief Continues from a checkpoint: makes a trainer and its model as they were when it was saved.
 *
 * Options may change: those of the group "train." that were set in config take the place of the saved ones, but for
 * "train.seed", Adam's and "train.ema", on which the saved state depends. When the backend, its arithmetic or the
 * precision is not that of the saved run the log says so, as a warning: the run goes on, with other bits.
 *
 * Each rank reads the file by itself. "train.shards" is as saved, unless config has another number.
 *
 * @param context [in] the context; threads may differ from those of the saved run, the bits do not
 * @param path [in] file name; not trusted
 * @param config [in] NULL: as saved
 * @param out [out] the trainer, which holds its model (xf_trainer_model()); the caller frees it with xf_trainer_free()
 * @param err [out] NULL allowed
 * @return as xf_model_load(); XF_ERROR_INVALID_ARGUMENT also when the file is a model, without optimizer state;
 *         XF_ERROR_STATE when config has another value for an option that can't change: the message names it
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_trainer_resume(xf_context *context, const char *path, const xf_config *config,
                                        xf_trainer **out, xf_error *err);

/**
 * @brief Tells the batcher position that was saved with the checkpoint; xf_trainer_seek() goes there.
 * @param trainer [in] the trainer
 * @param epoch [out] 0 when none was saved
 * @param batch [out] 0 when none was saved
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_trainer_get_position(const xf_trainer *trainer, int64_t *epoch, int64_t *batch, xf_error *err);

/**
 * @brief Moves a batcher to the position that was saved with the checkpoint, when it would go on as the saved run.
 *
 * With another "data.batch_tokens" it goes to the batch at the same share of the epoch; some pairs of that epoch are
 * then seen twice or not at all, which the log says.
 *
 * @param trainer [in] from xf_trainer_resume()
 * @param batcher [in,out] made from the same corpus, tokenizer and options as in the saved run
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_STATE (no position was saved), XF_ERROR_DATA (other pairs, or another
 *         "data.shuffle", "data.seed", "data.bpe_dropout" or "data.unigram_alpha": batcher unchanged), what
 *         xf_batcher_seek() gives,
 *         XF_ERROR_OUT_OF_RANGE, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_trainer_seek(const xf_trainer *trainer, xf_batcher *batcher, xf_error *err);

/**
 * @brief Gives the "train." options the trainer works with, also after a resume.
 * @param trainer [in] the trainer
 * @return owned by the trainer, valid until it is freed; NULL when trainer is not a trainer
 * @threads shared-read
 * @since 0.1
 */
XF_API const xf_config *xf_trainer_config(const xf_trainer *trainer);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_TRAIN_H */
