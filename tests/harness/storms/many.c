/*
 * Eight threads on one model: each call has the same result as without other threads. Each thread decodes with its own
 * decoder, scores, loads copies, and saves to memory, while others create and free decoders.
 *
 *     storm_many [CALLS]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "storm.h"

enum { THREADS = 8, BEAMS = 4 };

static struct {
    const char *device;
    xf_model *model;
    uint64_t serial[BATCHES][BEAMS], saved;
    long calls; /* to make */
    atomic_long next, wrong, failed;
    int bad; /* devices */
} storm;

static uint64_t hash_saved(const xf_model *model) {
    xf_error err;
    uint64_t sum = XF_TEST_FNV_INIT;
    size_t size = 0;
    CHECK(save_model_memory(model, NULL, NULL, 0, &size, NULL) == XF_ERROR_BUFFER_TOO_SMALL);
    char *bytes = malloc(size);
    CHECK(bytes != NULL);
    MUST(save_model_memory(model, NULL, bytes, size, &size, &err));
    fnv_add(&sum, bytes, size);
    free(bytes);
    return sum;
}

static void *use(void *arg) {
    uint32_t seed = (uint32_t)(intptr_t)arg;
    xf_error err;
    OWNED(config) *config = small_config(storm.device, "1");
    OWNED(decoder) *decoder = NULL;
    for (long call; (call = atomic_fetch_add(&storm.next, 1)) < storm.calls;) {
        const int number = (int)(chance(&seed) % BATCHES), beam = (int)(chance(&seed) % BEAMS);
        if (call % 16 == 0) { /* as for a new request */
            xf_decoder_free(decoder);
            decoder = NULL;
        }
        if (decoder == NULL) MUST(xf_decoder_create(storm.model, NULL, config, &decoder, &err));
        uint64_t sum = 0, expected = storm.serial[number][beam];
        if (call % 64 == 63) {
            sum = hash_saved(storm.model);
            expected = storm.saved;
        } else if (decode_hash(decoder, number, 1 + beam, &sum, &err) != XF_OK) {
            fprintf(stderr, "call %ld: %s\n", call, err.message);
            atomic_fetch_add(&storm.failed, 1);
            continue;
        }
        if (sum != expected) atomic_fetch_add(&storm.wrong, 1);
    }
    return NULL;
}

/* The threads of the context are shared too. */
static void storm_on(const char *device, xf_context *context) {
    xf_error err;
    OWNED(model) *model = model_on(context, device);
    OWNED(config) *config = small_config(device, "1");
    OWNED(decoder) *decoder = NULL;
    MUST(xf_decoder_create(model, NULL, config, &decoder, &err));
    storm.device = device;
    storm.model = model;
    for (int number = 0; number < BATCHES; ++number)
        for (int beam = 0; beam < BEAMS; ++beam)
            MUST(decode_hash(decoder, number, 1 + beam, &storm.serial[number][beam], &err));
    storm.saved = hash_saved(model);
    atomic_store(&storm.next, 0);
    pthread_t threads[THREADS];
    const double start = seconds_now();
    for (int i = 0; i < THREADS; ++i) CHECK(pthread_create(&threads[i], NULL, use, (void *)(intptr_t)(i + 1)) == 0);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    printf("%s: %ld calls of %d threads in %.1f s, %ld failed, %ld with other bits\n", device, storm.calls, THREADS,
           seconds_now() - start, atomic_load(&storm.failed), atomic_load(&storm.wrong));
    storm.bad += atomic_load(&storm.failed) > 0 || atomic_load(&storm.wrong) > 0;
}

int main(int argc, char **argv) {
    storm.calls = amount(argc, argv, 2000) / 2;
    on_each_device("2", storm_on);
    return storm.bad;
}
