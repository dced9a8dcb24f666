/*
 * The steady state allocates nothing: malloc and related functions are replaced by counting ones for the whole process,
 * including libraries and plugins. The library's own count (xf_memory) includes only tensors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

#include <stdatomic.h>

#if XF_TEST_SANITIZED || !defined(__GLIBC__)
#define COUNTS 0 /* malloc is replaced already, or has no other name */
#else
#define COUNTS 1
#endif

static atomic_llong allocations;

#if COUNTS
#define EXPORT __attribute__((visibility("default")))
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);
int posix_memalign(void **out, size_t alignment, size_t size);

EXPORT void *malloc(size_t size) {
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(size);
}
EXPORT void *calloc(size_t count, size_t size) {
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(count, size);
}
EXPORT void *realloc(void *ptr, size_t size) {
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(ptr, size);
}
EXPORT void *memalign(size_t alignment, size_t size) {
    atomic_fetch_add(&allocations, 1);
    return __libc_memalign(alignment, size);
}
EXPORT void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    *out = memalign(alignment, size);
    return *out == NULL ? 12 : 0; /* ENOMEM */
}
#endif

/* A step of each kind, once to warm up and then again. */
static void train(const char *shards) {
    ON_EACH_DEVICE(d) {
        OWNED_CONTEXT *context = context_on(cpu_devices[d]);
        OWNED_CONFIG *config = small_config(cpu_devices[d]);
        set(config, "train.shards", shards);
        set_all(config, "train.accumulate=2 train.ema=0.9 train.clip_norm=0.1 train.weight_decay=0.1");
        MAKE(model, model, xf_model_create(context, world.tokenizer, config, &model, err));
        MAKE(trainer, trainer, xf_trainer_create(model, config, &trainer, err));
        MAKE(batcher, batcher, xf_batcher_create(world.corpus, world.tokenizer, config, NULL, &batcher, err));
        xf_step_stats stats = XF_STEP_STATS_INIT;
        xf_batcher_stats where = XF_BATCHER_STATS_INIT;
        long long steps = 0, most = 0;
        for (int epoch = 0; epoch < 30; ++epoch) { /* by the 20th the largest batch has been seen */
            for (;;) {
                const long long before = atomic_load(&allocations);
                const xf_status status = xf_train_next(trainer, batcher, NULL, &stats, NULL);
                const long long made = atomic_load(&allocations) - before;
                assert_true(status >= 0);
                if (status == XF_DONE) break; /* plans the next epoch */
                if (epoch < 20) continue;
                if (made > most) most = made;
                ++steps;
            }
        }
        assert_true(steps > 4);
        assert_int_equal(most, 0);
        xf_batch batch = next_batch(batcher), batches[2] = {batch, batch};
        for (int i = 0; i < 4; ++i) {
            const long long before = atomic_load(&allocations);
            ACCEPTED(xf_train_step(trainer, batches, 2, NULL, &stats, err));
            if (strcmp(shards, "1") == 0) {
                ACCEPTED(xf_train_accumulate(trainer, &batch, NULL, &stats, err));
                ACCEPTED(xf_train_update(trainer, &stats, err));
            }
            if (i > 0) assert_int_equal(atomic_load(&allocations) - before, 0);
        }
        /* The counter works. */
        const long long before = atomic_load(&allocations);
        ACCEPTED(xf_batcher_get_stats(batcher, &where, err));
        ACCEPTED(xf_batcher_seek(batcher, where.epoch + 1, 0, NULL, err));
        assert_true(atomic_load(&allocations) > before);
    }
}

TEST(training) {
    if (!COUNTS) skip();
    train("1");
    train("2");
}

/* A call with a result allocates only this result: the handle, the list of sentences, and for each sentence the list of
 * hypotheses, the ids, their log-probabilities, and the text, twice if its bytes are not valid UTF-8. */
TEST(answers) {
    if (!COUNTS) skip();
    ON_EACH_DEVICE(d) {
        OWNED_CONTEXT *context = context_on(cpu_devices[d]);
        OWNED_CONFIG *config = small_config(cpu_devices[d]);
        MAKE(model, model, xf_model_create(context, world.tokenizer, config, &model, err));
        MAKE(decoder, decoder, xf_decoder_create(model, NULL, config, &decoder, err));
        const char *texts[] = {"one two three", "three one", "two", "one one two \xEF\xAC\x81"};
        for (int i = 0; i < 4; ++i) {
            const size_t count = i % 2 == 0 ? 4 : 2;
            const long long before = atomic_load(&allocations);
            MAKE(hypotheses, hypotheses, xf_translate(decoder, texts, NULL, count, NULL, NULL, &hypotheses, err));
            const long long made = atomic_load(&allocations) - before;
            if (i > 1 && made > 2 + 5 * (long long)count)
                fail_msg("%s: %lld allocations for %zu texts", cpu_devices[d], made, count);
            assert_true(made > (long long)count);
        }
    }
}

int main(void) { return RUN_TESTS(world_open, world_close); }
