/*
 * narrow.c - a model kept in 8 bits: loaded so, saved so, and made fp32 again to be trained.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "must.h"

static const char *answer(const xf_model *model, const char *text) {
    static char kept[64];
    xf_decoder *decoder = NULL;
    xf_hypotheses *answers = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    must(xf_decoder_create(model, NULL, &decoder, &err));
    must(xf_translate(decoder, &text, NULL, 1, NULL, &answers, &err));
    must(xf_hypotheses_get(answers, 0, 0, &best, &err));
    snprintf(kept, sizeof kept, "%s", best.text);
    xf_hypotheses_free(answers);
    xf_decoder_free(decoder);
    return kept;
}

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL, *wide_context = NULL;
    xf_model *model = NULL, *wide = NULL;
    xf_trainer *trainer = NULL;
    must(xf_config_create(&config, &err));

    /* [load] */
    must(xf_config_set(config, "context.weights", "int8", &err));
    must(xf_context_create(config, NULL, &context, &err));
    must(xf_model_load(context, "numerals.xf", &model, &err));
    /* [load] */
    printf("kept in int8: %s\n", answer(model, "three two one"));

    /* [save] */
    xf_source source = XF_SOURCE_INIT;
    xf_model_summary before = XF_MODEL_SUMMARY_INIT, after = XF_MODEL_SUMMARY_INIT;
    must(xf_config_set(config, "file.precision", "int8", &err));
    must(xf_model_save(model, config, "numerals-int8.xf", &err));
    source.path = "numerals.xf";
    must(xf_model_inspect(context, NULL, &source, &before, &err));
    source.path = "numerals-int8.xf";
    must(xf_model_inspect(context, NULL, &source, &after, &err));
    printf("%s, then %s: a file less than half as large: %s\n", before.precision, after.precision,
           after.file_bytes < before.file_bytes / 2 ? "yes" : "no");
    /* [save] */

    /* [train] */
    if (xf_trainer_create(model, NULL, &trainer, &err) == XF_ERROR_STATE) printf("%s\n", err.message);
    must(xf_config_set(config, "context.weights", "fp32", &err));
    must(xf_context_create(config, NULL, &wide_context, &err));
    must(xf_model_copy(model, wide_context, &wide, &err));
    must(xf_trainer_create(wide, NULL, &trainer, &err));
    /* [train] */

    xf_trainer_free(trainer);
    xf_model_free(wide);
    xf_model_free(model);
    xf_context_free(wide_context);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
