/*
 * models.c - inspects a model file, loads it from a descriptor, saves it to memory and loads it from there, stores
 * metadata, and copies and averages models.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200112L
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
    xf_context *context = NULL;
    xf_model *model = NULL, *again = NULL, *copy = NULL, *average = NULL;
    must(xf_context_create(NULL, NULL, &context, &err));

    /* [inspect] */
    static const char *const types[] = {"", "fp32", "fp16", "bf16", "int8"}; /* by XF_TYPE_... */
    xf_source source = XF_SOURCE_PATH("numerals.xf");
    xf_model_summary summary = XF_MODEL_SUMMARY_INIT;
    must(xf_model_inspect(context, &source, NULL, &summary, &err));
    printf("vocabulary %d, %s, %s\n", (int)summary.vocab_size, types[summary.weights],
           summary.has_tokenizer ? "with a tokenizer" : "without a tokenizer");
    if (summary.decode_bytes > 1000000000) printf("too large for this machine\n");
    /* [inspect] */

    /* [descriptor] */
    source = (xf_source)XF_SOURCE_INIT;
    source.kind = XF_IO_DESCRIPTOR;
    source.fd = open("numerals.xf", O_RDONLY);
    if (source.fd < 0) return EXIT_FAILURE;
    must(xf_model_load(context, &source, NULL, NULL, &model, &err));
    close(source.fd); /* no longer needed */
    /* [descriptor] */
    printf("from a descriptor: %s\n", translate(model, "three two one"));

    /* [metadata] */
    must(xf_model_set_metadata(model, "languages", "en de", &err));
    must(xf_model_set_metadata(model, "license", "CC0", &err));
    /* [metadata] */

    /* [memory] */
    uint64_t size = 0;
    xf_sink sink = XF_SINK_INIT;
    sink.kind = XF_IO_MEMORY;
    sink.size = &size;
    xf_model_save(model, NULL, NULL, &sink, NULL); /* XF_ERROR_BUFFER_TOO_SMALL: only sets size */
    void *bytes = malloc((size_t)size);
    if (bytes == NULL) return EXIT_FAILURE;
    sink.data = bytes;
    sink.capacity = size;
    must(xf_model_save(model, NULL, NULL, &sink, &err));

    source = (xf_source)XF_SOURCE_INIT;
    source.kind = XF_IO_MEMORY;
    source.data = bytes;
    source.size = size;
    must(xf_model_load(context, &source, NULL, NULL, &again, &err));
    free(bytes); /* no longer needed */
    /* [memory] */
    printf("from memory: %s\n", translate(again, "three two one"));

    /* [keys] */
    char key[257], value[100];
    size_t length;
    for (size_t i = 0; must(xf_model_get_metadata_key(again, i, key, sizeof key, &length, &err)) != XF_DONE; ++i) {
        must(xf_model_get_metadata(again, key, value, sizeof value, &length, &err));
        printf("%s: %s\n", key, value);
    }
    /* [keys] */

    /* [copy] */
    must(xf_model_copy(model, NULL, NULL, NULL, &copy, &err)); /* to the context of the model */
    /* [copy] */
    printf("from a copy: %s\n", translate(copy, "three two one"));

    /* [average] */
    const xf_source sources[] = {XF_SOURCE_PATH("numerals.xf"), XF_SOURCE_PATH("numerals.xf")};
    must(xf_model_average(context, sources, 2, NULL, &average, &err));
    /* [average] */
    printf("from the average: %s\n", translate(average, "three two one"));

    xf_model_free(average);
    xf_model_free(copy);
    xf_model_free(again);
    xf_model_free(model);
    xf_context_free(context);
    return 0;
}
