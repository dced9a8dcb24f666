/*
 * porting.c - writes the weights of another toolkit into a model by name, and verifies the result by its scores.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <string.h>

#include "must.h"

/* [write] */
static size_t size_of(const xf_tensor_info *info) {
    int64_t size = 1;
    for (int32_t i = 0; i < info->dims; ++i) size *= info->shape[i];
    return (size_t)size;
}

/* Replaces the tensor of that name. Its shape must match that of the model. */
static void write_tensor(xf_model *model, const char *name, const float *values, int32_t dims, const int64_t *shape) {
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    for (size_t i = 0; i < xf_model_tensor_count(model); ++i) {
        must(xf_model_get_tensor(model, i, &info, &err));
        if (strcmp(info.name, name) != 0) continue;
        if (info.dims != dims || memcmp(info.shape, shape, (size_t)dims * sizeof *shape) != 0) {
            fprintf(stderr, "%s does not have the shape that the model has\n", name);
            exit(EXIT_FAILURE);
        }
        must(xf_model_write_tensor(model, i, values, size_of(&info), &err));
        return;
    }
    fprintf(stderr, "the model has no tensor %s\n", name);
    exit(EXIT_FAILURE);
}
/* [write] */

int main(void) {
    xf_context *context = NULL;
    xf_model *original = NULL, *model = NULL;
    xf_decoder *decoder = NULL;
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    const int32_t ids[] = {260, 261, 1}; /* two tokens and the end symbol */
    const int64_t offsets[] = {0, 3};
    xf_batch batch = XF_BATCH_INIT;
    double expected, found;

    /* This example takes the weights from a model file. A real program reads the other toolkit's format. */
    must(xf_context_create(NULL, NULL, &context, &err));
    xf_source source = XF_SOURCE_PATH("numerals.xf");
    must(xf_model_load(context, &source, NULL, NULL, &original, &err));

    /* [port] */
    /* Without a tokenizer, the model works on ids. */
    must(xf_model_create(context, xf_model_tokenizer(original), xf_model_config(original), &model, &err));
    for (size_t i = 0; i < xf_model_tensor_count(original); ++i) {
        must(xf_model_get_tensor(original, i, &info, &err));
        const size_t count = size_of(&info);
        float *values = malloc(count * sizeof *values);
        must(xf_model_read_tensor(original, i, values, count, &err));
        write_tensor(model, info.name, values, info.dims, info.shape);
        free(values);
    }
    xf_sink sink = XF_SINK_PATH("ported.xf");
    must(xf_model_save(model, NULL, NULL, &sink, &err));
    /* [port] */

    /* [prove] */
    batch.sentences = 1;
    batch.src_ids = batch.tgt_ids = ids;
    batch.src_offsets = batch.tgt_offsets = offsets;
    must(xf_decoder_create(original, NULL, NULL, &decoder, &err));
    must(xf_score(decoder, &batch, NULL, &expected, &err)); /* in a real program: the other toolkit's score */
    xf_decoder_free(decoder);
    must(xf_decoder_create(model, NULL, NULL, &decoder, &err));
    must(xf_score(decoder, &batch, NULL, &found, &err));
    printf("log P: %s\n", fabs(found - expected) <= 1e-4 * fabs(expected) ? "agrees" : "differs");
    /* [prove] */

    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_model_free(original);
    xf_context_free(context);
    return 0;
}
