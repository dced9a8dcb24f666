/*
 * errors.c - handles expected errors and reports the others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "must.h"

/* [load] */
/* Returns a model, or NULL if no usable model exists and the program can work without one. */
static xf_model *load_if_valid(xf_context *context, const char *path) {
    xf_model *model = NULL;
    xf_source source = XF_SOURCE_PATH(path);
    switch (xf_model_load(context, &source, NULL, NULL, &model, &err)) {
        case XF_OK:
            break;
        case XF_ERROR_NOT_FOUND: /* expected: nothing was trained yet */
            printf("no model yet\n");
            break;
        case XF_ERROR_CORRUPT: /* damaged, or not a model: the previous file may be valid */
        case XF_ERROR_LIMIT:
        case XF_ERROR_VERSION:
            printf("not usable: %s\n", err.message);
            break;
        case XF_ERROR_IO: /* native_code distinguishes the causes */
            printf("not readable, errno %d\n", (int)err.native_code);
            break;
        default: /* no memory, or a defect of the caller or the library */
            must((xf_status)err.status);
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
    load_if_valid(context, "nothing.xf");
    load_if_valid(context, "numerals.sh");
    load_if_valid(context, ".");
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
    if (xf_corpus_open(context, "bad.tsv", NULL, config, NULL, &corpus, &err) == XF_ERROR_DATA) puts(err.message);
    /* [data] */

    /* [buffer] */
    xf_source source = XF_SOURCE_PATH("numerals.xf");
    must(xf_model_load(context, &source, NULL, NULL, &model, &err));
    const char *const text = "three two one";
    size_t count = 0;
    xf_status status = xf_model_encode(model, XF_SIDE_SOURCE, text, strlen(text), NULL, NULL, 0, &count, &err);
    if (status == XF_ERROR_BUFFER_TOO_SMALL) { /* count is set */
        int32_t *ids = malloc(count * sizeof *ids);
        must(xf_model_encode(model, XF_SIDE_SOURCE, text, strlen(text), NULL, ids, count, &count, &err));
        free(ids);
    }
    printf("%s, then %d ids\n", xf_status_name(status), (int)count);
    /* [buffer] */

    /* [unchanged] */
    xf_source missing = XF_SOURCE_PATH("nothing.json");
    if (xf_tokenizer_load(context, &missing, NULL, &tokenizer, &err) < 0)
        printf("%s: %s\n", xf_status_name(err.status), tokenizer == NULL ? "still NULL" : "changed");
    xf_tokenizer_free(tokenizer); /* NULL has no effect */
    /* [unchanged] */

    xf_corpus_free(corpus);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(config);
    return 0;
}
