/*
 * The bench of injected.h: small objects on one device, and digests of what they give.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "injected.h"

#include <sys/stat.h>
#include <unistd.h>

static void hear(void *user, const xf_log_line *line) { (void)user, (void)line; }

xf_host listening_host(void) {
    xf_host host = XF_HOST_INIT;
    host.log = hear;
    host.log_level = XF_LOG_DEBUG;
    return host;
}

xf_config *bench_config(const struct place *place) {
    xf_config *config = small_config(place->device);
    set(config, "context.isa", place->isa);
    set(config, "context.backend_path", XF_TEST_FOLDERS);
    set_all(config, "train.ema=0.9 train.accumulate=2 decode.beam=3 decode.n_best=2");
    return config;
}

static xf_context *open_context(const xf_config *config) {
    const xf_host host = listening_host();
    xf_context *context = NULL;
    xf_error error;
    const xf_status status = xf_context_create(config, &host, &context, &error);
    if (status != XF_OK) print_message("NOT TESTED on this place: %s\n", error.message);
    return context;
}

static void write_files(struct bench *b) {
    char part[200];
    write_file(CORPUS_FILE, corpus_text, strlen(corpus_text));
    write_file(scratch_path("targets"), corpus_text, strlen(corpus_text));
    (void)mkdir(CORPUS_FOLDER, 0700);
    for (int i = 0; i < 3; ++i) {
        snprintf(part, sizeof part, "%s/part%d", CORPUS_FOLDER, i);
        write_file(part, corpus_text, strlen(corpus_text));
    }
    ACCEPTED(save_tokenizer(b->tokenizer, TOKENIZER_FILE, err));
    ACCEPTED(save_model(b->model, NULL, MODEL_FILE, err));
    OWNED(config) *narrow = NULL;
    ACCEPTED(xf_config_create(&narrow, err));
    set(narrow, "model.weights", "int8");
    ACCEPTED(save_model(b->model, narrow, NARROW_FILE, err));
    ACCEPTED(save_trainer(b->trainer, b->batcher, CHECKPOINT_FILE, err));
}

static void *copy_of(const void *from, size_t bytes) {
    void *const to = malloc(bytes);
    assert_non_null(to);
    return memcpy(to, from, bytes);
}

static xf_batch own_batch(xf_batch batch) {
    const size_t rows = (size_t)batch.sentences + 1;
    batch.src_ids = copy_of(batch.src_ids, (size_t)batch.src_offsets[rows - 1] * sizeof *batch.src_ids);
    batch.tgt_ids = copy_of(batch.tgt_ids, (size_t)batch.tgt_offsets[rows - 1] * sizeof *batch.tgt_ids);
    batch.src_offsets = copy_of(batch.src_offsets, rows * sizeof *batch.src_offsets);
    batch.tgt_offsets = copy_of(batch.tgt_offsets, rows * sizeof *batch.tgt_offsets);
    batch.pair_index = NULL;
    return batch;
}

bool bench_open(struct bench *b, const struct place *place) {
    memset(b, 0, sizeof *b);
    b->place = place;
    b->config = bench_config(place);
    b->context = open_context(b->config);
    if (b->context == NULL) return false;
    fault_spare("libxformer_cuda.so");
    OWNED(config) *ref = small_config("cpu:ref");
    b->ref = open_context(ref);
    b->corpus = small_corpus(b->context);
    ACCEPTED(xf_tokenizer_train(b->context, b->corpus, b->config, NULL, &b->tokenizer, err));
    ACCEPTED(xf_batcher_create(b->corpus, b->tokenizer, b->config, NULL, &b->batcher, err));
    ACCEPTED(xf_model_create(b->context, b->tokenizer, b->config, &b->model, err));
    ACCEPTED(xf_model_set_metadata(b->model, "origin", "a bench, to be broken", err));
    ACCEPTED(xf_trainer_create(b->model, b->config, &b->trainer, err));
    ACCEPTED(xf_train_next(b->trainer, b->batcher, NULL, NULL, err));
    ACCEPTED(xf_decoder_create(b->model, NULL, b->config, &b->decoder, err));
    b->batch = own_batch(next_batch(b->batcher));
    write_files(b);
    b->model_bytes = (char *)file_bytes(MODEL_FILE, &b->model_size);
    return true;
}

void bench_close(struct bench *b) {
    free(b->model_bytes);
    free((void *)b->batch.src_ids), free((void *)b->batch.tgt_ids);
    free((void *)b->batch.src_offsets), free((void *)b->batch.tgt_offsets);
    xf_decoder_free(b->decoder);
    xf_trainer_free(b->resumed);
    xf_batcher_free(b->moved);
    xf_trainer_free(b->trainer);
    xf_model_free(b->model);
    xf_batcher_free(b->batcher);
    xf_tokenizer_free(b->tokenizer);
    xf_corpus_free(b->corpus);
    xf_context_free(b->ref);
    xf_context_free(b->context);
    xf_config_free(b->config);
}

void add_bytes(digest *d, const void *bytes, size_t size) { fnv_add(d, bytes, size); }
void add_text(digest *d, const char *text) {
    if (text != NULL) add_bytes(d, text, strlen(text) + 1);
}
void add_number(digest *d, double value) { add_bytes(d, &value, sizeof value); }

void add_file(digest *d, const char *path) {
    size_t size;
    unsigned char *bytes = file_bytes(path, &size);
    add_bytes(d, bytes, size);
    free(bytes);
}

void add_model(digest *d, const xf_model *model) {
    size_t count;
    float *values = all_params(model, &count);
    add_bytes(d, values, count * sizeof *values);
    free(values);
}

void add_answers(digest *d, const xf_hypotheses *answers) {
    for (size_t s = 0; s < xf_hypotheses_sentence_count(answers); ++s) {
        const xf_status status = sentence_status(answers, s, NULL);
        add_number(d, status);
        for (size_t rank = 0; rank < hypothesis_count(answers, s); ++rank) {
            xf_hypothesis answer = XF_HYPOTHESIS_INIT;
            ACCEPTED(xf_hypotheses_get(answers, s, rank, &answer, err));
            add_bytes(d, answer.ids, answer.id_count * sizeof *answer.ids);
            add_text(d, answer.text);
            add_number(d, answer.score);
            if (answer.alignment != NULL) add_bytes(d, answer.alignment, answer.id_count * sizeof *answer.alignment);
        }
    }
}
