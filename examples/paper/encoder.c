/*
 * encoder.c - measures time and memory of one encoder layer; see encoder.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "encoder.h"

#include <math.h>
#include <stdlib.h>

#include "common.h"
#include "signals.h"

enum { VOCABULARY = 64, END_SYMBOL = 1 /* the default of model.end_token */ };

/* A model and the sentence that it processes. */
struct stack {
    xf_context *context;
    xf_model *model;
    xf_decoder *decoder;
    xf_trainer *trainer;
    xf_batch batch;
    int32_t *source, target[1];
    int64_t source_offsets[2], target_offsets[2];
    xf_error err;
};

static xf_status set_shape(xf_config *config, const struct encoder_shape *shape, int64_t layers, xf_error *err) {
    const struct {
        const char *key;
        int64_t value;
    } values[] = {
        {"model.encoder_layers", layers},   {"model.decoder_layers", 1},     {"model.d_model", shape->d_model},
        {"model.d_ff", shape->d_ff},        {"model.heads", shape->heads},   {"model.d_k", shape->d_k},
        {"model.d_v", shape->d_k},          {"model.window", shape->window}, {"model.vocab_size", VOCABULARY},
        {"model.max_length", shape->n + 2},
    };
    xf_status status = XF_OK;
    for (size_t i = 0; status == XF_OK && i < sizeof values / sizeof values[0]; ++i)
        status = xf_config_set_number(config, values[i].key, values[i].value, err);
    if (status == XF_OK) status = xf_config_set_number(config, "train.dropout", 0, err);
    return status;
}

static void stack_close(struct stack *stack) {
    xf_trainer_free(stack->trainer);
    xf_decoder_free(stack->decoder);
    xf_model_free(stack->model);
    xf_context_free(stack->context);
    free(stack->source);
}

static bool stack_open(struct stack *stack, const xf_config *options, const struct encoder_shape *shape, int64_t layers,
                       bool trains) {
    *stack = (struct stack){.batch = XF_BATCH_INIT};
    xf_config *config = NULL;
    xf_status status = xf_config_copy(options, &config, &stack->err);
    if (status == XF_OK) status = set_shape(config, shape, layers, &stack->err);
    if (status == XF_OK) status = xf_context_create(config, NULL, &stack->context, &stack->err);
    if (status == XF_OK) status = xf_model_create(stack->context, NULL, config, &stack->model, &stack->err);
    if (status == XF_OK && trains) status = xf_trainer_create(stack->model, config, &stack->trainer, &stack->err);
    if (status == XF_OK && !trains)
        status = xf_decoder_create(stack->model, NULL, config, &stack->decoder, &stack->err);
    xf_config_free(config);
    stack->source = allocate((size_t)shape->n * sizeof *stack->source);
    for (int64_t i = 0; i < shape->n; ++i) stack->source[i] = (int32_t)(2 + i * 37 % (VOCABULARY - 2));
    stack->source[shape->n - 1] = stack->target[0] = END_SYMBOL;
    stack->source_offsets[1] = shape->n;
    stack->target_offsets[1] = 1;
    stack->batch.sentences = 1;
    stack->batch.src_ids = stack->source;
    stack->batch.src_offsets = stack->source_offsets;
    stack->batch.tgt_ids = stack->target;
    stack->batch.tgt_offsets = stack->target_offsets;
    if (status != XF_OK) fail(&stack->err);
    return status == XF_OK;
}

static bool stack_forward(void *user) {
    struct stack *stack = user;
    double log_probability;
    return xf_score(stack->decoder, &stack->batch, &until_interrupted, &log_probability, &stack->err) == XF_OK;
}

/* Forward and all gradients. Leaves out the update of the weights, whose time does not depend on the length. */
static bool stack_both(void *user) {
    struct stack *stack = user;
    return xf_train_accumulate(stack->trainer, &stack->batch, &until_interrupted, NULL, &stack->err) == XF_OK;
}

static int measure(const xf_config *config, const struct encoder_shape *shape, int repeats, bool trains,
                   struct timing *timing, int64_t *memory) {
    struct stack one = {0}, two = {0};
    xf_memory_stats stats = XF_MEMORY_STATS_INIT;
    int status = EXIT_FAILED;
    if (stack_open(&one, config, shape, 1, trains) && stack_open(&two, config, shape, 2, trains)) {
        const work_fn work = trains ? stack_both : stack_forward;
        catch_signals();
        if (time_difference(work, &one, work, &two, 1, repeats, timing) &&
            xf_context_get_memory(two.context, &stats, NULL) == XF_OK) {
            *memory = stats.peak;
            status = -1;
        } else if (was_interrupted()) {
            complain("interrupted");
            status = EXIT_INTERRUPTED;
        } else {
            fail(one.err.status != XF_OK ? &one.err : &two.err);
        }
    }
    stack_close(&one);
    stack_close(&two);
    return status;
}

int measure_encoder(const xf_config *config, const struct encoder_shape *shape, int repeats, bool gradients,
                    struct encoder_cost *cost) {
    *cost = (struct encoder_cost){.forward = {NAN, NAN, NAN}, .both = {NAN, NAN, NAN}};
    int status = measure(config, shape, repeats, false, &cost->forward, &cost->forward_memory);
    if (status < 0 && gradients) status = measure(config, shape, repeats, true, &cost->both, &cost->both_memory);
    return status;
}
