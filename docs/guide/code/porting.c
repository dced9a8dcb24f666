/*
 * porting.c - writes another trainer's weights into a model by name, and proves the result by scores.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <string.h>

#include "must.h"

/* [write] */
/* Replaces the tensor of that name; its shape must be the one that the model has. */
static void write_tensor(xf_model *model, const char *name, const float *values, int64_t rows, int64_t columns) {
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    for (size_t i = 0; i < xf_model_tensor_count(model); ++i) {
        must(xf_model_get_tensor(model, i, &info, &err));
        if (strcmp(info.name, name) != 0) continue;
        if (info.rows != rows || info.columns != columns) {
            fprintf(stderr, "%s is [%d, %d], expected [%d, %d]\n", name, (int)rows, (int)columns, (int)info.rows,
                    (int)info.columns);
            exit(EXIT_FAILURE);
        }
        must(xf_model_write_tensor(model, i, values, (size_t)(rows * columns), &err));
        return;
    }
    fprintf(stderr, "the model has no tensor %s\n", name);
    exit(EXIT_FAILURE);
}
/* [write] */

int main(void) {
    xf_context *context = NULL;
    xf_model *source = NULL, *model = NULL;
    xf_decoder *decoder = NULL;
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    const int32_t ids[] = {300 - 40, 300 - 39, XF_TOKEN_END}, offsets[] = {0, 3};
    xf_batch batch = XF_BATCH_INIT;
    double expected, found;

    /* Here the other trainer's weights are those of a model file; elsewhere they are read from its own format. */
    must(xf_context_create(NULL, NULL, &context, &err));
    must(xf_model_load(context, "numerals.xf", &source, &err));

    /* [port] */
    /* The configuration, and the tokenizer when there is one: without it the model knows ids alone. */
    must(xf_model_create(context, xf_model_config(source), xf_model_tokenizer(source), &model, &err));
    for (size_t i = 0; i < xf_model_tensor_count(source); ++i) {
        must(xf_model_get_tensor(source, i, &info, &err));
        const size_t count = (size_t)(info.rows * info.columns);
        float *values = malloc(count * sizeof *values);
        must(xf_model_read_tensor(source, i, values, count, &err));
        write_tensor(model, info.name, values, info.rows, info.columns);
        free(values);
    }
    must(xf_model_save(model, NULL, "ported.xf", &err));
    /* [port] */

    /* [prove] */
    batch.sentences = 1;
    batch.src_ids = batch.tgt_ids = ids;
    batch.src_offsets = batch.tgt_offsets = offsets;
    must(xf_decoder_create(source, NULL, &decoder, &err));
    must(xf_score(decoder, &batch, &expected, &err)); /* elsewhere: a number that the other trainer gave */
    xf_decoder_free(decoder);
    must(xf_decoder_create(model, NULL, &decoder, &err));
    must(xf_score(decoder, &batch, &found, &err));
    printf("log P: %s\n", fabs(found - expected) <= 1e-4 * fabs(expected) ? "agrees" : "differs");
    /* [prove] */

    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_model_free(source);
    xf_context_free(context);
    return 0;
}
