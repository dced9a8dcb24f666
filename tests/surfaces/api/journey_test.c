/*
 * A small whole journey on every CPU backend: text to tokenizer to model to training to file to translation to BLEU,
 * and freeing in every order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

static xf_model *trained(xf_context *context, const char *device, xf_corpus *corpus, xf_trainer **trainer, int steps) {
    OWNED_CONFIG *config = small_config(device);
    xf_model *model = NULL;
    MAKE(tokenizer, tokenizer, xf_tokenizer_train(context, corpus, config, NULL, &tokenizer, err));
    MAKE(batcher, batcher, xf_batcher_create(corpus, tokenizer, config, NULL, &batcher, err));
    ACCEPTED(xf_model_create(context, tokenizer, config, &model, err));
    ACCEPTED(xf_trainer_create(model, config, trainer, err));
    double first = 0, last = 0;
    for (int i = 0; i < steps; ++i) {
        const xf_batch batch = next_batch(batcher);
        xf_step_stats stats = {.struct_size = sizeof stats};
        ACCEPTED(xf_train_step(*trainer, &batch, 1, NULL, &stats, err));
        assert_int_equal(stats.step, i + 1);
        assert_true(stats.loss > 0 && stats.gradient_norm > 0);
        if (i == 0) first = stats.nll;
        last = stats.nll;
    }
    assert_true(last < 0.3 * first);
    return model;
}

static void journey(const char *device) {
    xf_context *context = context_on(device);
    xf_corpus *corpus = small_corpus(context);
    xf_trainer *trainer = NULL, *resumed = NULL;
    xf_model *model = trained(context, device, corpus, &trainer, 150), *loaded = NULL;
    const char *saved = scratch_path("journey.model"), *again = scratch_path("again.model");
    const char *checkpoint = scratch_path("journey.ckpt"), *checkpoint_again = scratch_path("again.ckpt");
    ACCEPTED(save_model(model, NULL, saved, err));
    ACCEPTED(load_model(context, saved, &loaded, err));
    ACCEPTED(save_model(loaded, NULL, again, err));
    assert_same_files(saved, again);
    ACCEPTED(save_trainer(trainer, NULL, checkpoint, err));
    ACCEPTED(resume_trainer(context, checkpoint, NULL, &resumed, err));
    ACCEPTED(save_trainer(resumed, NULL, checkpoint_again, err));
    assert_same_files(checkpoint, checkpoint_again);

    /* Both models give the same answers; the answers have a BLEU. */
    enum { N = 12 };
    xf_decoder *decoders[2] = {NULL, NULL};
    xf_hypotheses *answers[2] = {NULL, NULL};
    const char *texts[N], *references[N], *found[2][N];
    size_t source_lengths[N];
    char copies[N][64];
    OWNED_CONFIG *config = small_config(device);
    for (int i = 0; i < N; ++i) {
        size_t length = 0;
        ACCEPTED(xf_corpus_get_pair(corpus, i, &texts[i], &source_lengths[i], &references[i], &length, err));
        snprintf(copies[i], sizeof copies[i], "%.*s", (int)length, references[i]);
        references[i] = copies[i];
    }
    for (int m = 0; m < 2; ++m) {
        ACCEPTED(xf_decoder_create(m == 0 ? model : loaded, NULL, config, &decoders[m], err));
        ACCEPTED(xf_translate(decoders[m], texts, source_lengths, N, NULL, NULL, &answers[m], err));
        for (size_t i = 0; i < N; ++i) {
            const xf_hypothesis h = get_hypothesis(answers[m], i, 0);
            found[m][i] = h.text;
            assert_string_equal(found[0][i], h.text);
        }
    }
    xf_bleu_score bleu = {.struct_size = sizeof bleu};
    double chrf = 0;
    ACCEPTED(xf_bleu(found[0], NULL, references, NULL, N, XF_BLEU_13A, &bleu, err));
    ACCEPTED(chrf_of(found[0], references, N, &chrf, err));
    if (!(bleu.score > 30 && bleu.score <= 100.01 && chrf > 30 && chrf <= 100.01))
        fail_msg("%s: after 150 steps on 12 pairs BLEU is %g and chrF %g", device, bleu.score, chrf);

    /* The sum of the scores is what evaluate makes of the same pairs. */
    xf_batcher *batcher = NULL;
    set(config, "data.batch_tokens", "4096");
    ACCEPTED(xf_batcher_create(corpus, xf_model_tokenizer(model), config, NULL, &batcher, err));
    const xf_batch all = next_batch(batcher);
    assert_int_equal(all.sentences, N);
    double scores[N], sum = 0;
    xf_eval_stats stats = {.struct_size = sizeof stats};
    ACCEPTED(xf_score(decoders[0], &all, NULL, scores, err));
    ACCEPTED(xf_evaluate(decoders[0], batcher, NULL, &stats, err));
    for (int i = 0; i < N; ++i) sum -= scores[i];
    assert_true(sum / (double)stats.tgt_tokens - stats.nll < 1e-9 && stats.nll - sum / (double)stats.tgt_tokens < 1e-9);

    /* The context first, then what was made from it, parents before children. */
    xf_context_free(context);
    xf_corpus_free(corpus);
    xf_model_free(model);
    xf_model_free(loaded);
    const xf_batch batch = next_batch(batcher);
    ACCEPTED(xf_train_step(trainer, &batch, 1, NULL, NULL, err));
    MAKE(hypotheses, late, xf_translate(decoders[1], texts, source_lengths, 0, NULL, NULL, &late, err));
    xf_decoder_free(decoders[0]);
    xf_decoder_free(decoders[1]);
    xf_trainer_free(trainer);
    xf_trainer_free(resumed);
    xf_batcher_free(batcher);
    const xf_hypothesis h = get_hypothesis(answers[0], 0, 0); /* outlives its decoder and its model */
    assert_string_equal(h.text, found[1][0]);
    for (int m = 0; m < 2; ++m) xf_hypotheses_free(answers[m]);
}

TEST(journey) { ON_EACH_DEVICE(d) journey(cpu_devices[d]); }

/* A trainer, its model and a decoder of it, freed in each of the 24 orders with their context. */
TEST(orders) {
    for (int order = 0; order < 24; ++order) {
        xf_context *context = context_on("cpu:ref");
        OWNED_CONFIG *config = config_with("cpu:ref", "model.vocab_size=8");
        xf_model *model = NULL;
        xf_trainer *trainer = NULL;
        xf_decoder *decoder = NULL;
        ACCEPTED(xf_model_create(context, NULL, config, &model, err));
        ACCEPTED(xf_trainer_create(model, config, &trainer, err));
        ACCEPTED(xf_decoder_create(xf_trainer_model(trainer), NULL, config, &decoder, err));
        int left[4] = {0, 1, 2, 3}, rest = order;
        for (int n = 4; n > 0; --n) {
            const int at = rest % n;
            rest /= n;
            if (left[at] == 0) xf_context_free(context);
            if (left[at] == 1) xf_model_free(model);
            if (left[at] == 2) xf_trainer_free(trainer);
            if (left[at] == 3) xf_decoder_free(decoder);
            left[at] = left[n - 1];
        }
    }
}

int main(void) { return RUN_TESTS(NULL, NULL); }
