/*
 * decoder.c - creates a decoder with one model, with an ensemble, or with a draft.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common.h"

int check_draft(const struct more_models *more, const xf_config *config) {
    int64_t beam = 0;
    if (more->draft == NULL) return -1;
    get_integer(config, "decode.beam", &beam, NULL);
    if (more->ensemble.count > 0)
        complain("--draft is set with --ensemble, expected one of them");
    else if (beam != 1)
        complain("--draft is set with a beam of %lld, expected greedy search (--greedy)", (long long)beam);
    else
        return -1;
    return EXIT_USAGE;
}

/* Prints an error. The library names a model by its position in xf_decode_models, and the message names its file. */
static void complain_of(const xf_error *err, const struct more_models *more) {
    size_t index = 0;
    const char *path = NULL, *rest = strchr(err->message, ' ');
    if (sscanf(err->message, "more->ensemble[%zu]", &index) == 1)
        path = more->ensemble.texts[index];
    else if (strncmp(err->message, "more->draft ", 12) == 0)
        path = more->draft;
    if (path != NULL && rest != NULL)
        complain("%s%s", path, rest);
    else
        fail(err);
}

xf_decoder *open_decoder(xf_context *context, const xf_model *model, const struct more_models *more,
                         const xf_config *config) {
    xf_model *others[MAX_LIST] = {NULL}, *draft = NULL;
    const xf_model *list[MAX_LIST];
    xf_decode_models models = XF_DECODE_MODELS_INIT;
    xf_decoder *decoder = NULL;
    xf_error err;
    bool opened = true;
    for (size_t i = 0; i < more->ensemble.count && opened; ++i) {
        list[i] = others[i] = open_model(context, more->ensemble.texts[i], config);
        opened = others[i] != NULL;
    }
    if (more->draft != NULL && opened) opened = (draft = open_model(context, more->draft, config)) != NULL;
    models.ensemble = list;
    models.ensemble_count = more->ensemble.count;
    models.draft = draft;
    if (opened && xf_decoder_create(model, &models, config, &decoder, &err) != XF_OK) complain_of(&err, more);
    for (size_t i = 0; i < more->ensemble.count; ++i) xf_model_free(others[i]); /* the decoder keeps them alive */
    xf_model_free(draft);
    return decoder;
}
