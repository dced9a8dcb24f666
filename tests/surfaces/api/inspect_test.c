/*
 * xf_model_inspect: what a file holds, and that its estimates are what such work takes: not less, and at most half as
 * much again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

enum { VOCABULARY = 2000, LENGTH = 32, SENTENCES = 8, BATCH_TOKENS = 1024 };

static xf_config *medium_config(void) {
    xf_config *c = NULL;
    ACCEPTED(xf_config_create(&c, err));
    set_all(c,
            "context.device=cpu context.threads=2 model.vocab_size=2000 model.d_model=128 model.d_ff=512 "
            "model.encoder_layers=3 model.decoder_layers=3 data.max_tokens=32 data.batch_tokens=1024 "
            "decode.batch_sentences=8 decode.max_extra_tokens=0");
    return c;
}

static xf_model_summary inspect(xf_context *context, const xf_config *config, const char *path) {
    const xf_source source = source_path(path);
    xf_model_summary summary = XF_MODEL_SUMMARY_INIT;
    ACCEPTED(xf_model_inspect(context, &source, config, &summary, err));
    return summary;
}

TEST(refusals) {
    const char *path = scratch_path("inspected"), *checkpoint = scratch_path("inspected checkpoint");
    ACCEPTED(save_model(world.model, NULL, path, err));
    xf_source source = XF_SOURCE_INIT;
    PAINTED(xf_model_summary, summary);
    REFUSED(XF_ERROR_INVALID_ARGUMENT, summary, xf_model_inspect(world.context, &source, NULL, &summary, err));
    source = source_path(path);
    source.path = "/nowhere/at/all";
    REFUSED(XF_ERROR_NOT_FOUND, summary, xf_model_inspect(world.context, &source, NULL, &summary, err));
    source = source_memory("not a model", 11);
    REFUSED(XF_ERROR_CORRUPT, summary, xf_model_inspect(world.context, &source, NULL, &summary, err));

    size_t count = 0, size = 0;
    free(all_params(world.model, &count));
    free(file_bytes(path, &size));
    summary = inspect(world.context, NULL, path);
    assert_int_equal(summary.parameters, count);
    assert_int_equal(summary.file_bytes, size);
    assert_int_equal(summary.vocab_size, vocab_size_of(world.tokenizer));
    assert_int_equal(summary.has_tokenizer, 1);
    assert_int_equal(summary.step, -1);
    assert_int_equal(summary.weights, XF_TYPE_FP32);

    OWNED_CONFIG *c = config_with("cpu:ref", "model.weights=bf16");
    ACCEPTED(save_model(world.model, c, path, err));
    assert_int_equal(inspect(world.context, NULL, path).weights, XF_TYPE_BF16);
    ACCEPTED(save_trainer(world.trainer, NULL, checkpoint, err));
    assert_int_equal(inspect(world.context, NULL, checkpoint).step, xf_trainer_step_count(world.trainer));
}

/* The peak of a context that loads the file and then decodes or trains. */
static int64_t peak_of(const xf_config *config, const char *path, int train, xf_model_summary *summary) {
    static int32_t ids[BATCH_TOKENS];
    static int64_t offsets[BATCH_TOKENS / LENGTH + 1];
    const int sentences = train ? BATCH_TOKENS / LENGTH : SENTENCES;
    for (int b = 0; b <= sentences; ++b) offsets[b] = b * LENGTH;
    for (int i = 0; i < sentences * LENGTH; ++i)
        ids[i] = i % LENGTH == LENGTH - 1 ? TOKEN_END : 2 + i * 7919 % (VOCABULARY - 2);
    xf_batch batch = XF_BATCH_INIT;
    batch.sentences = sentences;
    batch.src_ids = ids;
    batch.src_offsets = offsets;
    MAKE(context, context, xf_context_create(config, NULL, &context, err));
    *summary = inspect(context, config, path);
    MAKE(model, model, load_model(context, path, &model, err));
    if (train) {
        batch.tgt_ids = ids;
        batch.tgt_offsets = offsets;
        MAKE(trainer, trainer, xf_trainer_create(model, config, &trainer, err));
        ACCEPTED(xf_train_step(trainer, &batch, 1, NULL, NULL, err));
    } else {
        MAKE(decoder, decoder, xf_decoder_create(model, NULL, config, &decoder, err));
        MAKE(hypotheses, found, xf_decode(decoder, &batch, NULL, NULL, &found, err));
    }
    const xf_memory_stats stats = get_memory(context);
    return stats.peak;
}

TEST(estimates) {
    const char *path = scratch_path("medium");
    OWNED_CONFIG *c = medium_config();
    xf_context *context = NULL;
    ACCEPTED(xf_context_create(c, NULL, &context, err));
    MAKE(model, model, xf_model_create(context, NULL, c, &model, err));
    ACCEPTED(save_model(model, NULL, path, err));
    xf_context_free(context);
    /* Scratch memory depends on the number of workers, the precision, and the instruction set. */
    static const struct {
        const char *threads, *precision, *isa;
    } kinds[] = {{"2", "fp32", "auto"},  {"64", "fp32", "auto"}, {"2", "bf16", "auto"},
                 {"64", "bf16", "auto"}, {"2", "fp32", "avx2"},  {"2", "bf16", "avx2"}};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; ++kind) {
        if (XF_TEST_SANITIZED && kind != 1) continue; /* the figures are the same; many threads take most memory */
        set(c, "context.threads", kinds[kind].threads);
        set(c, "context.precision", kinds[kind].precision);
        set(c, "context.isa", kinds[kind].isa);
        xf_error refusal = {0};
        const int status = xf_context_create(c, NULL, &context, &refusal);
        if (status == XF_ERROR_UNSUPPORTED) continue; /* plain loops have no bf16, other CPUs no AVX2 */
        assert_int_equal(status, XF_OK);
        xf_context_free(context);
        for (int train = 0; train < 2; ++train) {
            xf_model_summary summary;
            const int64_t peak = peak_of(c, path, train, &summary);
            const int64_t told = train ? summary.train_bytes : summary.decode_bytes;
            assert_true(told >= peak);
            assert_true(told <= peak + peak / 2);
        }
    }
}

int main(void) { return RUN_TESTS(world_open, world_close); }
