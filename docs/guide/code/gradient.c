/*
 * gradient.c - a step by halves: several batches in one update, gradients read in between, numbers that are not finite.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "must.h"

/* [norm] */
/* The L2 norm of the gradient that waits, over all parameters. */
static double gradient_norm(xf_trainer *trainer) {
    const xf_model *model = xf_trainer_model(trainer);
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    double squares = 0;
    for (size_t i = 0; i < xf_model_tensor_count(model); ++i) {
        must(xf_model_get_tensor(model, i, &info, &err));
        const size_t count = (size_t)(info.rows * info.columns);
        float *values = malloc(count * sizeof *values);
        must(xf_trainer_read_gradient(trainer, i, values, count, &err));
        for (size_t k = 0; k < count; ++k) squares += (double)values[k] * values[k];
        free(values);
    }
    return sqrt(squares);
}
/* [norm] */

/* [guard] */
/* One update, or none: 0 when the numbers of this batch are beyond fp32 and the caller may go on with the next. */
static int guarded_step(xf_trainer *trainer, const xf_batch *batch, xf_step_stats *stats) {
    const enum xf_status status = xf_train_step(trainer, batch, 1, stats, &err);
    if (status == XF_ERROR_NONFINITE) { /* parameters, moments and step are as they were */
        printf("left out: %s\n", err.message);
        return 0;
    }
    must(status);
    return 1;
}
/* [guard] */

int main(void) {
    const int32_t ids[] = {5, 6, 7, XF_TOKEN_END, 8, 9, XF_TOKEN_END}, offsets[] = {0, 4, 7};
    const float huge[] = {3e38f};
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_trainer *trainer = NULL;
    xf_batch batch = XF_BATCH_INIT;
    xf_step_stats stats = XF_STEP_STATS_INIT;

    must(xf_config_create(&config, &err));
    must(xf_config_preset(config, "tiny", &err));
    must(xf_config_set(config, "model.vocab_size", "40", &err)); /* no tokenizer: ids alone */
    must(xf_context_create(config, NULL, &context, &err));
    must(xf_model_create(context, config, NULL, &model, &err));
    must(xf_trainer_create(model, config, &trainer, &err));

    batch.sentences = 2;
    batch.src_ids = batch.tgt_ids = ids;
    batch.src_offsets = batch.tgt_offsets = offsets;

    /* [halves] */
    for (int i = 0; i < 4; ++i) must(xf_train_accumulate(trainer, &batch, NULL, &err));
    const double norm = gradient_norm(trainer);
    must(xf_train_update(trainer, &stats, &err));
    printf("%d sentences, gradient norm %s\n", (int)stats.sentences,
           fabs(norm - stats.gradient_norm) < 1e-4 * norm ? "as reported" : "another");
    /* [halves] */

    /* Scaling a layer norm by 1e38 sends the loss beyond fp32. */
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    must(xf_model_get_tensor(model, xf_model_tensor_count(model) - 2, &info, &err));
    float *values = malloc((size_t)info.columns * sizeof *values);
    for (int64_t i = 0; i < info.columns; ++i) values[i] = huge[0];
    must(xf_model_write_tensor(model, xf_model_tensor_count(model) - 2, values, (size_t)info.columns, &err));
    free(values);
    if (!guarded_step(trainer, &batch, &stats)) printf("still at step %d\n", (int)xf_trainer_step_count(trainer));

    xf_trainer_free(trainer);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
