/*
 * windows_client.c - a program of Microsoft's ABI that needs no C library: translates a sentence with model.xf.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <xformer/xformer.h>

__declspec(dllimport) void *GetStdHandle(unsigned long which);
__declspec(dllimport) int WriteFile(void *file, const void *data, unsigned long size, unsigned long *written, void *at);
__declspec(dllimport) void ExitProcess(unsigned code);

void start(void);

static void print(const char *text) {
    unsigned long size = 0, written;
    while (text[size] != 0) ++size;
    WriteFile(GetStdHandle((unsigned long)-11), text, size, &written, NULL);
}

void start(void) {
    xf_error err;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *hypotheses = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    xf_source source = XF_SOURCE_PATH("model.xf");
    const char *text = "Choose File - Save.";
    if (xf_context_create(NULL, NULL, &context, &err) != XF_OK ||
        xf_model_load(context, &source, NULL, NULL, &model, &err) != XF_OK ||
        xf_decoder_create(model, NULL, NULL, &decoder, &err) != XF_OK ||
        xf_translate(decoder, &text, NULL, 1, NULL, NULL, &hypotheses, &err) != XF_OK ||
        xf_hypotheses_get(hypotheses, 0, 0, &best, &err) != XF_OK)
        print(err.message);
    else
        print(best.text);
    ExitProcess(best.text == NULL);
}
