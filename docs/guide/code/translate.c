/* translate.c - puts a sentence through a trained model. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <xformer/xformer.h>

int main(int argc, char **argv) {
    const char *text = argc > 1 ? argv[1] : "three two one";
    xf_error err = {0};
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *answers = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;

    if (xf_context_create(NULL, NULL, &context, &err) == XF_OK &&
        xf_model_load(context, "numerals.xf", &model, &err) == XF_OK &&
        xf_decoder_create(model, NULL, &decoder, &err) == XF_OK &&
        xf_translate(decoder, &text, NULL, 1, NULL, &answers, &err) == XF_OK &&
        xf_hypotheses_get(answers, 0, 0, &best, &err) == XF_OK)
        printf("%s\n", best.text);
    else
        fprintf(stderr, "%s\n", err.message);

    xf_hypotheses_free(answers); /* in any order; NULL is fine */
    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_context_free(context);
    return err.status != XF_OK;
}
