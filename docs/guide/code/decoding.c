/*
 * decoding.c - hypotheses, scores, and ids of the model that train.c saved.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <string.h>

#include "must.h"

int main(void) {
    xf_config *config = NULL;
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_decoder *decoder = NULL;
    xf_source source = XF_SOURCE_PATH("numerals.xf");
    xf_hypotheses *hypotheses = NULL, *alone = NULL, *with_prefix = NULL, *partial = NULL, *from_ids = NULL;
    xf_hypothesis h = XF_HYPOTHESIS_INIT, other = XF_HYPOTHESIS_INIT;

    must(xf_context_create(NULL, NULL, &context, &err));
    must(xf_model_load(context, &source, NULL, NULL, &model, &err));

    /* [n_best] */
    const char *const texts[] = {"three two one", "five six five", ""};
    must(xf_config_create(&config, &err));
    must(xf_config_set(config, "decode.beam", "8", &err));
    must(xf_config_set(config, "decode.n_best", "2", &err));
    must(xf_decoder_create(model, NULL, config, &decoder, &err));
    must(xf_translate(decoder, texts, NULL, 3, NULL, NULL, &hypotheses, &err));
    for (size_t i = 0; i < xf_hypotheses_sentence_count(hypotheses); ++i) {
        xf_sentence_info info = XF_SENTENCE_INFO_INIT;
        must(xf_hypotheses_get_sentence(hypotheses, i, &info, &err));
        for (size_t k = 0; k < info.hypothesis_count; ++k) {
            must(xf_hypotheses_get(hypotheses, i, k, &h, &err));
            printf("%d.%d  %.2f  '%s'%s\n", (int)i, (int)k, h.score, h.text, h.finished ? "" : " (cut off)");
        }
    }
    /* [n_best] */

    /* [params] */
    const char *const prefixes[] = {"drei", NULL, NULL};
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    xf_call call = XF_CALL_INIT;
    xf_config *options = NULL;
    must(xf_config_create(&options, &err));
    must(xf_config_set(options, "decode.max_extra_tokens", "20", &err)); /* the beam remains 8: it is not set here */
    params.config = options;
    params.prefixes = prefixes;
    call.deadline_ms = 60000;
    must(xf_translate(decoder, texts, NULL, 3, &params, &call, &with_prefix, &err));
    must(xf_hypotheses_get(with_prefix, 0, 0, &other, &err));
    printf("'%s', %s\n", other.text, other.complete ? "complete" : "ended by the deadline");
    /* [params] */

    /* [samples] */
    xf_hypotheses *samples[2] = {NULL, NULL};
    must(xf_config_set(options, "decode.beam", "1", &err));
    must(xf_config_set(options, "decode.temperature", "2", &err));
    must(xf_config_set(options, "decode.top_k", "50", &err));
    must(xf_config_set(options, "decode.n_best", "3", &err)); /* three samples */
    must(xf_config_set(options, "decode.seed", "7", &err));
    params.prefixes = NULL;
    must(xf_translate(decoder, texts, NULL, 1, &params, NULL, &samples[0], &err));
    must(xf_translate(decoder, texts, NULL, 3, &params, NULL, &samples[1], &err));
    int equal = 1;
    for (size_t k = 0; k < 3; ++k) {
        must(xf_hypotheses_get(samples[0], 0, k, &h, &err));
        must(xf_hypotheses_get(samples[1], 0, k, &other, &err));
        if (h.score != other.score || strcmp(h.text, other.text) != 0) equal = 0;
    }
    printf("samples of the second call: %s\n", equal ? "the same" : "different");
    /* [samples] */

    /* [status] */
    const char *const mixed[] = {"three two one", "\xFF is not UTF-8"};
    must(xf_translate(decoder, mixed, NULL, 2, NULL, NULL, &partial, &err));
    for (size_t i = 0; i < 2; ++i) {
        xf_sentence_info info = XF_SENTENCE_INFO_INIT;
        must(xf_hypotheses_get_sentence(partial, i, &info, &err));
        if (info.status != XF_OK) printf("text %d: %s\n", (int)i, xf_status_name(info.status));
    }
    /* [status] */

    /* [penalty] */
    must(xf_hypotheses_get(hypotheses, 0, 0, &h, &err));
    const double length = (double)h.id_count + 1; /* including the end symbol */
    const double penalty = pow((5 + length) / 6, 0.6);
    printf("score: %s\n", fabs(h.score - h.log_probability / penalty) < 1e-9 ? "log P / penalty" : "different");
    /* [penalty] */

    /* [invariance] */
    must(xf_translate(decoder, texts, NULL, 1, NULL, NULL, &alone, &err));
    must(xf_hypotheses_get(alone, 0, 0, &other, &err));
    printf("alone: %s\n",
           other.score == h.score && strcmp(other.text, h.text) == 0 ? "the same bits" : "different bits");
    /* [invariance] */

    /* [score] */
    const char *const sources[] = {"three two one", "three two one"};
    const char *const candidates[] = {"drei zwei eins", "eins zwei drei"};
    double log_p[2];
    must(xf_score_texts(decoder, sources, NULL, candidates, NULL, 2, NULL, log_p, NULL, &err));
    printf("log P of '%s' is %s\n", candidates[0], log_p[0] > log_p[1] ? "greater" : "not greater");
    printf("search and score: %s\n", fabs(log_p[0] - h.log_probability) < 1e-3 ? "agree" : "differ");
    /* [score] */

    /* [alignment] */
    const char *const text = "four one six";
    xf_hypotheses *aligned = NULL;
    xf_sentence_info info = XF_SENTENCE_INFO_INIT;
    must(xf_config_set(config, "decode.alignment", "true", &err));
    params.config = config;
    must(xf_translate(decoder, &text, NULL, 1, &params, NULL, &aligned, &err));
    must(xf_hypotheses_get_sentence(aligned, 0, &info, &err));
    must(xf_hypotheses_get(aligned, 0, 0, &other, &err));
    for (size_t i = 0; i < other.id_count; ++i) {
        const int32_t s = other.alignment[i];
        const size_t begin = i > 0 ? other.text_ends[i - 1] : 0, source_begin = s > 0 ? info.source_ends[s - 1] : 0;
        if (s < 0) continue;
        printf("'%.*s' from '%.*s'\n", (int)(other.text_ends[i] - begin), other.text + begin,
               (int)(info.source_ends[s] - source_begin), text + source_begin);
    }
    /* [alignment] */

    /* [ids] */
    int32_t ids[64];
    int64_t offsets[] = {0, 0};
    size_t count = 0;
    xf_batch batch = XF_BATCH_INIT;
    must(xf_model_encode(model, XF_SIDE_SOURCE, texts[0], strlen(texts[0]), NULL, ids, 64, &count, &err));
    offsets[1] = (int64_t)count;
    batch.sentences = 1;
    batch.src_ids = ids;
    batch.src_offsets = offsets;
    must(xf_decode(decoder, &batch, NULL, NULL, &from_ids, &err));
    must(xf_hypotheses_get(from_ids, 0, 0, &other, &err));
    printf("from ids: '%s'\n", other.text);
    /* [ids] */

    xf_hypotheses_free(from_ids);
    xf_hypotheses_free(aligned);
    xf_hypotheses_free(alone);
    xf_hypotheses_free(with_prefix);
    for (int i = 0; i < 2; ++i) xf_hypotheses_free(samples[i]);
    xf_hypotheses_free(partial);
    xf_hypotheses_free(hypotheses);
    xf_decoder_free(decoder);
    xf_model_free(model);
    xf_context_free(context);
    xf_config_free(options);
    xf_config_free(config);
    return 0;
}
