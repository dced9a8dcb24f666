/*
 * constraint.c - an answer that must begin with given words: a callback says which tokens may follow.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "must.h"

/* [constraint] */
struct beginning {
    int32_t ids[16];
    size_t count;
};

/* Of all tokens only the given one may follow, as long as there is one; then all may. */
static int32_t hold_to(void *user, const xf_prefix *prefix, uint32_t *allowed) {
    const struct beginning *beginning = user;
    if ((size_t)prefix->length >= beginning->count) return 0;
    const int32_t id = beginning->ids[prefix->length];
    memset(allowed, 0, ((size_t)prefix->vocab_size + 31) / 32 * sizeof *allowed);
    allowed[id / 32] = 1u << id % 32;
    return 0;
}
/* [constraint] */

int main(void) {
    const char *const text = "three two one", *const words = "sechs";
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *answers = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    struct beginning start;

    must(xf_context_create(NULL, NULL, &context, &err));
    must(xf_model_load(context, "numerals.xf", &model, &err));
    must(xf_decoder_create(model, NULL, &decoder, &err));

    /* [set] */
    must(xf_tokenizer_encode(xf_model_tokenizer(model), words, strlen(words), start.ids, 16, &start.count, &err));
    params.constraint = hold_to;
    params.constraint_user = &start;
    must(xf_translate(decoder, &text, NULL, 1, &params, &answers, &err));
    must(xf_hypotheses_get(answers, 0, 0, &best, &err));
    printf("begins with '%s': %s\n", words, strncmp(best.text, words, strlen(words)) == 0 ? "yes" : "no");
    /* [set] */

    xf_hypotheses_free(answers);
    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_context_free(context);
    return 0;
}
