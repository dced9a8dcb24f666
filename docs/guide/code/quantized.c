/*
 * quantized.c - loads and saves a model as int8, and converts it to fp32 for training.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "must.h"

static const char *translate(const xf_model *model, const char *text) {
    static char result[64];
    xf_decoder *decoder = NULL;
    xf_hypotheses *hypotheses = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    must(xf_decoder_create(model, NULL, NULL, &decoder, &err));
    must(xf_translate(decoder, &text, NULL, 1, NULL, NULL, &hypotheses, &err));
    must(xf_hypotheses_get(hypotheses, 0, 0, &best, &err));
    snprintf(result, sizeof result, "%s", best.text);
    xf_hypotheses_free(hypotheses);
    xf_decoder_free(decoder);
    return result;
}

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL, *full = NULL;
    xf_trainer *trainer = NULL;
    must(xf_config_create(&config, &err));

    /* [load] */
    xf_source source = XF_SOURCE_PATH("numerals.xf");
    must(xf_context_create(NULL, NULL, &context, &err));
    must(xf_config_set(config, "model.weights", "int8", &err));
    must(xf_model_load(context, &source, config, NULL, &model, &err));
    /* [load] */
    printf("as int8: %s\n", translate(model, "three two one"));

    /* [save] */
    xf_sink sink = XF_SINK_PATH("numerals-int8.xf");
    xf_model_summary before = XF_MODEL_SUMMARY_INIT, after = XF_MODEL_SUMMARY_INIT;
    must(xf_model_save(model, NULL, NULL, &sink, &err)); /* the matrices keep the type that they have in memory */
    must(xf_model_inspect(context, &source, NULL, &before, &err));
    source.path = "numerals-int8.xf";
    must(xf_model_inspect(context, &source, NULL, &after, &err));
    printf("saved as int8: %s; less than half the size: %s\n", after.weights == XF_TYPE_INT8 ? "yes" : "no",
           after.file_bytes < before.file_bytes / 2 ? "yes" : "no");
    /* [save] */

    /* [train] */
    if (xf_trainer_create(model, NULL, &trainer, &err) == XF_ERROR_STATE) printf("%s\n", err.message);
    must(xf_config_set(config, "model.weights", "fp32", &err));
    must(xf_model_copy(model, NULL, config, NULL, &full, &err));
    must(xf_trainer_create(full, NULL, &trainer, &err));
    /* [train] */

    xf_trainer_free(trainer);
    xf_model_free(full);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
