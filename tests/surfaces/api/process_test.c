/*
 * The host process: forks, and more threads than OpenBLAS has buffers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "support.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { B = 10 };

static xf_batch sample(void) { return make_batch(B, 6, 90); }

static xf_model *sample_model(xf_context *context, const char *device) {
    OWNED_CONFIG *config = config_with(device, "model.vocab_size=96");
    xf_model *model = NULL;
    ACCEPTED(xf_model_create(context, NULL, config, &model, err));
    return model;
}

/* The scores of all answers, and of the given targets. */
struct result {
    double answers[B], targets[B];
};

static struct result decode_all(const xf_model *model, const char *device) {
    struct result result;
    memset(&result, 0, sizeof result);
    OWNED_CONFIG *config = small_config(device);
    const xf_batch batch = sample();
    MAKE(decoder, decoder, xf_decoder_create(model, NULL, config, &decoder, err));
    MAKE(hypotheses, found, xf_decode(decoder, &batch, NULL, NULL, &found, err));
    for (size_t i = 0; i < B; ++i) {
        const xf_hypothesis h = get_hypothesis(found, i, 0);
        result.answers[i] = h.score;
        for (size_t k = 0; k < h.id_count; ++k) result.answers[i] = result.answers[i] * 3 + h.ids[k];
    }
    ACCEPTED(xf_score(decoder, &batch, NULL, result.targets, err));
    return result;
}

/* In a child: the number of the first check that failed, 0 for none. It must not go through the test framework. */
static int in_child(const char *device, const struct result *expected) {
#define WANT(number, condition) \
    if (!(condition)) return number
    const xf_batch batch = sample();
    xf_error error;
    xf_hypotheses *found = NULL;
    xf_corpus *corpus = NULL;
    xf_model *model = NULL;
    xf_batcher *batcher = NULL;
    double scores[B];
    float value;
    xf_batch next = XF_BATCH_INIT;
    xf_memory_stats memory = {.struct_size = sizeof memory};
    WANT(1, xf_decode(world.decoder, &batch, NULL, NULL, &found, &error) == XF_ERROR_FORKED &&
                error.status == XF_ERROR_FORKED);
    WANT(2, error.message[0] != 0 && found == NULL);
    WANT(3, xf_score(world.decoder, &batch, NULL, scores, NULL) == XF_ERROR_FORKED);
    WANT(4, xf_train_step(world.trainer, &batch, 1, NULL, NULL, NULL) == XF_ERROR_FORKED);
    WANT(5, save_trainer(world.trainer, NULL, "x", NULL) == XF_ERROR_FORKED);
    WANT(6, save_model(world.model, NULL, "x", NULL) == XF_ERROR_FORKED);
    WANT(7, xf_model_read_tensor(world.model, 0, &value, 1, NULL) == XF_ERROR_FORKED);
    WANT(8, xf_model_create(world.context, world.tokenizer, world.config, &model, NULL) == XF_ERROR_FORKED);
    WANT(9, corpus_from_text(world.context, NULL, "a\tb", 3, &corpus, NULL) == XF_ERROR_FORKED);
    WANT(10, xf_batcher_create(world.corpus, world.tokenizer, NULL, NULL, &batcher, NULL) == XF_ERROR_FORKED);
    WANT(11, xf_batcher_next(world.batcher, NULL, &next, NULL) == XF_ERROR_FORKED);
    WANT(12, xf_context_get_memory(world.context, &memory, NULL) == XF_ERROR_FORKED);

    /* A garbage collector may free what it inherited. */
    xf_decoder_free(world.decoder);
    xf_trainer_free(world.trainer);
    xf_model_free(world.model);
    xf_batcher_free(world.batcher);
    xf_corpus_free(world.corpus);
    xf_context_free(world.context);

    /* A new context computes as usual. */
    xf_context *context = context_on(device);
    WANT(20, context != NULL);
    model = sample_model(context, device);
    const struct result own = decode_all(model, device);
    WANT(21, memcmp(&own, expected, sizeof own) == 0);
    xf_model_free(model);
    xf_context_free(context);
    return 0;
#undef WANT
}

/* Waits for a child that must end by itself with status 0. */
static void check_child(pid_t child, const char *what) {
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: the child ended with signal %d, exit status %d", what, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                 WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

TEST(fork) {
    world_open(NULL);
    ON_EACH_DEVICE(d) {
        OWNED_CONTEXT *context = context_on(cpu_devices[d]);
        OWNED_MODEL *model = sample_model(context, cpu_devices[d]);
        const struct result expected = decode_all(model, cpu_devices[d]); /* threads run, kernels were called */
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            alarm(60); /* a child that hangs is killed, and seen */
            _exit(in_child(cpu_devices[d], &expected));
        }
        check_child(child, cpu_devices[d]);
        const struct result after = decode_all(model, cpu_devices[d]); /* the parent continues */
        assert_memory_equal(&after, &expected, sizeof after);
    }
    world_close(NULL);
}

static xf_context *context_of(const char *threads, const char *isa) {
    OWNED_CONFIG *config = small_config("cpu");
    xf_context *context = NULL;
    set(config, "context.threads", threads);
    set(config, "context.isa", isa);
    ACCEPTED(xf_context_create(config, NULL, &context, err));
    return context;
}

/* An idle inherited context is freed before and after the child creates one with many threads. */
TEST(fork_and_free) {
    static const char *const threads[] = {"2", "4", "8", "64"};
    for (int i = 0; i < 4; ++i) {
        xf_context *context = context_of(threads[i], "auto");
        usleep(300000); /* until they sleep: a thread that starts may hold a lock of the sanitizer's allocator */
        for (int own_first = 0; own_first < 2; ++own_first) {
            fflush(NULL);
            const pid_t child = fork();
            if (child == 0) {
                alarm(60);
                xf_context *own = own_first ? context_of("4", "auto") : NULL;
                xf_context_free(context);
                if (!own_first) own = context_of("4", "auto");
                xf_context_free(own);
                _exit(0);
            }
            check_child(child, threads[i]);
        }
        xf_context_free(context);
    }
}

struct training {
    xf_trainer *trainer;
    xf_batch batch;
    volatile int stop;
};

static void *train_on(void *arg) {
    struct training *training = arg;
    while (!training->stop)
        if (xf_train_step(training->trainer, &training->batch, 1, NULL, NULL, NULL) != XF_OK) break;
    return NULL;
}

static xf_trainer *wide_trainer(xf_context *context) {
    OWNED_CONFIG *config = small_config("cpu");
    OWNED_MODEL *model = NULL;
    xf_trainer *trainer = NULL;
    set(config, "model.vocab_size", "96");
    set(config, "model.d_ff", "1024"); /* most of the time goes into products */
    ACCEPTED(xf_model_create(context, NULL, config, &model, err));
    ACCEPTED(xf_trainer_create(model, config, &trainer, err));
    return trainer;
}

/* A fork while a thread of the parent is in a product, with whatever that holds. */
TEST(fork_in_a_product) {
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* the locks of its allocator are those of no thread in the child, as malloc's are */
#endif
    static const char *const isas[] = {"base", "auto"};
    for (int i = 0; i < 2; ++i) {
        OWNED_CONTEXT *context = context_of("1", isas[i]);
        struct training training = {wide_trainer(context), sample(), 0};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, train_on, &training), 0);
        for (int round = 0; round < 6; ++round) {
            usleep(30000 + 3137 * (unsigned)round);
            fflush(NULL);
            const pid_t child = fork();
            if (child == 0) {
                alarm(60);
                xf_context *own = context_of("1", isas[i]);
                xf_trainer *trainer = wide_trainer(own);
                const xf_batch batch = sample();
                _exit(xf_train_step(trainer, &batch, 1, NULL, NULL, NULL) == XF_OK ? 0 : 1);
            }
            check_child(child, isas[i]);
        }
        training.stop = 1;
        pthread_join(thread, NULL);
        xf_trainer_free(training.trainer);
    }
}

/* Results depend only on the instruction set: more workers than OpenBLAS has buffers change no bit. */
TEST(very_many_threads) {
    static const char *const threads[] = {"1", "64", "65"};
    const xf_batch batch = sample();
    xf_step_stats stats[3];
    for (int i = 0; i < 3; ++i) {
        xf_context *context = context_of(threads[i], "base");
        xf_trainer *trainer = wide_trainer(context);
        for (int step = 0; step < 3; ++step) {
            stats[i] = (xf_step_stats)XF_STEP_STATS_INIT;
            ACCEPTED(xf_train_step(trainer, &batch, 1, NULL, &stats[i], err));
        }
        xf_trainer_free(trainer);
        xf_context_free(context);
        assert_memory_equal(&stats[i], &stats[0], sizeof stats[0]);
    }
}

int main(void) { return RUN_TESTS(NULL, NULL); }
