/* translate.c - translates a sentence. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <xformer/xformer.h>

int main(int argc, char **argv) {
    const char *text = argc > 1 ? argv[1] : "three two one";
    xf_error err = {0};
    xf_source source = XF_SOURCE_PATH("numerals.xf");
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *hypotheses = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;

    if (xf_context_create(NULL, NULL, &context, &err) == XF_OK &&
        xf_model_load(context, &source, NULL, NULL, &model, &err) == XF_OK &&
        xf_decoder_create(model, NULL, NULL, &decoder, &err) == XF_OK &&
        xf_translate(decoder, &text, NULL, 1, NULL, NULL, &hypotheses, &err) == XF_OK &&
        xf_hypotheses_get(hypotheses, 0, 0, &best, &err) == XF_OK)
        printf("%s\n", best.text);
    else
        fprintf(stderr, "%s\n", err.message);

    xf_hypotheses_free(hypotheses); /* in any order; NULL has no effect */
    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_context_free(context);
    return err.status != XF_OK;
}
