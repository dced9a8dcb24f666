/*
 * shim.h - what Go can't pass to C by itself, and the check that the headers are those this package was written for.
 *
 * Go may not pass a struct of pointers into Go memory. So arrays of strings and batches come here as flat arrays, and
 * the pointers are made on this side, for the time of the call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFGO_SHIM_H
#define XFGO_SHIM_H

#include <xformer/xformer.h>

#if XF_VERSION_MAJOR != 0 || XF_VERSION_MINOR != 1
#error "package xformer is for libxformer 0.1, and pkg-config found the headers of another version"
#endif

/* text holds count strings, each followed by a NUL; lengths are without it. */
enum xf_status xfgo_translate(xf_decoder *decoder, const char *text, const size_t *lengths, size_t count,
                              xf_hypotheses **out, xf_error *err);
enum xf_status xfgo_model_average(xf_context *context, const char *text, const size_t *lengths, size_t count,
                                  xf_model **out, xf_error *err);
enum xf_status xfgo_bleu(const char *hypotheses, const size_t *hypothesis_lengths, const char *references,
                         const size_t *reference_lengths, size_t count, int32_t tokenize, xf_bleu_score *score,
                         xf_error *err);
enum xf_status xfgo_chrf(const char *hypotheses, const size_t *hypothesis_lengths, const char *references,
                         const size_t *reference_lengths, size_t count, double *score, xf_error *err);

/*
 * Batches: shape has three numbers for each: sentences, source ids, target ids or -1 for none. numbers holds, batch by
 * batch, source ids, source offsets, target ids, target offsets.
 */
enum xf_status xfgo_train_step(xf_trainer *trainer, const int32_t *numbers, const int64_t *shape, size_t count,
                               xf_step_stats *stats, xf_error *err);
enum xf_status xfgo_train_accumulate(xf_trainer *trainer, const int32_t *numbers, const int64_t *shape,
                                     xf_step_stats *stats, xf_error *err);
enum xf_status xfgo_decode(xf_decoder *decoder, const int32_t *numbers, const int64_t *shape, xf_hypotheses **out,
                           xf_error *err);
enum xf_status xfgo_score(xf_decoder *decoder, const int32_t *numbers, const int64_t *shape, double *scores,
                          xf_error *err);
enum xf_status xfgo_evaluate(xf_decoder *decoder, const int32_t *numbers, const int64_t *shape, size_t count,
                             xf_eval_stats *stats, xf_error *err);

/* Sends log lines to the Go function behind a cgo.Handle; 0: silence. */
enum xf_status xfgo_set_log(xf_context *context, uintptr_t handle, int32_t level, xf_error *err);
/* The cgo.Handle of what a log function panicked with during the last call on this thread, or 0; once. */
uintptr_t xfgo_take_panic(void);

enum xf_status xfgo_attention_weights(xf_decoder *decoder, const int32_t *numbers, const int64_t *shape, int32_t kind,
                                      int32_t layer, float *weights, size_t capacity, size_t *count, xf_error *err);
/* Sends what the search asks to the Go constraint behind a cgo.Handle; 0: none. */
enum xf_status xfgo_set_constraint(xf_decoder *decoder, uintptr_t handle, xf_error *err);

/* Takes the cancel flag of a context, if it is up. Negative when that could not be found out. */
enum xf_status xfgo_take_cancel(xf_context *context);

#endif
