/*
 * See storm.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "storm.h"

#include "../../support/world.h"

enum { SENTENCES = 4, LENGTH = 6 };

long amount(int argc, char **argv, long few) {
    if (argc > 1) return atol(argv[1]);
    return XF_TEST_SANITIZED ? few / 10 : few;
}

double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

uint32_t chance(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

xf_config *small_config(const char *device, const char *threads) {
    xf_error err;
    xf_config *config = NULL;
    MUST(make_config(device, &config, &err));
    MUST(xf_config_set(config, "context.threads", threads, &err));
    MUST(xf_config_set(config, "model.vocab_size", "96", &err));
    return config;
}

xf_context *context_on(const char *device, const char *threads) {
    xf_error err;
    xf_context *context = NULL;
    OWNED(config) *config = small_config(device, threads);
    const xf_status status = xf_context_create(config, NULL, &context, &err);
    if (status == XF_ERROR_NOT_FOUND) {
        printf("NOT TESTED on %s: %s\n", device, err.message);
        return NULL;
    }
    MUST(status);
    return context;
}

void on_each_device(const char *threads, void (*body)(const char *device, xf_context *context)) {
    static const char *const devices[] = {"cpu:ref", "cpu:openblas"};
    (void)batch_of(0); /* before there are threads */
    for (int i = 0; i < 2; ++i) {
        OWNED(context) *context = context_on(devices[i], threads);
        if (context != NULL) body(devices[i], context);
    }
}

xf_model *model_on(xf_context *context, const char *device) {
    xf_error err;
    xf_model *model = NULL;
    OWNED(config) *config = small_config(device, "1");
    MUST(xf_model_create(context, NULL, config, &model, &err));
    return model;
}

xf_trainer *trainer_on(xf_context *context, const char *device) {
    xf_error err;
    xf_trainer *trainer = NULL;
    OWNED(config) *config = small_config(device, "1");
    OWNED(model) *model = model_on(context, device);
    MUST(xf_trainer_create(model, config, &trainer, &err));
    return trainer;
}

xf_batch batch_of(int number) {
    static int32_t ids[BATCHES][SENTENCES * LENGTH];
    static int64_t offsets[SENTENCES + 1];
    static int filled; /* by the first call */
    if (!filled) {
        for (int b = 0; b < BATCHES; ++b)
            for (int i = 0; i < SENTENCES * LENGTH; ++i)
                ids[b][i] = i % LENGTH == LENGTH - 1 ? 1 : 2 + (i * 37 + b * 11) % 90;
        for (int i = 0; i <= SENTENCES; ++i) offsets[i] = i * LENGTH;
        filled = 1;
    }
    const xf_batch batch = {.struct_size = sizeof batch,
                            .sentences = SENTENCES,
                            .src_ids = ids[number],
                            .src_offsets = offsets,
                            .tgt_ids = ids[number],
                            .tgt_offsets = offsets};
    return batch;
}

uint64_t hash_file(const char *path) {
    uint64_t sum = XF_TEST_FNV_INIT;
    CHECK(fnv_add_file(&sum, path));
    return sum;
}

void hash_answers(const xf_hypotheses *answers, uint64_t *sum) {
    for (size_t i = 0; i < xf_hypotheses_sentence_count(answers); ++i) {
        xf_error err;
        xf_hypothesis best = XF_HYPOTHESIS_INIT;
        MUST(xf_hypotheses_get(answers, i, 0, &best, &err));
        fnv_add(sum, best.ids, best.id_count * sizeof *best.ids);
        fnv_add(sum, &best.score, sizeof best.score);
    }
}

xf_status decode_hash(xf_decoder *decoder, int number, int beam, uint64_t *sum, xf_error *err) {
    const xf_batch batch = batch_of(number);
    const char text[2] = {(char)('0' + beam), 0};
    OWNED(config) *config = NULL;
    OWNED(hypotheses) *answers = NULL;
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    double scores[SENTENCES];
    uint64_t found = XF_TEST_FNV_INIT;
    xf_status status = xf_config_create(&config, err);
    if (status == XF_OK) status = xf_config_set(config, "decode.beam", text, err);
    params.config = config;
    if (status == XF_OK) status = xf_decode(decoder, &batch, &params, NULL, &answers, err);
    if (status == XF_OK) hash_answers(answers, &found);
    if (status == XF_OK) status = xf_score(decoder, &batch, NULL, scores, err);
    if (status == XF_OK) fnv_add(&found, scores, sizeof scores);
    if (status == XF_OK) *sum = found;
    return status;
}
