/*
 * models.c - a model from a descriptor, to memory and back, what its header tells, texts with it, a copy and an
 * average.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200112L
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
    xf_context *context = NULL;
    xf_model *model = NULL, *again = NULL, *copy = NULL, *average = NULL;
    must(xf_context_create(NULL, NULL, &context, &err));

    /* [inspect] */
    xf_source source = XF_SOURCE_INIT;
    xf_model_summary summary = XF_MODEL_SUMMARY_INIT;
    source.path = "numerals.xf";
    must(xf_model_inspect(context, NULL, &source, &summary, &err));
    printf("vocabulary %d, %s, %s\n", (int)summary.vocab_size, summary.precision,
           summary.has_tokenizer ? "with a tokenizer" : "without a tokenizer");
    if (summary.decode_bytes > 1000000000) printf("too large for this machine\n");
    /* [inspect] */

    /* [descriptor] */
    source = (xf_source)XF_SOURCE_INIT;
    source.fd = open("numerals.xf", O_RDONLY);
    if (source.fd < 0) return EXIT_FAILURE;
    must(xf_model_load_from(context, &source, &model, &err));
    close(source.fd); /* nothing is read from it any more */
    /* [descriptor] */
    printf("from a descriptor: %s\n", answer(model, "three two one"));

    /* [metadata] */
    must(xf_model_set_metadata(model, "languages", "en de", &err));
    must(xf_model_set_metadata(model, "licence", "CC0", &err));
    /* [metadata] */

    /* [memory] */
    size_t size = 0;
    xf_model_save_memory(model, NULL, NULL, 0, &size, NULL); /* XF_ERROR_BUFFER_TOO_SMALL: says the size alone */
    void *bytes = malloc(size);
    if (bytes == NULL) return EXIT_FAILURE;
    must(xf_model_save_memory(model, NULL, bytes, size, &size, &err));

    source = (xf_source)XF_SOURCE_INIT;
    source.data = bytes;
    source.size = size;
    must(xf_model_load_from(context, &source, &again, &err));
    free(bytes); /* a model keeps nothing of it */
    /* [memory] */
    printf("from memory: %s\n", answer(again, "three two one"));

    /* [texts] */
    for (size_t i = 0; xf_model_metadata_key(again, i) != NULL; ++i) {
        const char *key = xf_model_metadata_key(again, i);
        printf("%s: %s\n", key, xf_model_metadata(again, key));
    }
    /* [texts] */

    /* [copy] */
    must(xf_model_copy(model, NULL, &copy, &err)); /* into the context of the model */

    const xf_model *models[] = {model, again, copy};
    must(xf_model_average(models, 3, &average, &err));
    /* [copy] */
    printf("the average: %s, languages %s\n", answer(average, "three two one"),
           xf_model_metadata(average, "languages"));

    xf_model_free(average);
    xf_model_free(copy);
    xf_model_free(again);
    xf_model_free(model);
    xf_context_free(context);
    return 0;
}
