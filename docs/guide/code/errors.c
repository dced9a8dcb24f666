/*
 * errors.c - what a program does with each kind of error: expected ones are handled, the others told.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "must.h"

/* [load] */
/* A model for a program that can also work without one: NULL when there is none, or none that it may use. */
static xf_model *load_if_sound(xf_context *context, const char *path) {
    xf_model *model = NULL;
    switch (xf_model_load(context, path, &model, &err)) {
        case XF_OK:
            break;
        case XF_ERROR_NOT_FOUND: /* expected: nothing was trained yet */
            printf("no model yet\n");
            break;
        case XF_ERROR_CORRUPT: /* damaged, or not a model at all: the copy before may be sound */
        case XF_ERROR_LIMIT:
        case XF_ERROR_VERSION:
            printf("not usable: %s\n", err.message);
            break;
        case XF_ERROR_IO: /* the system's own number says more than a text can */
            printf("not readable, errno %d\n", (int)err.native_code);
            break;
        default: /* no memory, a defect of the caller or of the library */
            must((enum xf_status)err.status);
    }
    return model;
}
/* [load] */

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_corpus *corpus = NULL;
    FILE *file;

    must(xf_config_create(&config, &err));
    must(xf_context_create(NULL, NULL, &context, &err));

    /* [bad_files] */
    load_if_sound(context, "nothing.xf");
    load_if_sound(context, "numerals.sh");
    load_if_sound(context, ".");
    /* [bad_files] */

    /* [options] */
    if (xf_config_set(config, "train.dropuot", "0.2", &err) < 0) puts(err.message);
    if (xf_config_set(config, "train.dropout", "20", &err) < 0) puts(err.message);
    if (xf_config_set(config, "train.dropout", "high", &err) < 0) puts(err.message);
    /* [options] */

    /* [data] */
    must(xf_config_set(config, "data.strict", "true", &err));
    file = fopen("bad.tsv", "w");
    if (file == NULL) return 1;
    fputs("one\teins\ntwo zwei\n", file);
    fclose(file);
    if (xf_corpus_open(context, config, "bad.tsv", &corpus, &err) == XF_ERROR_DATA) puts(err.message);
    /* [data] */

    /* [buffer] */
    must(xf_model_load(context, "numerals.xf", &model, &err));
    const char *const text = "three two one";
    size_t count = 0;
    enum xf_status status = xf_tokenizer_encode(xf_model_tokenizer(model), text, strlen(text), NULL, 0, &count, &err);
    if (status == XF_ERROR_BUFFER_TOO_SMALL) { /* count is known now */
        int32_t *ids = malloc(count * sizeof *ids);
        must(xf_tokenizer_encode(xf_model_tokenizer(model), text, strlen(text), ids, count, &count, &err));
        free(ids);
    }
    printf("%s, then as many ids as it said\n", xf_status_name(status));
    /* [buffer] */

    /* [unchanged] */
    if (xf_tokenizer_load(context, "nothing.json", &tokenizer, &err) < 0)
        printf("%s: %s\n", xf_status_name(err.status), tokenizer == NULL ? "still NULL" : "changed");
    xf_tokenizer_free(tokenizer); /* so every path may free everything */
    /* [unchanged] */

    xf_corpus_free(corpus);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
