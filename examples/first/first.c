#include <stdio.h>
#include <xformer/xformer.h>

int main(int argc, char **argv) {
    xf_error err;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *hypotheses = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    xf_source source = XF_SOURCE_PATH(argc > 1 ? argv[1] : "model.xf");
    const char *text = argc > 2 ? argv[2] : "Choose File - Save.";

    if (xf_context_create(NULL, NULL, &context, &err) != XF_OK ||
        xf_model_load(context, &source, NULL, NULL, &model, &err) != XF_OK ||
        xf_decoder_create(model, NULL, NULL, &decoder, &err) != XF_OK ||
        xf_translate(decoder, &text, NULL, 1, NULL, NULL, &hypotheses, &err) != XF_OK ||
        xf_hypotheses_get(hypotheses, 0, 0, &best, &err) != XF_OK)
        fprintf(stderr, "%s\n", err.message);
    else
        printf("%s\n", best.text);

    xf_hypotheses_free(hypotheses); /* handles may be NULL and freed in any order */
    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_context_free(context);
    return best.text == NULL;
}
