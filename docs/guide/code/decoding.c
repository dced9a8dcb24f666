/*
 * decoding.c - answers, scores and ids of the model that train.c made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <string.h>

#include "must.h"

/* [ids] */
/* The ids of a text with the end symbol behind them; room for capacity ids. */
static int32_t encode(const xf_model *model, const char *text, int32_t *ids, size_t capacity) {
    size_t count;
    must(xf_tokenizer_encode(xf_model_tokenizer(model), text, strlen(text), ids, capacity - 1, &count, &err));
    ids[count] = XF_TOKEN_END;
    return (int32_t)count + 1;
}
/* [ids] */

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_decoder *decoder = NULL;
    xf_hypotheses *answers = NULL, *alone = NULL, *begun = NULL, *partly = NULL;
    xf_hypothesis h = XF_HYPOTHESIS_INIT, other = XF_HYPOTHESIS_INIT;

    must(xf_context_create(NULL, NULL, &context, &err));
    must(xf_model_load(context, "numerals.xf", &model, &err));

    /* [n_best] */
    const char *const texts[] = {"three two one", "five six five", ""};
    must(xf_config_create(&config, &err));
    must(xf_config_set(config, "decode.beam", "8", &err));
    must(xf_config_set(config, "decode.n_best", "2", &err));
    must(xf_decoder_create(model, config, &decoder, &err));
    must(xf_translate(decoder, texts, NULL, 3, NULL, &answers, &err));
    for (size_t i = 0; i < xf_hypotheses_sentence_count(answers); ++i) {
        for (size_t rank = 0; rank < xf_hypotheses_answer_count(answers, i); ++rank) {
            must(xf_hypotheses_get(answers, i, rank, &h, &err));
            printf("%d.%d  %.2f  '%s'%s\n", (int)i, (int)rank, h.score, h.text, h.finished ? "" : " (cut off)");
        }
    }
    /* [n_best] */

    /* [params] */
    const char *const prefixes[] = {"drei", NULL, NULL};
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    xf_config *call = NULL;
    must(xf_config_create(&call, &err));
    must(xf_config_set(call, "decode.deadline_ms", "60000", &err)); /* the beam stays 8: it isn't set here */
    params.config = call;
    params.prefixes = prefixes;
    must(xf_translate(decoder, texts, NULL, 3, &params, &begun, &err));
    must(xf_hypotheses_get(begun, 0, 0, &other, &err));
    printf("'%s', %s\n", other.text, other.complete ? "in time" : "cut short");
    /* [params] */

    /* [status] */
    const char *const mixed[] = {"three two one", "\xFF is no UTF-8"};
    must(xf_translate(decoder, mixed, NULL, 2, NULL, &partly, &err));
    for (size_t i = 0; i < 2; ++i)
        if (xf_hypotheses_status(partly, i, &err) != XF_OK) printf("text %d: %s\n", (int)i, xf_status_name(err.status));
    /* [status] */

    /* [penalty] */
    must(xf_hypotheses_get(answers, 0, 0, &h, &err));
    const double length = (double)h.length + 1; /* the end symbol counts */
    const double penalty = pow((5 + length) / 6, 0.6);
    printf("score: %s\n", fabs(h.score - h.log_probability / penalty) < 1e-9 ? "log P / penalty" : "something else");
    /* [penalty] */

    /* [invariance] */
    must(xf_translate(decoder, texts, NULL, 1, NULL, &alone, &err));
    must(xf_hypotheses_get(alone, 0, 0, &other, &err));
    printf("alone: %s\n", other.score == h.score && strcmp(other.text, h.text) == 0 ? "the same bits" : "other bits");
    /* [invariance] */

    /* [score] */
    const char *const candidates[] = {"drei zwei eins", "eins zwei drei"};
    int32_t src[64], tgt[64], src_offsets[3] = {0}, tgt_offsets[3] = {0};
    xf_batch batch = XF_BATCH_INIT;
    double log_p[2];
    for (int i = 0; i < 2; ++i) {
        const int32_t s = src_offsets[i], t = tgt_offsets[i];
        src_offsets[i + 1] = s + encode(model, "three two one", src + s, 64 - (size_t)s);
        tgt_offsets[i + 1] = t + encode(model, candidates[i], tgt + t, 64 - (size_t)t);
    }
    batch.sentences = 2;
    batch.src_ids = src;
    batch.src_offsets = src_offsets;
    batch.tgt_ids = tgt;
    batch.tgt_offsets = tgt_offsets;
    must(xf_score(decoder, &batch, log_p, &err));
    printf("log P of '%s' is %s\n", candidates[0], log_p[0] > log_p[1] ? "greater" : "not greater");
    printf("search and score: %s\n", fabs(log_p[0] - h.log_probability) < 1e-3 ? "agree" : "differ");
    /* [score] */

    xf_hypotheses_free(alone);
    xf_hypotheses_free(begun);
    xf_hypotheses_free(partly);
    xf_hypotheses_free(answers);
    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(call);
    xf_config_free(config);
    return 0;
}
