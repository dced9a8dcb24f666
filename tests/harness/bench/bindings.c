/*
 * bindings.c - the measure of the bindings: the program that each bindings/LANGUAGE/bench.* is, in C.
 *
 *     bindings MODEL SENTENCES OUTPUT ROUNDS
 *
 * Translates the lines of SENTENCES ROUNDS times, 32 in a call, on one thread, and copies each answer out, as a binding
 * has to; prints the seconds of each round as it ends, and at last writes the translations to OUTPUT, one a line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include "../../support/api.h"
#include "common.h"

enum { kCall = 32 };

/* The lines of a file, without their ends: pointers into one block of memory. */
static char **read_lines(const char *path, size_t *count) {
    size_t size;
    char *text = read_file(path, &size);
    *count = 0;
    for (const char *c = text; *c != '\0'; ++c) *count += *c == '\n';
    char **lines = allocate(sizeof *lines * *count);
    for (size_t i = 0; i < *count; ++i) {
        lines[i] = text;
        text = strchr(text, '\n');
        *text++ = '\0';
    }
    return lines;
}

static void translate(xf_decoder *decoder, char **texts, size_t count, char **translations) {
    OWNED(hypotheses) *answers = NULL;
    CHECK(xf_translate, decoder, (const char *const *)texts, NULL, count, NULL, NULL, &answers);
    for (size_t i = 0; i < count; ++i) {
        xf_hypothesis best = XF_HYPOTHESIS_INIT;
        CHECK(xf_hypotheses_get, answers, i, 0, &best);
        free(translations[i]);
        translations[i] = memcpy(allocate(best.text_length + 1), best.text, best.text_length + 1);
    }
}

int main(int argc, char **argv) {
    if (argc != 5) die("usage: bindings MODEL SENTENCES OUTPUT ROUNDS");
    OWNED(config) *config = NULL;
    OWNED(context) *context = NULL;
    OWNED(model) *model = NULL;
    OWNED(decoder) *decoder = NULL;
    CHECK(xf_config_create, &config);
    CHECK(xf_config_set_number, config, "context.threads", 1);
    CHECK(xf_context_create, config, NULL, &context);
    CHECK(load_model, context, argv[1], &model);
    CHECK(xf_decoder_create, model, NULL, NULL, &decoder);

    size_t count;
    char **texts = read_lines(argv[2], &count);
    char **translations = allocate(sizeof *translations * count);
    for (size_t i = 0; i < count; ++i) translations[i] = NULL;
    for (int round = 0; round < atoi(argv[4]); ++round) {
        const double start = seconds();
        for (size_t at = 0; at < count; at += kCall)
            translate(decoder, texts + at, count - at < kCall ? count - at : kCall, translations + at);
        printf("%.6f\n", seconds() - start);
        fflush(stdout);
    }

    FILE *output = fopen(argv[3], "wb");
    if (output == NULL) die("cannot write %s", argv[3]);
    for (size_t i = 0; i < count; ++i) fprintf(output, "%s\n", translations[i] != NULL ? translations[i] : "");
    if (fclose(output) != 0) die("writing %s failed", argv[3]);

    for (size_t i = 0; i < count; ++i) free(translations[i]);
    free(translations);
    if (count > 0) free(texts[0]);
    free(texts);
    return 0;
}
