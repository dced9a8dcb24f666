/*
 * shim.c - see shim.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "shim.h"

#include <stdio.h>
#include <stdlib.h>

#include "_cgo_export.h"

static enum xf_status no_memory(xf_error *err) {
    err->status = XF_ERROR_NO_MEMORY;
    err->native_code = 0;
    snprintf(err->message, sizeof err->message, "out of memory for the arguments of a call");
    return XF_ERROR_NO_MEMORY;
}

/* malloc(0) may give NULL: one more is asked for. */
static const char **strings(const char *text, const size_t *lengths, size_t count) {
    const char **all = count < SIZE_MAX / sizeof *all ? malloc((count + 1) * sizeof *all) : NULL;
    for (size_t i = 0; all != NULL && i < count; ++i) {
        all[i] = text;
        text += lengths[i] + 1;
    }
    return all;
}

enum xf_status xfgo_translate(xf_decoder *decoder, const char *text, const size_t *lengths, size_t count,
                              xf_hypotheses **out, xf_error *err) {
    const char **texts = strings(text, lengths, count);
    const enum xf_status status =
        texts != NULL ? xf_translate(decoder, texts, lengths, count, out, err) : no_memory(err);
    free(texts);
    return status;
}

enum xf_status xfgo_model_average(xf_context *context, const char *text, const size_t *lengths, size_t count,
                                  xf_model **out, xf_error *err) {
    const char **paths = strings(text, lengths, count);
    const enum xf_status status = paths != NULL ? xf_model_average(context, paths, count, out, err) : no_memory(err);
    free(paths);
    return status;
}

enum xf_status xfgo_bleu(const char *hypotheses, const size_t *hypothesis_lengths, const char *references,
                         const size_t *reference_lengths, size_t count, int32_t tokenize, xf_bleu_score *score,
                         xf_error *err) {
    const char **found = strings(hypotheses, hypothesis_lengths, count);
    const char **expected = strings(references, reference_lengths, count);
    const enum xf_status status =
        found != NULL && expected != NULL ? xf_bleu(found, expected, count, tokenize, score, err) : no_memory(err);
    free(found);
    free(expected);
    return status;
}

enum xf_status xfgo_chrf(const char *hypotheses, const size_t *hypothesis_lengths, const char *references,
                         const size_t *reference_lengths, size_t count, double *score, xf_error *err) {
    const char **found = strings(hypotheses, hypothesis_lengths, count);
    const char **expected = strings(references, reference_lengths, count);
    const enum xf_status status =
        found != NULL && expected != NULL ? xf_chrf(found, expected, count, score, err) : no_memory(err);
    free(found);
    free(expected);
    return status;
}

/* Fills one batch from where numbers points and gives where the next one begins. */
static const int32_t *unpack(xf_batch *batch, const int32_t *numbers, const int64_t *shape) {
    const xf_batch empty = XF_BATCH_INIT;
    *batch = empty;
    batch->sentences = shape[0];
    batch->src_ids = numbers;
    batch->src_offsets = numbers += shape[1];
    numbers += shape[0] + 1;
    if (shape[2] < 0) return numbers;
    batch->tgt_ids = numbers;
    batch->tgt_offsets = numbers += shape[2];
    return numbers + shape[0] + 1;
}

static xf_batch *batches(const int32_t *numbers, const int64_t *shape, size_t count) {
    xf_batch *all = count < SIZE_MAX / sizeof *all ? malloc((count + 1) * sizeof *all) : NULL;
    for (size_t i = 0; all != NULL && i < count; ++i) numbers = unpack(all + i, numbers, shape + 3 * i);
    return all;
}

enum xf_status xfgo_train_step(xf_trainer *trainer, const int32_t *numbers, const int64_t *shape, size_t count,
                               xf_step_stats *stats, xf_error *err) {
    xf_batch *all = batches(numbers, shape, count);
    const enum xf_status status = all != NULL ? xf_train_step(trainer, all, count, stats, err) : no_memory(err);
    free(all);
    return status;
}

enum xf_status xfgo_train_accumulate(xf_trainer *trainer, const int32_t *numbers, const int64_t *shape,
                                     xf_step_stats *stats, xf_error *err) {
    xf_batch batch;
    unpack(&batch, numbers, shape);
    return xf_train_accumulate(trainer, &batch, stats, err);
}

enum xf_status xfgo_decode(xf_decoder *decoder, const int32_t *numbers, const int64_t *shape, xf_hypotheses **out,
                           xf_error *err) {
    xf_batch batch;
    unpack(&batch, numbers, shape);
    return xf_decode(decoder, &batch, out, err);
}

enum xf_status xfgo_score(xf_decoder *decoder, const int32_t *numbers, const int64_t *shape, double *scores,
                          xf_error *err) {
    xf_batch batch;
    unpack(&batch, numbers, shape);
    return xf_score(decoder, &batch, scores, err);
}

enum xf_status xfgo_evaluate(xf_decoder *decoder, const int32_t *numbers, const int64_t *shape, size_t count,
                             xf_eval_stats *stats, xf_error *err) {
    xf_batch *all = batches(numbers, shape, count);
    const enum xf_status status = all != NULL ? xf_evaluate(decoder, all, count, stats, err) : no_memory(err);
    free(all);
    return status;
}

enum xf_status xfgo_attention_weights(xf_decoder *decoder, const int32_t *numbers, const int64_t *shape, int32_t kind,
                                      int32_t layer, float *weights, size_t capacity, size_t *count, xf_error *err) {
    xf_batch batch;
    unpack(&batch, numbers, shape);
    return xf_attention_weights(decoder, &batch, kind, layer, weights, capacity, count, err);
}

static int32_t ask(void *user, const xf_prefix *prefix, uint32_t *allowed) {
    return xfgoAsk((uintptr_t)user, (xf_prefix *)prefix, allowed);
}

enum xf_status xfgo_set_constraint(xf_decoder *decoder, uintptr_t handle, xf_error *err) {
    return xf_decoder_set_constraint(decoder, handle != 0 ? ask : NULL, (void *)handle, err);
}

/* The library calls log functions on the thread that called it, so a panic waits here for the end of that call. */
static _Thread_local uintptr_t panicked;

static void log_line(void *user, enum xf_log_level level, const char *component, const char *message) {
    if (panicked == 0) panicked = xfgoLog((uintptr_t)user, (int32_t)level, (char *)component, (char *)message);
}

uintptr_t xfgo_take_panic(void) {
    const uintptr_t found = panicked;
    panicked = 0;
    return found;
}

enum xf_status xfgo_set_log(xf_context *context, uintptr_t handle, int32_t level, xf_error *err) {
    return xf_context_set_log(context, handle != 0 ? log_line : NULL, (void *)handle, (enum xf_log_level)level, err);
}

enum xf_status xfgo_take_cancel(xf_context *context) {
    /* The library has no call that lowers the flag, but each long call looks at it first, and this is the shortest. */
    xf_corpus *corpus = NULL;
    const enum xf_status status = xf_corpus_from_memory(context, NULL, "", "a\tb", 3, &corpus, NULL);
    xf_corpus_free(corpus);
    return status == XF_ERROR_CANCELLED ? XF_OK : status;
}
