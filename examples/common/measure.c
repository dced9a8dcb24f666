/*
 * measure.c - loss, perplexity, BLEU and chrF on held-out pairs; see measure.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "measure.h"

#include <stdio.h>
#include <string.h>

xf_batcher *open_plain_batcher(const xf_corpus *corpus, const xf_tokenizer *tokenizer, const xf_config *config) {
    xf_batcher *batcher = NULL;
    xf_config *plain = NULL;
    xf_error err;
    enum xf_status status = xf_config_copy(config, &plain, &err);
    if (status == XF_OK) status = xf_config_set_i64(plain, "data.shuffle", 0, &err);
    if (status == XF_OK) status = xf_config_set_f64(plain, "data.bpe_dropout", 0, &err);
    if (status == XF_OK) status = xf_config_set_f64(plain, "data.unigram_alpha", 0, &err);
    if (status == XF_OK) status = xf_batcher_create(corpus, tokenizer, plain, &batcher, &err);
    if (status != XF_OK) fail(&err);
    xf_config_free(plain);
    return batcher;
}

enum xf_status share_languages(xf_config *config, const char *from, const char *to, xf_error *err) {
    static const char *const sides[] = {"source_language", "target_language"};
    enum xf_status status = XF_OK;
    for (size_t i = 0; i < 2 && status == XF_OK; ++i) {
        char key[64], other[64];
        const char *value = "", *own = "";
        snprintf(key, sizeof key, "%s%s", from, sides[i]);
        snprintf(other, sizeof other, "%s%s", to, sides[i]);
        status = xf_config_get(config, key, &value, err);
        if (status == XF_OK) status = xf_config_get(config, other, &own, err);
        if (status == XF_OK && own[0] == 0) status = xf_config_set(config, other, value, err);
    }
    return status;
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
    out->tokens += best.length;
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

enum xf_status measure_bleu(xf_decoder *decoder, const struct sentences *sources, const struct sentences *references,
                            int32_t tokenize, struct translations *out, xf_bleu_score *score, double *chrf,
                            xf_error *err) {
    enum xf_status status = translate_each(decoder, sources, keep_best, out, err);
    const char *const *hypotheses = (const char *const *)out->texts.texts;
    const char *const *wanted = (const char *const *)references->texts;
    if (status == XF_OK && score != NULL) {
        *score = (xf_bleu_score){.struct_size = sizeof *score};
        status = xf_bleu(hypotheses, wanted, sources->count, tokenize, score, err);
    }
    if (status == XF_OK && chrf != NULL) status = xf_chrf(hypotheses, wanted, sources->count, chrf, err);
    return status;
}
