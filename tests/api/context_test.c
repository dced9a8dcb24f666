/*
 * context.h: creating with every wrong argument, the log, the memory account.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include <dirent.h>
#include <pthread.h>

static void *plain_alloc(void *user, size_t size, size_t alignment) {
    (void)user;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void plain_free(void *user, void *ptr, size_t size) {
    (void)user;
    (void)size;
    free(ptr);
}

static void test_create(void **state) {
    (void)state;
    xf_context *out = SENTINEL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_context_create(world.config, NULL, NULL, err));
    for (int i = 0; i < WRONG_HANDLES; ++i)
        if (i != CONFIG && wrong_handle(i) != NULL)
            REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(wrong_handle(i), NULL, &out, err));

    static const char *const devices[] = {"",          "gpu",       "cpu:nothing", "cpu:99", "cpu:-1",
                                          "cuda:7000", "cpu:ref:0", "CPU",         "cpu:1x", "cpu:99999999999999999999",
                                          "cpu:",      "ref"};
    xf_config *config = small_config("cpu:ref");
    for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
        set(config, "context.device", devices[i]);
        REFUSED(XF_ERROR_NOT_FOUND, out, xf_context_create(config, NULL, &out, err));
    }
    set(config, "context.device", "cpu:ref");
    set(config, "context.memory_budget", "1");
    REFUSED(XF_ERROR_NO_MEMORY, out, xf_context_create(config, NULL, &out, err));
    set(config, "context.memory_budget", "0");

    const xf_host good = {.struct_size = sizeof good, .alloc = plain_alloc, .free = plain_free};
    xf_host host = good;
    host.struct_size = 0;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(config, &host, &out, err));
    host.struct_size = sizeof host - 1;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(config, &host, &out, err));
    host.struct_size = SIZE_MAX;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(config, &host, &out, err));
    host = good;
    host.alloc = NULL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(config, &host, &out, err));
    host = good;
    host.free = NULL;
    REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(config, &host, &out, err));
    for (int32_t level = -1; level <= 4; level += 5) {
        host = good;
        host.log_level = level;
        REFUSED(XF_ERROR_INVALID_ARGUMENT, out, xf_context_create(config, &host, &out, err));
    }
    host = good;
    host.reserved = 1;
    REFUSED(XF_ERROR_UNSUPPORTED, out, xf_context_create(config, &host, &out, err));

    struct {
        xf_host known;
        uint64_t later[3];
    } larger = {good, {0, 0, 1}};
    larger.known.struct_size = sizeof larger;
    REFUSED(XF_ERROR_UNSUPPORTED, out, xf_context_create(config, &larger.known, &out, err));
    larger.later[2] = 0;
    ACCEPTED(xf_context_create(config, &larger.known, &out, err));
    xf_context_free(out);
    ACCEPTED(xf_context_create(config, &good, &out, err));
    xf_context_free(out);
    ACCEPTED(xf_context_create(NULL, NULL, &out, err));
    xf_context_free(out);
    xf_config_free(config);
    xf_context_free(NULL);
    for (int i = 0; i < WRONG_HANDLES; ++i)
        if (i != CONTEXT) xf_context_free(wrong_handle(i));
}

static void test_refusals(void **state) {
    (void)state;
    xf_memory_stats stats;
    memset(&stats, 0x5A, sizeof stats);
    stats.struct_size = sizeof stats;
    REFUSED_HANDLE(CONTEXT, stats, xf_context_get_memory(handle, &stats, err));
    CHECK_OUTPUT_STRUCT(xf_memory_stats, out, xf_context_get_memory(world.context, out, err));
    for (int i = 0; i < WRONG_HANDLES; ++i) {
        if (i == CONTEXT) continue;
        assert_null(xf_context_device(wrong_handle(i)));
        xf_context_cancel(wrong_handle(i));
    }
    assert_non_null(strstr(xf_context_device(world.context), "ref"));
}

struct heard {
    int levels[4], lines_with_number, devices;
    pthread_t thread;
};

static void listen(void *user, enum xf_log_level level, const char *component, const char *message) {
    struct heard *heard = user;
    assert_true(strlen(component) > 0 && strlen(message) > 0);
    assert_true(pthread_equal(heard->thread, pthread_self()));
    ++heard->levels[level];
    heard->lines_with_number += strstr(message, "pairs:3:") != NULL;
    heard->devices += level == XF_LOG_INFO && strncmp(message, "ref on cpu:0", 12) == 0;
}

static struct heard open_with_log(int32_t level, xf_log_fn fn) {
    static const char text[] = "one\teins\ntwo\tzwei\nno tab here\nthree\tdrei\n\tempty\nfour\tvier\n";
    struct heard heard = {.thread = pthread_self()};
    const xf_host host = {.struct_size = sizeof host, .log_user = &heard, .log = fn, .log_level = level};
    xf_context *context = NULL;
    xf_corpus *corpus = NULL;
    ACCEPTED(xf_context_create(world.config, &host, &context, err));
    ACCEPTED(xf_corpus_from_memory(context, NULL, "pairs", text, sizeof text - 1, &corpus, err));
    xf_corpus_free(corpus);
    xf_context_free(context);
    return heard;
}

static void count(void *user) { ++*(int *)user; }

/* A host is told once, when the last object of the context is gone; not of a context that never was. */
static void test_release(void **state) {
    (void)state;
    int gone = 0;
    const xf_host host = {.struct_size = sizeof host, .release_user = &gone, .release = count};
    xf_context *context = NULL;
    xf_config *config = NULL;
    xf_model *model = NULL;
    ACCEPTED(xf_context_create(world.config, &host, &context, err));
    ACCEPTED(xf_model_create(context, world.config, world.tokenizer, &model, err));
    xf_context_free(context);
    assert_int_equal(gone, 0);
    xf_model_free(model);
    assert_int_equal(gone, 1);
    ACCEPTED(xf_config_create(&config, err));
    ACCEPTED(xf_config_set(config, "context.device", "cpu:none", err));
    context = NULL;
    REFUSED(XF_ERROR_NOT_FOUND, context, xf_context_create(config, &host, &context, err));
    assert_int_equal(gone, 1);
    xf_config_free(config);
}

static void test_log(void **state) {
    (void)state;
    struct heard heard = open_with_log(XF_LOG_WARNING, listen);
    assert_int_equal(heard.levels[XF_LOG_WARNING], 3); /* two lines and a summary */
    assert_int_equal(heard.lines_with_number, 1);
    assert_int_equal(heard.levels[XF_LOG_INFO] + heard.levels[XF_LOG_DEBUG], 0);
    /* What was chosen: a line of creation. */
    heard = open_with_log(XF_LOG_INFO, listen);
    assert_int_equal(heard.devices, 1);
    assert_true(heard.levels[XF_LOG_INFO] >= 2); /* the device, the corpus */
    heard = open_with_log(XF_LOG_DEBUG, listen);
    assert_true(heard.levels[XF_LOG_DEBUG] > 0);
    /* A wish for errors only, and silence. */
    heard = open_with_log(XF_LOG_ERROR, listen);
    assert_int_equal(heard.levels[XF_LOG_WARNING] + heard.levels[XF_LOG_INFO], 0);
    heard = open_with_log(XF_LOG_DEBUG, NULL);
    assert_int_equal(heard.levels[XF_LOG_WARNING] + heard.levels[XF_LOG_INFO], 0);
}

/* A host's executor: the bits are those of the library's own threads, in whatever order and wherever tasks run. */
struct pool {
    int way, largest, jobs;
};

struct piece {
    xf_task_fn task;
    void *arg;
    int32_t index;
};

static void *run_piece(void *arg) {
    const struct piece *piece = arg;
    piece->task(piece->arg, piece->index);
    return NULL;
}

static void parallel(void *user, int32_t count, xf_task_fn task, void *arg) {
    struct pool *pool = user;
    ++pool->jobs;
    if (count > pool->largest) pool->largest = count;
    if (pool->way == 0) { /* one after the other */
        for (int32_t i = 0; i < count; ++i) task(arg, i);
    } else if (pool->way == 1) { /* the other way round */
        for (int32_t i = count - 1; i >= 0; --i) task(arg, i);
    } else { /* each on a thread of its own */
        pthread_t threads[8];
        struct piece pieces[8];
        for (int32_t i = 0; i < count; ++i) {
            pieces[i] = (struct piece){task, arg, i};
            assert_int_equal(pthread_create(&threads[i], NULL, run_piece, &pieces[i]), 0);
        }
        for (int32_t i = 0; i < count; ++i) pthread_join(threads[i], NULL);
    }
}

static int thread_count(void) {
    int count = 0;
    DIR *dir = opendir("/proc/self/task");
    while (readdir(dir) != NULL) ++count;
    closedir(dir);
    return count;
}

static void test_executor(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu:ref", "cpu:openblas"};
    for (int d = 0; d < 2; ++d) {
        xf_context *there = context_on(devices[d]);
        xf_context_free(there);
        if (there == NULL) continue;
        double losses[4] = {0}, scores[4] = {0};
        for (int way = -1; way < 3; ++way) {
            struct pool pool = {way, 0, 0};
            const xf_host host = {.struct_size = sizeof host, .parallel_user = &pool, .parallel = parallel};
            xf_config *config = small_config(devices[d]);
            set(config, "model.vocab_size", "600");
            set(config, "model.d_ff", "200");
            set(config, "context.threads", "4");
            const int before = thread_count();
            xf_context *context = NULL;
            xf_model *model = NULL;
            xf_trainer *trainer = NULL;
            xf_decoder *decoder = NULL;
            ACCEPTED(xf_context_create(config, way < 0 ? NULL : &host, &context, err));
            assert_int_equal(thread_count() - before, way < 0 ? 3 : 0);
            ACCEPTED(xf_model_create(context, config, NULL, &model, err));
            ACCEPTED(xf_trainer_create(model, config, &trainer, err));
            ACCEPTED(xf_decoder_create(model, config, &decoder, err));
            enum { B = 12, LENGTH = 12 };
            int32_t ids[B * LENGTH], offsets[B + 1];
            for (int i = 0; i < B * LENGTH; ++i) ids[i] = i % LENGTH == LENGTH - 1 ? XF_TOKEN_END : 2 + (i * 37) % 500;
            for (int i = 0; i <= B; ++i) offsets[i] = i * LENGTH;
            const xf_batch batch = {sizeof batch, B, ids, offsets, ids, offsets, NULL};
            xf_step_stats stats = XF_STEP_STATS_INIT;
            double found[B];
            for (int step = 0; step < 3; ++step) ACCEPTED(xf_train_step(trainer, &batch, 1, &stats, err));
            ACCEPTED(xf_score(decoder, &batch, found, err));
            losses[way + 1] = stats.loss;
            for (int i = 0; i < B; ++i) scores[way + 1] += found[i];
            assert_true(losses[way + 1] == losses[0] && scores[way + 1] == scores[0]);
            if (way >= 0) assert_true(pool.jobs > 0 && pool.largest > 1 && pool.largest <= 4);
            xf_decoder_free(decoder);
            xf_trainer_free(trainer);
            xf_model_free(model);
            xf_context_free(context);
            xf_config_free(config);
        }
    }
}

/* A number type that the device has not is an error that says which backend has it; recording is nobody's duty. */
static void test_precision(void **state) {
    (void)state;
    xf_config *config = NULL;
    xf_context *out = NULL;
    ACCEPTED(xf_config_create(&config, err));
    ACCEPTED(xf_config_set(config, "context.device", "cpu:ref", err));
    ACCEPTED(xf_config_set(config, "context.precision", "bf16", err));
    REFUSED(XF_ERROR_UNSUPPORTED, out, xf_context_create(config, NULL, &out, err));
    xf_error refusal = {0};
    assert_int_equal(xf_context_create(config, NULL, &out, &refusal), XF_ERROR_UNSUPPORTED);
    assert_non_null(strstr(refusal.message, "openblas and cuda"));
    assert_int_not_equal(xf_config_set(config, "context.precision", "fp16", &refusal), XF_OK);
    ACCEPTED(xf_config_set(config, "context.precision", "fp32", err));
    ACCEPTED(xf_config_set_i64(config, "context.graphs", 0, err));
    ACCEPTED(xf_context_create(config, NULL, &out, err));
    assert_non_null(strstr(xf_context_device(out), "fp32"));
    xf_context_free(out);
    xf_config_free(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_create),   cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_release),  cmocka_unit_test(test_log),
                                       cmocka_unit_test(test_executor), cmocka_unit_test(test_precision)};
    return RUN(tests, world_open, world_close);
}
