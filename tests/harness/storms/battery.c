/*
 * See battery.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "battery.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "../../support/world.h"
#include "storm.h"

/* A pipe whose writer is slow: each read of it waits, and is interrupted. */
static void *write_slowly(void *arg) {
    const int end = (int)(intptr_t)arg;
    for (size_t i = 0; i < sizeof corpus_text - 1; i += 16) {
        const struct timespec pause = {0, 1000000};
        const size_t rest = sizeof corpus_text - 1 - i, bytes = rest < 16 ? rest : 16;
        ssize_t written;
        while ((written = write(end, corpus_text + i, bytes)) < 0 && errno == EINTR) continue;
        CHECK(written == (ssize_t)bytes);
        nanosleep(&pause, NULL);
    }
    close(end);
    return NULL;
}

static void nothing(void) {}

void work(const char *device, const char *path, uint64_t *results, void (*between)(void)) {
    if (between == NULL) between = nothing;
    xf_error err;
    char text_path[80], pipe_path[80];
    snprintf(text_path, sizeof text_path, "%s.txt", path);
    OWNED(config) *config = small_config(device, "2");
    OWNED(context) *context = context_on(device, "2");
    OWNED(trainer) *trainer = trainer_on(context, device), *resumed = NULL;
    OWNED(model) *loaded = NULL;
    OWNED(decoder) *decoder = NULL;
    OWNED(corpus) *corpus = NULL, *slow = NULL;
    OWNED(tokenizer) *tokenizer = NULL, *again = NULL;
    for (int i = 0; i < BATCHES; ++i) {
        const xf_batch batch = batch_of(i);
        MUST(xf_train_step(trainer, &batch, 1, NULL, NULL, &err));
    }
    MUST(save_trainer(trainer, NULL, path, &err));
    between();
    results[0] = hash_file(path);
    between();
    MUST(resume_trainer(context, path, NULL, &resumed, &err));
    between();
    MUST(load_model(context, path, &loaded, &err));
    MUST(xf_decoder_create(loaded, NULL, config, &decoder, &err));
    for (int i = 0; i < 4; ++i) MUST(decode_hash(decoder, i, 1 + i % 4, &results[1 + i], &err));
    MUST(save_model(loaded, NULL, path, &err));
    results[5] = hash_file(path);
    between();

    FILE *file = fopen(text_path, "w");
    CHECK(file != NULL && fwrite(corpus_text, 1, sizeof corpus_text - 1, file) == sizeof corpus_text - 1 &&
          fclose(file) == 0);
    MUST(xf_corpus_open(context, text_path, NULL, NULL, NULL, &corpus, &err));
    CHECK(xf_corpus_pair_count(corpus) == 12);
    pthread_t writer;
    int low[2], ends[2]; /* the reading end stays open: what was written before the library opens it is kept */
    CHECK(pipe(low) == 0);
    for (int i = 0; i < 2; ++i) ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < 2; ++i) CHECK(ends[i] >= 3 && close(low[i]) == 0);
    snprintf(pipe_path, sizeof pipe_path, "/proc/self/fd/%d", ends[0]);
    CHECK(pthread_create(&writer, NULL, write_slowly, (void *)(intptr_t)ends[1]) == 0);
    MUST(xf_corpus_open(context, pipe_path, NULL, NULL, NULL, &slow, &err));
    pthread_join(writer, NULL);
    CHECK(xf_corpus_pair_count(slow) == 12);
    MUST(xf_tokenizer_train(context, slow, config, NULL, &tokenizer, &err));
    between();
    MUST(save_tokenizer(tokenizer, text_path, &err));
    results[6] = hash_file(text_path);
    between();
    MUST(load_tokenizer(context, text_path, &again, &err));
    MUST(save_tokenizer(again, text_path, &err));
    results[7] = hash_file(text_path);
    between();

    close(ends[0]);
}

void remove_files(const char *path) {
    static const char *const ends[] = {"", ".prev", ".txt", ".txt.prev"};
    char name[96];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}
