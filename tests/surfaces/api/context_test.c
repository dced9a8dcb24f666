/*
 * context.h: creating with every wrong argument, the log, the memory account.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include <dirent.h>
#include <pthread.h>
#include <time.h>

static void *plain_alloc(void *user, size_t size, size_t alignment) {
    (void)user;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void plain_free(void *user, void *ptr, size_t size) {
    (void)user;
    (void)size;
    free(ptr);
}

static void refused_host(const xf_config *config, xf_status expected, const xf_host *host) {
    xf_context *out = SENTINEL;
    REFUSED(expected, out, xf_context_create(config, host, &out, err));
}

TEST(create) {
    xf_context *out = SENTINEL;

    static const char *const devices[] = {"",          "gpu",       "cpu:nothing", "cpu:99", "cpu:-1",
                                          "cuda:7000", "cpu:ref:0", "CPU",         "cpu:1x", "cpu:99999999999999999999",
                                          "cpu:",      "ref"};
    OWNED_CONFIG *config = small_config("cpu:ref");
    for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
        set(config, "context.device", devices[i]);
        REFUSED(XF_ERROR_NOT_FOUND, out, xf_context_create(config, NULL, &out, err));
    }
    set(config, "context.device", "cpu:ref");
    set(config, "context.memory_budget", "1");
    REFUSED(XF_ERROR_NO_MEMORY, out, xf_context_create(config, NULL, &out, err));
    set(config, "context.memory_budget", "0");

    const xf_host good = {.struct_size = sizeof good, .alloc = plain_alloc, .free = plain_free};
    CHANGED(xf_host, host, good, alloc = NULL, refused_host(config, XF_ERROR_INVALID_ARGUMENT, &host));
    CHANGED(xf_host, host, good, free = NULL, refused_host(config, XF_ERROR_INVALID_ARGUMENT, &host));
    for (int32_t level = -1; level <= 5; level += 6)
        CHANGED(xf_host, host, good, log_level = level, refused_host(config, XF_ERROR_INVALID_ARGUMENT, &host));
    CHANGED(xf_host, host, good, reserved = 1, refused_host(config, XF_ERROR_UNSUPPORTED, &host));

    ACCEPTED(xf_context_create(config, &good, &out, err));
    xf_context_free(out);
    ACCEPTED(xf_context_create(NULL, NULL, &out, err));
    xf_context_free(out);
}

TEST(info) {
    PAINTED(xf_context_info, info);
    ACCEPTED(xf_context_get_info(world.context, &info, err));
    assert_string_equal(info.backend, "ref");
    assert_string_equal(info.device, "cpu:ref");
    assert_string_equal(info.arithmetic, "any");
    assert_true(info.precision == XF_TYPE_FP32 && info.threads == 2 && info.rank == 0 && info.rank_count == 1);
    assert_non_null(strstr(info.description, "ref on cpu:0"));
    assert_non_null(strstr(info.description, "2 threads"));
    /* The device can be given back as "context.device". */
    OWNED_CONFIG *config = small_config(info.device);
    xf_context_info again = XF_CONTEXT_INFO_INIT;
    MAKE(context, same, xf_context_create(config, NULL, &same, err));
    ACCEPTED(xf_context_get_info(same, &again, err));
    assert_string_equal(info.description, again.description);
}

/* Handles that another handle owns: freeing them has no effect. */
TEST(borrowed) {
    int64_t before = 0, after = 0;
    const xf_config *of_model = xf_model_config(world.model), *of_trainer = xf_trainer_config(world.trainer);
    const xf_tokenizer *tokenizer = xf_model_tokenizer(world.model);
    xf_model *model = xf_trainer_model(world.trainer);
    const size_t tensors = xf_model_tensor_count(model);
    const int32_t size = vocab_size_of(tokenizer);
    ACCEPTED(get_integer(of_model, "model.d_model", &before, err));
    for (int i = 0; i < 3; ++i) {
        xf_config_free((xf_config *)of_model);
        xf_config_free((xf_config *)of_trainer);
        xf_tokenizer_free((xf_tokenizer *)tokenizer);
        xf_tokenizer_free((xf_tokenizer *)xf_tokenizer_side(tokenizer, XF_SIDE_TARGET));
        xf_model_free(model);
    }
    ACCEPTED(get_integer(of_model, "model.d_model", &after, err));
    assert_int_equal(before, after);
    ACCEPTED(get_integer(of_trainer, "train.warmup_steps", &after, err));
    assert_int_equal(after, 5);
    assert_true(xf_model_config(world.model) == of_model && xf_trainer_config(world.trainer) == of_trainer);
    assert_int_equal(vocab_size_of(xf_model_tokenizer(world.model)), size);
    assert_int_equal(xf_model_tensor_count(xf_trainer_model(world.trainer)), tensors);
    const xf_batch batch = next_batch(world.batcher);
    ACCEPTED(xf_train_step(world.trainer, &batch, 1, NULL, NULL, err));
    ACCEPTED(save_model(xf_trainer_model(world.trainer), NULL, scratch_path("borrowed"), err));
}

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

struct heard {
    int levels[5], lines_with_number, devices;
    pthread_t thread;
};

static void listen(void *user, const xf_log_line *line) {
    struct heard *heard = user;
    const char *const message = line->message;
    assert_true(line->struct_size >= sizeof *line && line->level >= XF_LOG_ERROR && line->level <= XF_LOG_DEBUG);
    assert_true(strlen(line->component) > 0 && strlen(message) > 0 && strchr(message, '\n') == NULL);
    assert_true(pthread_equal(heard->thread, pthread_self()));
    ++heard->levels[line->level];
    heard->lines_with_number += strstr(message, "pairs:3:") != NULL;
    heard->devices += line->level == XF_LOG_INFO && strncmp(message, "ref on cpu:0", 12) == 0;
}

static struct heard open_with_log(int32_t level, xf_log_fn fn) {
    static const char text[] = "one\teins\ntwo\tzwei\nno tab here\nthree\tdrei\n\tempty\nfour\tvier\n";
    struct heard heard = {.thread = pthread_self()};
    const xf_host host = {.struct_size = sizeof host, .log_user = &heard, .log = fn, .log_level = level};
    MAKE(context, context, xf_context_create(world.config, &host, &context, err));
    MAKE(corpus, corpus, corpus_from_text(context, NULL, text, sizeof text - 1, &corpus, err));
    return heard;
}

static void count(void *user) { ++*(int *)user; }

/* A host is notified once, after the last object of the context was freed, and not if creation failed. */
TEST(release) {
    int gone = 0;
    const xf_host host = {.struct_size = sizeof host, .release_user = &gone, .release = count};
    xf_context *context = NULL;
    xf_model *model = NULL;
    ACCEPTED(xf_context_create(world.config, &host, &context, err));
    ACCEPTED(xf_model_create(context, world.tokenizer, world.config, &model, err));
    xf_context_free(context);
    assert_int_equal(gone, 0);
    xf_model_free(model);
    assert_int_equal(gone, 1);
    MAKE(config, config, xf_config_create(&config, err));
    ACCEPTED(xf_config_set(config, "context.device", "cpu:none", err));
    context = NULL;
    REFUSED(XF_ERROR_NOT_FOUND, context, xf_context_create(config, &host, &context, err));
    assert_int_equal(gone, 1);
}

TEST(log) {
    struct heard heard = open_with_log(0, listen); /* warnings */
    assert_int_equal(heard.levels[XF_LOG_WARNING], 3);
    assert_int_equal(heard.levels[XF_LOG_INFO] + heard.levels[XF_LOG_DEBUG], 0);
    heard = open_with_log(XF_LOG_WARNING, listen);
    assert_int_equal(heard.levels[XF_LOG_WARNING], 3); /* two lines and a summary */
    assert_int_equal(heard.lines_with_number, 1);
    assert_int_equal(heard.levels[XF_LOG_INFO] + heard.levels[XF_LOG_DEBUG], 0);
    /* The log of creation names the chosen device. */
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
    const xf_job *job;
    int32_t index;
};

static void *run_piece(void *arg) {
    const struct piece *piece = arg;
    piece->job->run(piece->job->arg, piece->index);
    return NULL;
}

static void parallel(void *user, const xf_job *job) {
    struct pool *pool = user;
    const int32_t count = job->count;
    assert_true(job->struct_size >= sizeof *job && count >= 1);
    ++pool->jobs;
    if (count > pool->largest) pool->largest = count;
    if (pool->way == 0) { /* sequentially */
        for (int32_t i = 0; i < count; ++i) job->run(job->arg, i);
    } else if (pool->way == 1) { /* the other way round */
        for (int32_t i = count - 1; i >= 0; --i) job->run(job->arg, i);
    } else { /* each on a separate thread */
        pthread_t threads[8];
        struct piece pieces[8];
        for (int32_t i = 0; i < count; ++i) {
            pieces[i] = (struct piece){job, i};
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

/* A joined thread may remain in the list for an instant. */
static void check_thread_count(int expected) {
    const struct timespec pause = {0, 5000000};
    for (int i = 0; i < 400 && thread_count() != expected; ++i) nanosleep(&pause, NULL);
    assert_int_equal(thread_count(), expected);
}

TEST(executor) {
    const struct timespec pause = {0, 2000000};
    int before = thread_count();
    for (int i = 0, now; i < 100; ++i) { /* without threads of earlier tests */
        nanosleep(&pause, NULL);
        if ((now = thread_count()) < before) before = now;
    }
    ON_EACH_DEVICE(d) {
        double losses[4] = {0}, scores[4] = {0};
        for (int way = -1; way < 3; ++way) {
            struct pool pool = {way, 0, 0};
            const xf_host host = {.struct_size = sizeof host, .parallel_user = &pool, .parallel = parallel};
            OWNED_CONFIG *config = config_with(cpu_devices[d], "model.vocab_size=600 model.d_ff=200 context.threads=4");
            MAKE(context, context, xf_context_create(config, way < 0 ? NULL : &host, &context, err));
            check_thread_count(before + (way < 0 ? 3 : 0));
            MAKE(model, model, xf_model_create(context, NULL, config, &model, err));
            MAKE(trainer, trainer, xf_trainer_create(model, config, &trainer, err));
            MAKE(decoder, decoder, xf_decoder_create(model, NULL, config, &decoder, err));
            enum { B = 12 };
            const xf_batch batch = make_batch(B, 12, 500);
            xf_step_stats stats = XF_STEP_STATS_INIT;
            double found[B];
            for (int step = 0; step < 3; ++step) ACCEPTED(xf_train_step(trainer, &batch, 1, NULL, &stats, err));
            ACCEPTED(xf_score(decoder, &batch, NULL, found, err));
            losses[way + 1] = stats.loss;
            for (int i = 0; i < B; ++i) scores[way + 1] += found[i];
            assert_true(losses[way + 1] == losses[0] && scores[way + 1] == scores[0]);
            if (way >= 0) assert_true(pool.jobs > 0 && pool.largest > 1 && pool.largest <= 4);
        }
    }
}

/* A number type that the device has not is an error that says which backend has it; recording is nobody's duty. */
TEST(precision) {
    OWNED_CONTEXT *out = NULL;
    MAKE(config, config, xf_config_create(&config, err));
    ACCEPTED(xf_config_set(config, "context.device", "cpu:ref", err));
    ACCEPTED(xf_config_set(config, "context.precision", "bf16", err));
    REFUSED(XF_ERROR_UNSUPPORTED, out, xf_context_create(config, NULL, &out, err));
    SAYS("openblas or cuda");
    assert_int_not_equal(xf_config_set(config, "context.precision", "fp16", NULL), XF_OK);
    ACCEPTED(xf_config_set(config, "context.precision", "fp32", err));
    ACCEPTED(xf_context_create(config, NULL, &out, err));
    assert_non_null(strstr(device_of(out), "fp32"));
}

int main(void) { return RUN_TESTS(world_open, world_close); }
