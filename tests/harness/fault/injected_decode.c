/*
 * Scenarios of fault injection: answers, scores, attention. See injected.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "injected.h"

static const char *const texts[] = {"one two three four one two three", "", "two \xFF", "four"};

static xf_status act_translate(struct bench *b, digest *d, xf_error *error) {
    OWNED(decoder) *decoder = NULL;
    OWNED(hypotheses) *answers = NULL;
    TRY(xf_decoder_create(b->model, NULL, b->config, &decoder, error));
    TRY(xf_translate(decoder, texts, NULL, 4, NULL, NULL, &answers, error));
    add_answers(d, answers);
    return XF_OK;
}

static xf_status act_align(struct bench *b, digest *d, xf_error *error) {
    OWNED(decoder) *decoder = NULL;
    OWNED(hypotheses) *answers = NULL;
    OWNED(config) *config = bench_config(b->place);
    set(config, "decode.alignment", "true");
    TRY(xf_decoder_create(b->model, NULL, config, &decoder, error));
    TRY(xf_translate(decoder, texts, NULL, 4, NULL, NULL, &answers, error));
    add_answers(d, answers);
    return XF_OK;
}

static int32_t forbid(void *user, const xf_constraint_step *step) {
    (void)user;
    for (size_t i = 0; i < step->count; ++i) {
        uint32_t *const allowed = step->partials[i]->allowed;
        for (int32_t id = 0; id < step->vocab_size; id += 3) allowed[id / 32] &= ~(1u << (id % 32));
        allowed[0] |= 1u << 1; /* the end symbol */
    }
    return 0;
}

/* With prefixes and a constraint, by a decoder that must work afterwards. */
static xf_status act_constrained(struct bench *b, digest *d, xf_error *error) {
    OWNED(hypotheses) *answers = NULL;
    static const char *const begin[] = {"eins", NULL, "zwei", NULL};
    OWNED(config) *config = NULL;
    ACCEPTED(xf_config_create(&config, err));
    set(config, "decode.beam", "5");
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    params.config = config;
    params.prefixes = begin;
    const xf_constraint constraint = {sizeof constraint, forbid, NULL};
    params.constraint = &constraint;
    TRY(xf_translate(b->decoder, texts, NULL, 4, &params, NULL, &answers, error));
    add_answers(d, answers);
    return XF_OK;
}

static xf_status decode(struct bench *b, const char *beam, digest *d, xf_error *error) {
    OWNED(decoder) *decoder = NULL;
    OWNED(hypotheses) *answers = NULL;
    OWNED(config) *config = bench_config(b->place);
    set(config, "decode.beam", beam);
    set(config, "decode.n_best", "1");
    TRY(xf_decoder_create(b->model, NULL, config, &decoder, error));
    TRY(xf_decode(decoder, &b->batch, NULL, NULL, &answers, error));
    add_answers(d, answers);
    return XF_OK;
}
static xf_status act_greedy(struct bench *b, digest *d, xf_error *error) { return decode(b, "1", d, error); }
static xf_status act_beam(struct bench *b, digest *d, xf_error *error) { return decode(b, "4", d, error); }

static xf_status act_score(struct bench *b, digest *d, xf_error *error) {
    OWNED(decoder) *decoder = NULL;
    double scores[64];
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    TRY(xf_decoder_create(b->model, NULL, b->config, &decoder, error));
    TRY(xf_score(decoder, &b->batch, NULL, scores, error));
    add_bytes(d, scores, (size_t)b->batch.sentences * sizeof *scores);
    TRY(xf_evaluate(decoder, b->batcher, NULL, &stats, error));
    add_bytes(d, &stats, sizeof stats);
    return XF_OK;
}

static xf_status act_attention(struct bench *b, digest *d, xf_error *error) {
    const int32_t ids[] = {5, 6, 1};
    const int64_t offsets[] = {0, 3};
    const xf_batch pair = {sizeof pair, 1, ids, offsets, ids, offsets, NULL, NULL, 0};
    float weights[18];
    size_t count = 0;
    TRY(xf_attention_weights(b->decoder, &pair, XF_ATTENTION_CROSS, 0, weights, 18, &count, error));
    add_bytes(d, weights, sizeof weights);
    return XF_OK;
}

const struct scenario decode_scenarios[] = {
    {.name = "translate", .everywhere = true, .act = act_translate},
    {.name = "translate_aligned", .act = act_align},
    {.name = "translate_constrained", .everywhere = true, .act = act_constrained},
    {.name = "decode_greedy", .act = act_greedy},
    {.name = "decode_beam", .everywhere = true, .act = act_beam},
    {.name = "score", .everywhere = true, .act = act_score},
    {.name = "attention_weights", .act = act_attention},
    {.name = NULL},
};
