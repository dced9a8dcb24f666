/*
 * gradient.c - a step in two halves: several batches in one update, reading gradients, and a loss that is not finite.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <xformer/experimental.h>

#include "must.h"

/* [norm] */
/* Returns the number of elements of a tensor. */
static size_t size_of(const xf_tensor_info *info) {
    int64_t size = 1;
    for (int32_t i = 0; i < info->dims; ++i) size *= info->shape[i];
    return (size_t)size;
}

/* Returns the L2 norm of the pending gradient over all parameters. */
static double gradient_norm(xf_trainer *trainer) {
    const xf_model *model = xf_trainer_model(trainer);
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    double squares = 0;
    for (size_t i = 0; i < xf_model_tensor_count(model); ++i) {
        must(xf_model_get_tensor(model, i, &info, &err));
        const size_t count = size_of(&info);
        float *values = malloc(count * sizeof *values);
        must(xf_trainer_read_gradient(trainer, i, values, count, &err));
        for (size_t k = 0; k < count; ++k) squares += (double)values[k] * values[k];
        free(values);
    }
    return sqrt(squares);
}
/* [norm] */

/* [guard] */
/* Makes one update. Returns 0 if the loss was not finite; the caller may continue with the next batch. */
static int guarded_step(xf_trainer *trainer, const xf_batch *batch, xf_step_stats *stats) {
    const xf_status status = xf_train_step(trainer, batch, 1, NULL, stats, &err);
    if (status == XF_ERROR_NONFINITE) { /* parameters, moments, and step are unchanged */
        printf("skipped: %s\n", err.message);
        return 0;
    }
    must(status);
    return 1;
}
/* [guard] */

int main(void) {
    const int32_t ids[] = {5, 6, 7, 1, 8, 9, 1}; /* 1 is the end symbol */
    const int64_t offsets[] = {0, 4, 7};
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    xf_batch batch = XF_BATCH_INIT;
    xf_step_stats stats = XF_STEP_STATS_INIT;

    must(xf_config_create(&config, &err));
    must(xf_config_preset(config, "tiny", &err));
    must(xf_config_set(config, "model.vocab_size", "40", &err)); /* no tokenizer: the model works on ids */
    must(xf_context_create(config, NULL, &context, &err));
    must(xf_model_create(context, NULL, config, &model, &err));
    must(xf_trainer_create(model, config, &trainer, &err));

    batch.sentences = 2;
    batch.src_ids = batch.tgt_ids = ids;
    batch.src_offsets = batch.tgt_offsets = offsets;

    /* [halves] */
    for (int i = 0; i < 4; ++i) must(xf_train_accumulate(trainer, &batch, NULL, NULL, &err));
    const double norm = gradient_norm(trainer);
    must(xf_train_update(trainer, &stats, &err));
    printf("%d sentences, gradient norm %s\n", (int)stats.sentences,
           fabs(norm - stats.gradient_norm) < 1e-4 * norm ? "as reported" : "differs");
    /* [halves] */

    /* A layer norm with weights of 3e38 makes the loss overflow. */
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    must(xf_model_get_tensor(model, xf_model_tensor_count(model) - 2, &info, &err));
    const size_t count = size_of(&info);
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; ++i) values[i] = 3e38f;
    must(xf_model_write_tensor(model, xf_model_tensor_count(model) - 2, values, count, &err));
    free(values);
    if (!guarded_step(trainer, &batch, &stats)) printf("still at step %d\n", (int)xf_trainer_step_count(trainer));

    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
