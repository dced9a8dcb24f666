/*
 * measure.c - loss, perplexity, BLEU and chrF on held-out pairs; see measure.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "measure.h"

#include <stdio.h>
#include <string.h>

#include "signals.h"

xf_batcher *open_plain_batcher(const xf_corpus *corpus, const xf_tokenizer *tokenizer, const xf_config *config) {
    xf_batcher *batcher = NULL;
    xf_config *plain = NULL;
    xf_error err;
    xf_status status = xf_config_copy(config, &plain, &err);
    if (status == XF_OK) status = xf_config_set_number(plain, "data.shuffle", 0, &err);
    if (status == XF_OK) status = xf_config_set_number(plain, "data.sampling", 0, &err);
    if (status == XF_OK) status = xf_config_set_number(plain, "data.augment", 0, &err);
    if (status == XF_OK) status = xf_config_set(plain, "data.mix", "", &err);
    if (status == XF_OK) status = xf_batcher_create(corpus, tokenizer, plain, &until_interrupted, &batcher, &err);
    if (status != XF_OK) fail(&err);
    xf_config_free(plain);
    return batcher;
}

static void keep_best(void *user, size_t index, const xf_hypotheses *found, const xf_error *err) {
    struct translations *out = user;
    xf_hypothesis best = {.struct_size = sizeof best};
    if (found == NULL || xf_hypotheses_get(found, index, 0, &best, NULL) != XF_OK) {
        if (err != NULL) complain("pair %zu: %s", index + 1, err->message);
        out->refused++;
        sentences_add(&out->texts, "", 0);
        return;
    }
    out->tokens += (int64_t)best.id_count;
    out->cut += best.finished ? 0 : 1;
    sentences_add(&out->texts, best.text, best.text_length);
}

bool read_bleu(const char *name, int32_t *tokenize) {
    const bool paper = strcmp(name, "paper") == 0;
    *tokenize = paper ? XF_BLEU_SPLIT_HYPHENS : XF_BLEU_13A;
    if (paper || strcmp(name, "13a") == 0) return true;
    complain("--bleu is '%s', expected 13a or paper", name);
    return false;
}

void print_bleu_hint(const xf_bleu_score *score) {
    if (score->score > 0 || score->precisions[0] == 0) return;
    printf(
        "%-12s BLEU is 0 because no translation has 4 words in a row in common with its reference;\n"
        "%-12s for texts of a few words, use chrF2 (translate evaluate)\n",
        "", "");
}

xf_status translate_best(xf_decoder *decoder, const struct sentences *sources, struct translations *out,
                         xf_error *err) {
    return translate_each(decoder, sources, NULL, keep_best, out, err);
}

xf_status measure_bleu(xf_decoder *decoder, const struct sentences *sources, const struct sentences *references,
                       int32_t tokenize, struct translations *out, xf_bleu_score *score, double *chrf, xf_error *err) {
    xf_status status = translate_best(decoder, sources, out, err);
    const char *const *hypotheses = (const char *const *)out->texts.texts;
    const char *const *wanted = (const char *const *)references->texts;
    if (status == XF_OK && score != NULL) {
        *score = (xf_bleu_score){.struct_size = sizeof *score};
        status = xf_bleu(hypotheses, NULL, wanted, NULL, sources->count, tokenize, score, err);
    }
    if (status == XF_OK && chrf != NULL) {
        xf_chrf_score found = XF_CHRF_SCORE_INIT;
        status = xf_chrf(hypotheses, NULL, wanted, NULL, sources->count, &found, err);
        *chrf = found.score;
    }
    return status;
}
