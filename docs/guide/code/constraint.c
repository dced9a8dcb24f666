/*
 * constraint.c - a translation that must begin with given words: a callback restricts the tokens that may follow.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include <xformer/experimental.h>

#include "must.h"

/* [constraint] */
struct beginning {
    int32_t ids[16];
    size_t count;
};

/* While a hypothesis is shorter than the beginning, allows only the next token of the beginning. */
static int32_t hold_to(void *user, const xf_constraint_step *step) {
    const struct beginning *beginning = user;
    for (size_t i = 0; i < step->count; ++i) {
        const xf_partial *partial = step->partials[i];
        if (partial->id_count >= beginning->count) continue; /* all bits remain set */
        const int32_t id = beginning->ids[partial->id_count];
        memset(partial->allowed, 0, ((size_t)step->vocab_size + 31) / 32 * sizeof *partial->allowed);
        partial->allowed[id / 32] = 1u << id % 32;
    }
    return 0;
}
/* [constraint] */

int main(void) {
    const char *const text = "three two one", *const words = "sechs";
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *hypotheses = NULL;
    xf_hypothesis best = XF_HYPOTHESIS_INIT;
    xf_constraint constraint = XF_CONSTRAINT_INIT;
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    struct beginning start;
    xf_source source = XF_SOURCE_PATH("numerals.xf");

    must(xf_context_create(NULL, NULL, &context, &err));
    must(xf_model_load(context, &source, NULL, NULL, &model, &err));
    must(xf_decoder_create(model, NULL, NULL, &decoder, &err));

    /* [set] */
    const xf_tokenizer *tokenizer = xf_tokenizer_side(xf_model_tokenizer(model), XF_SIDE_TARGET);
    must(xf_tokenizer_encode(tokenizer, words, strlen(words), start.ids, 16, &start.count, &err));
    constraint.function = hold_to;
    constraint.user = &start;
    params.constraint = &constraint;
    must(xf_translate(decoder, &text, NULL, 1, &params, NULL, &hypotheses, &err));
    must(xf_hypotheses_get(hypotheses, 0, 0, &best, &err));
    printf("begins with '%s': %s\n", words, strncmp(best.text, words, strlen(words)) == 0 ? "yes" : "no");
    /* [set] */

    xf_hypotheses_free(hypotheses);
    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_context_free(context);
    return 0;
}
