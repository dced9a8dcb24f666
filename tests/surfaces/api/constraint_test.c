/*
 * decode.h: constraints and attention weights: the arguments and results of a callback, and refusals.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <math.h>

struct seen {
    int calls, stop_at;
    size_t sentences[3], most; /* questions per sentence; hypotheses of one call */
    int32_t V;
};

/* The text of each sentence is the byte tokens of 'a', as many as its number and one more. */
static int32_t only_a(void *user, const xf_constraint_step *step) {
    struct seen *const seen = user;
    const int32_t a = 2 + 'a', V = step->vocab_size;
    assert_true(step->struct_size >= sizeof *step && step->count >= 1);
    assert_int_equal(V, seen->V);
    if (step->count > seen->most) seen->most = step->count;
    for (size_t k = 0; k < step->count; ++k) {
        const xf_partial *const partial = step->partials[k];
        assert_true(partial->struct_size >= sizeof *partial && partial->remaining >= 1);
        assert_true(partial->sentence < 3);
        ++seen->sentences[partial->sentence];
        for (size_t i = 0; i < partial->id_count; ++i) assert_int_equal(partial->ids[i], a);
        for (int32_t word = 0; word < (V + 31) / 32; ++word) {
            assert_int_equal(partial->allowed[word], UINT32_MAX);
            partial->allowed[word] = 0;
        }
        const int32_t next = partial->id_count <= partial->sentence ? a : TOKEN_END;
        partial->allowed[next / 32] |= (uint32_t)1 << next % 32;
    }
    return ++seen->calls == seen->stop_at ? 17 : 0;
}

TEST(constraint) {
    xf_hypotheses *found = NULL;
    struct seen seen = {0, 0, {0, 0, 0}, 0, vocab_size_of(world.tokenizer)};
    MAKE(decoder, decoder, xf_decoder_create(world.model, NULL, world.config, &decoder, err));
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    const xf_constraint constraint = {sizeof constraint, only_a, &seen};
    params.constraint = &constraint;
    const char *texts[] = {"one two", "", "three"};
    ACCEPTED(xf_translate(decoder, texts, NULL, 3, &params, NULL, &found, err));
    static const char *const expected[] = {"a", "", "aaa"};
    for (size_t s = 0; s < 3; ++s) {
        const xf_hypothesis h = get_hypothesis(found, s, 0);
        assert_int_equal(h.finished, 1);
        assert_string_equal(h.text, expected[s]);
        assert_true(isfinite(h.score));
    }
    assert_true(seen.sentences[0] == 2 && seen.sentences[1] == 0 && seen.sentences[2] == 4);
    /* One call per step: both sentences live for two steps, the longer one for two more. */
    assert_int_equal(seen.calls, 4);
    assert_int_equal(seen.most, 2);
    xf_hypotheses_free(found);

    /* Its score is the model's: that of the same target, forced. */
    ACCEPTED(xf_decode(decoder, &two_pairs, &params, NULL, &found, err));
    const xf_hypothesis h = get_hypothesis(found, 0, 0);
    const int32_t forced[] = {2 + 'a', TOKEN_END};
    const int64_t forced_offsets[] = {0, 2};
    xf_batch pair = two_pairs;
    pair.sentences = 1;
    pair.tgt_ids = forced;
    pair.tgt_offsets = forced_offsets;
    double log_probability = 0;
    ACCEPTED(xf_score(decoder, &pair, NULL, &log_probability, err));
    assert_true(fabs(log_probability - h.log_probability) < 1e-4);
    xf_hypotheses_free(found);

    /* It ends its call only; the decoder remains usable. */
    found = SENTINEL;
    seen.calls = 0;
    seen.stop_at = 3;
    xf_error why;
    assert_int_equal(xf_decode(decoder, &two_pairs, &params, NULL, &found, &why), XF_ERROR_CALLBACK);
    assert_ptr_equal(found, SENTINEL);
    assert_non_null(strstr(why.message, "17"));
    assert_non_null(strstr(why.message, "expected 0"));
    assert_int_equal(seen.calls, 3);
    seen.stop_at = 0;
    ACCEPTED(xf_decode(decoder, &two_pairs, &params, NULL, &found, err));
    xf_hypotheses_free(found);
    seen.calls = 0;
    ACCEPTED(xf_decode(decoder, &two_pairs, NULL, NULL, &found, err));
    assert_int_equal(seen.calls, 0);
    xf_hypotheses_free(found);
}

TEST(refused) {
    xf_hypotheses *found = SENTINEL;
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    const xf_constraint none = XF_CONSTRAINT_INIT; /* no function */
    params.constraint = &none;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, found, xf_decode(world.decoder, &two_pairs, &params, NULL, &found, err));
}

/* A cancel from within. */
struct canceller {
    int calls;
    int32_t flag; /* set instead of a cancelled context if by_flag is not 0 */
    int by_flag;
};

static int32_t cancel_at_the_third(void *user, const xf_constraint_step *step) {
    (void)step;
    struct canceller *const canceller = user;
    if (++canceller->calls == 3) {
        if (canceller->by_flag)
            *(volatile int32_t *)&canceller->flag = 1;
        else
            xf_context_cancel(world.context);
    }
    return 0;
}

TEST(cancel) {
    OWNED_HYPOTHESES *found = SENTINEL;
    xf_error why;
    MAKE(decoder, decoder, xf_decoder_create(world.model, NULL, world.config, &decoder, err));
    for (int by_flag = 0; by_flag < 2; ++by_flag) {
        struct canceller canceller = {0, 0, by_flag};
        const xf_constraint constraint = {sizeof constraint, cancel_at_the_third, &canceller};
        const xf_call call = {sizeof call, &canceller.flag, 0, NULL, NULL};
        xf_decode_params params = XF_DECODE_PARAMS_INIT;
        params.constraint = &constraint;
        assert_int_equal(xf_decode(decoder, &two_pairs, &params, &call, &found, &why), XF_ERROR_CANCELLED);
        assert_true(found == SENTINEL && canceller.calls == 3);
    }
    ACCEPTED(xf_decode(decoder, &two_pairs, NULL, NULL, &found, err));
    xf_batch pair = two_pairs;
    pair.sentences = 1;
    float weights[64] = {99};
    size_t count = 77;
    xf_context_cancel(world.context); /* nothing runs */
    ACCEPTED(xf_attention_weights(decoder, &pair, XF_ATTENTION_ENCODER, 0, weights, 64, &count, err));
}

TEST(attention) {
    /* Source of 3 tokens, target of 4, 2 heads. */
    const int32_t target[] = {9, 8, 7, 1};
    const int64_t target_offsets[] = {0, 4};
    const int64_t queries[] = {0, 3, 4, 4}, keys[] = {0, 3, 4, 3};
    xf_batch pair = two_pairs;
    pair.sentences = 1;
    pair.tgt_ids = target;
    pair.tgt_offsets = target_offsets;
    int64_t heads = 0, encoder = 0, decoder = 0;
    const xf_config *config = xf_model_config(world.model);
    ACCEPTED(get_integer(config, "model.heads", &heads, err));
    ACCEPTED(get_integer(config, "model.encoder_layers", &encoder, err));
    ACCEPTED(get_integer(config, "model.decoder_layers", &decoder, err));
    float weights[256];
    size_t count = 77;
    for (int32_t kind = XF_ATTENTION_ENCODER; kind <= XF_ATTENTION_CROSS; ++kind) {
        const int64_t layers = kind == XF_ATTENTION_ENCODER ? encoder : decoder;
        const size_t expected = (size_t)(heads * queries[kind] * keys[kind]);
        for (int32_t layer = 0; layer < layers; ++layer) {
            memset(weights, 0x5A, sizeof weights);
            ACCEPTED(xf_attention_weights(world.decoder, &pair, kind, layer, weights, 256, &count, err));
            assert_int_equal(count, expected);
            for (int64_t row = 0; row < heads * queries[kind]; ++row) {
                double sum = 0;
                for (int64_t k = 0; k < keys[kind]; ++k) {
                    const float weight = weights[row * keys[kind] + k];
                    assert_true(weight >= 0 && weight <= 1);
                    if (kind == XF_ATTENTION_DECODER && k > row % queries[kind]) assert_true(weight == 0);
                    sum += weight;
                }
                assert_true(fabs(sum - 1) < 1e-6);
            }
        }
        const int32_t wrong_layers[] = {-1, (int32_t)layers, INT32_MIN, INT32_MAX};
        for (int i = 0; i < 4; ++i)
            REFUSED(XF_ERROR_OUT_OF_RANGE, weights,
                    xf_attention_weights(world.decoder, &pair, kind, wrong_layers[i], weights, 256, &count, err));
        count = 0;
        assert_int_equal(xf_attention_weights(world.decoder, &pair, kind, 0, NULL, 0, &count, NULL),
                         XF_ERROR_BUFFER_TOO_SMALL);
        assert_int_equal(count, expected);
        REFUSED(XF_ERROR_BUFFER_TOO_SMALL, weights,
                xf_attention_weights(world.decoder, &pair, kind, 0, weights, expected - 1, &count, err));
    }
    REFUSED(XF_ERROR_OUT_OF_RANGE, count, xf_attention_weights(world.decoder, &pair, 4, 0, weights, 256, &count, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, count, xf_attention_weights(world.decoder, &pair, 0, 0, weights, 256, &count, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, count,
            xf_attention_weights(world.decoder, &two_pairs, 1, 0, weights, 256, &count, err));
    xf_batch none = XF_BATCH_INIT;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, count,
            xf_attention_weights(world.decoder, &none, 1, 0, weights, 256, &count, err));
    pair.tgt_ids = NULL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, count,
            xf_attention_weights(world.decoder, &pair, XF_ATTENTION_CROSS, 0, weights, 256, &count, err));
}

int main(void) { return RUN_TESTS(world_open, world_close); }
