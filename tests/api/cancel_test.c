/*
 * Cancelling: while nothing runs, from another thread or a signal handler in the middle of a call, one decoder of two,
 * and that nothing changed by it. And pthread_cancel(), which is not the library's business.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char *const devices[] = {"cpu:ref", "cpu:openblas"};

/* Each call that can be cancelled, on the world's handles. */
enum { CALLS = 10 };
static enum xf_status call(int number, const xf_batch *batch, xf_error *err) {
    static const char *const texts[] = {"one two"};
    xf_corpus *corpus = NULL;
    xf_tokenizer *tokenizer = NULL;
    xf_batcher *batcher = NULL;
    xf_hypotheses *hypotheses = NULL;
    double scores[64];
    xf_eval_stats stats = {.struct_size = sizeof stats};
    enum xf_status status;
    switch (number) {
        case 0:
            return xf_train_step(world.trainer, batch, 1, NULL, err);
        case 1:
            status = xf_train_accumulate(world.trainer, batch, NULL, err);
            return status == XF_OK ? xf_train_update(world.trainer, NULL, err) : status;
        case 2:
            status = xf_decode(world.decoder, batch, NULL, &hypotheses, err);
            break;
        case 3:
            status = xf_translate(world.decoder, texts, NULL, 1, NULL, &hypotheses, err);
            break;
        case 4:
            status = xf_score(world.decoder, batch, scores, err);
            break;
        case 5:
            status = xf_evaluate(world.decoder, batch, 1, &stats, err);
            break;
        case 6:
            status = xf_tokenizer_train(world.context, world.config, world.corpus, &tokenizer, err);
            break;
        case 7:
            status = xf_batcher_create(world.corpus, world.tokenizer, world.config, &batcher, err);
            break;
        case 8:
            status = xf_corpus_from_memory(world.context, NULL, "m", "a\tb\n", 4, &corpus, err);
            break;
        default:
            status = xf_corpus_open(world.context, NULL, scratch_path("pairs.tsv"), &corpus, err);
            break;
    }
    if (status != XF_OK) assert_true(!corpus && !tokenizer && !batcher && !hypotheses);
    xf_corpus_free(corpus);
    xf_tokenizer_free(tokenizer);
    xf_batcher_free(batcher);
    xf_hypotheses_free(hypotheses);
    return status;
}

/* A cancel while nothing runs does nothing. */
static void test_idle(void **state) {
    (void)state;
    FILE *file = fopen(scratch_path("pairs.tsv"), "w");
    fputs("a\tb\n", file);
    fclose(file);
    const xf_batch batch = next_batch(world.batcher);
    for (int i = 0; i < CALLS; ++i) {
        xf_context_cancel(world.context);
        xf_decoder_cancel(world.decoder);
        xf_trainer_cancel(world.trainer);
        ACCEPTED(call(i, &batch, err));
    }
    for (int i = 0; i < WRONG_HANDLES; ++i) {
        if (i != CONTEXT) xf_context_cancel(wrong_handle(i));
        if (i != DECODER) xf_decoder_cancel(wrong_handle(i));
        if (i != TRAINER) xf_trainer_cancel(wrong_handle(i));
    }
}

static xf_context *waiting;

static void cancel_it(int number) {
    (void)number;
    xf_context_cancel(waiting);
}

struct watch {
    xf_context *context;
    atomic_int stop;
    atomic_long delay_ns;
};

static void *cancel_often(void *arg) {
    struct watch *watch = arg;
    while (!atomic_load(&watch->stop)) {
        const struct timespec pause = {0, atomic_load(&watch->delay_ns)};
        nanosleep(&pause, NULL);
        xf_context_cancel(watch->context);
    }
    return NULL;
}

static void *close_later(void *arg) {
    const struct timespec pause = {0, 250000000};
    nanosleep(&pause, NULL);
    close((int)(intptr_t)arg);
    return NULL;
}

#define REFUSED_ONCE(expected, call)                                \
    do {                                                            \
        xf_error error_;                                            \
        xf_error *err = &error_;                                    \
        check_refusal((expected), (call), err, __FILE__, __LINE__); \
    } while (0)

/* A pipe whose writer is silent: cancelled by another thread, and by a handler whose signal restarts calls. */
static void test_silent_pipe(void **state) {
    (void)state;
    const char *path = scratch_path("pipe");
    remove(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const int writer = open(path, O_RDWR);
    assert_true(writer >= 0);
    xf_corpus *corpus = NULL;
    struct watch watch = {world.context, 0, 50000000};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_often, &watch), 0);
    REFUSED_ONCE(XF_ERROR_CANCELLED, xf_corpus_open(world.context, NULL, path, &corpus, err));
    atomic_store(&watch.stop, 1);
    pthread_join(thread, NULL);

    waiting = world.context;
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = cancel_it;
    action.sa_flags = SA_RESTART;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    const struct itimerval often = {{0, 50000}, {0, 50000}}, never = {{0, 0}, {0, 0}};
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    REFUSED_ONCE(XF_ERROR_CANCELLED, xf_corpus_open(world.context, NULL, path, &corpus, err));
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    sigaction(SIGALRM, &before, NULL);

    /* It goes on to read what comes. */
    assert_int_equal(write(writer, "a\tb\n", 4), 4);
    assert_int_equal(pthread_create(&thread, NULL, close_later, (void *)(intptr_t)writer), 0);
    ACCEPTED(xf_corpus_open(world.context, NULL, path, &corpus, err));
    assert_int_equal(xf_corpus_pair_count(corpus), 1);
    pthread_join(thread, NULL);
    xf_corpus_free(corpus);
}

struct reader {
    const char *path;
    enum xf_status status;
    atomic_int begun;
};

static void *read_pipe(void *arg) {
    struct reader *reader = arg;
    xf_corpus *corpus = NULL;
    atomic_store(&reader->begun, 1);
    reader->status = xf_corpus_open(world.context, NULL, reader->path, &corpus, NULL);
    pthread_testcancel();
    return NULL;
}

/* A thread that pthread_cancel() meets within a call ends after the call. */
static void test_pthread_cancel(void **state) {
    (void)state;
    const char *path = scratch_path("pipe");
    const int writer = open(path, O_RDWR);
    assert_true(writer >= 0);
    struct reader reader = {path, XF_OK, 0};
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, read_pipe, &reader), 0);
    while (!atomic_load(&reader.begun)) usleep(1000);
    usleep(50000);
    assert_int_equal(pthread_cancel(thread), 0);
    usleep(200000);
    struct watch watch = {world.context, 0, 20000000};
    pthread_t canceller;
    assert_int_equal(pthread_create(&canceller, NULL, cancel_often, &watch), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    atomic_store(&watch.stop, 1);
    pthread_join(canceller, NULL);
    close(writer);
    assert_int_equal(reader.status, XF_ERROR_CANCELLED);
    assert_ptr_equal(result, PTHREAD_CANCELED);
}

/* Two decoders work side by side: one is cancelled, the other goes on. */
struct side {
    xf_decoder *decoder;
    const xf_batch *batch;
    enum xf_status status;
    atomic_int *inside; /* how many of the two are in the middle of their call */
    atomic_int asked, go_on;
};

static int32_t wait_inside(void *user, const xf_prefix *prefix, uint32_t *allowed) {
    struct side *side = user;
    (void)prefix, (void)allowed;
    if (atomic_fetch_add(&side->asked, 1) == 0) atomic_fetch_add(side->inside, 1);
    while (!atomic_load(&side->go_on)) usleep(1000);
    return 0;
}

static void *decode_side(void *arg) {
    struct side *side = arg;
    xf_hypotheses *answers = NULL;
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    params.constraint = wait_inside;
    params.constraint_user = side;
    side->status = xf_decode(side->decoder, side->batch, &params, &answers, NULL);
    xf_hypotheses_free(answers);
    return NULL;
}

static void test_one_of_two(void **state) {
    (void)state;
    const xf_batch batch = next_batch(world.batcher);
    struct side sides[2];
    pthread_t threads[2];
    atomic_int inside = 0;
    for (int i = 0; i < 2; ++i) {
        sides[i] = (struct side){NULL, &batch, XF_OK, &inside, 0, 0};
        ACCEPTED(xf_decoder_create(world.model, world.config, &sides[i].decoder, err));
        assert_int_equal(pthread_create(&threads[i], NULL, decode_side, &sides[i]), 0);
    }
    while (atomic_load(&inside) < 2) usleep(1000);
    xf_decoder_cancel(sides[0].decoder);
    for (int i = 0; i < 2; ++i) atomic_store(&sides[i].go_on, 1);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    assert_int_equal(sides[0].status, XF_ERROR_CANCELLED);
    assert_int_equal(sides[1].status, XF_OK);
    for (int i = 0; i < 2; ++i) xf_decoder_free(sides[i].decoder);
}

/* A world of its own on a device; a larger model, so that a call takes long enough to be met. */
struct bench {
    xf_config *config;
    xf_context *context;
    xf_model *model;
    xf_trainer *trainer;
    xf_decoder *decoder;
};

static struct bench open_bench(const char *device) {
    struct bench b = {small_config(device), NULL, NULL, NULL, NULL};
    set(b.config, "model.vocab_size", "600");
    set(b.config, "model.decoder_layers", "3");
    ACCEPTED(xf_context_create(b.config, NULL, &b.context, err));
    ACCEPTED(xf_model_create(b.context, b.config, NULL, &b.model, err));
    ACCEPTED(xf_trainer_create(b.model, b.config, &b.trainer, err));
    ACCEPTED(xf_decoder_create(b.model, b.config, &b.decoder, err));
    return b;
}

static void close_bench(struct bench *b) {
    xf_decoder_free(b->decoder);
    xf_trainer_free(b->trainer);
    xf_model_free(b->model);
    xf_context_free(b->context);
    xf_config_free(b->config);
}

/* Steps that are cancelled at random places and made again give the bits of steps that never were. */
static void test_in_the_middle(void **state) {
    (void)state;
    enum { B = 12, LENGTH = 12 };
    int32_t ids[B * LENGTH], offsets[B + 1];
    for (int i = 0; i < B * LENGTH; ++i) ids[i] = i % LENGTH == LENGTH - 1 ? XF_TOKEN_END : 2 + (i * 37) % 500;
    for (int i = 0; i <= B; ++i) offsets[i] = i * LENGTH;
    const xf_batch batch = {sizeof batch, B, ids, offsets, ids, offsets, NULL};
    for (int d = 0; d < 2; ++d) {
        xf_context *there = context_on(devices[d]);
        xf_context_free(there);
        if (there == NULL) continue;
        struct bench calm = open_bench(devices[d]), stormy = open_bench(devices[d]);
        struct watch watch = {stormy.context, 0, 500000};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, cancel_often, &watch), 0);
        int cancelled_steps = 0, cancelled_decodes = 0;
        double scores[2][B];
        /* On a machine with other work a cancel may always come late: then more steps. */
        for (int step = 1; step <= 5 || (step <= 500 && (cancelled_steps == 0 || cancelled_decodes == 0)); ++step) {
            atomic_store(&watch.delay_ns, 500000);
            xf_step_stats expected = {.struct_size = sizeof expected}, found = {.struct_size = sizeof found};
            xf_hypotheses *answers[2] = {NULL, NULL};
            ACCEPTED(xf_train_step(calm.trainer, &batch, 1, &expected, err));
            enum xf_status status;
            while ((status = xf_train_step(stormy.trainer, &batch, 1, &found, NULL)) == XF_ERROR_CANCELLED) {
                ++cancelled_steps;
                atomic_store(&watch.delay_ns, watch.delay_ns * 4 / 3 % 900000000);
                assert_int_equal(xf_trainer_step_count(stormy.trainer), step - 1);
            }
            assert_int_equal(status, XF_OK);
            assert_memory_equal(&expected, &found, sizeof found);
            ACCEPTED(xf_decode(calm.decoder, &batch, NULL, &answers[0], err));
            while ((status = xf_decode(stormy.decoder, &batch, NULL, &answers[1], NULL)) == XF_ERROR_CANCELLED) {
                ++cancelled_decodes;
                atomic_store(&watch.delay_ns, watch.delay_ns * 4 / 3 % 900000000);
            }
            assert_int_equal(status, XF_OK);
            for (size_t i = 0; i < B; ++i) {
                xf_hypothesis a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
                ACCEPTED(xf_hypotheses_get(answers[0], i, 0, &a, err));
                ACCEPTED(xf_hypotheses_get(answers[1], i, 0, &b, err));
                assert_true(a.score == b.score && a.length == b.length);
            }
            for (int k = 0; k < 2; ++k) xf_hypotheses_free(answers[k]);
            ACCEPTED(xf_score(calm.decoder, &batch, scores[0], err));
            while ((status = xf_score(stormy.decoder, &batch, scores[1], NULL)) == XF_ERROR_CANCELLED)
                atomic_store(&watch.delay_ns, watch.delay_ns * 4 / 3 % 900000000);
            assert_memory_equal(scores[0], scores[1], sizeof *scores);
        }
        atomic_store(&watch.stop, 1);
        pthread_join(thread, NULL);
        size_t count;
        float *a = all_params(calm.model, &count), *b = all_params(stormy.model, &count);
        assert_memory_equal(a, b, count * sizeof *a);
        free(a);
        free(b);
        print_message("%s: %d steps and %d decodes were cancelled\n", devices[d], cancelled_steps, cancelled_decodes);
        assert_true(cancelled_steps > 0 && cancelled_decodes > 0);
        close_bench(&calm);
        close_bench(&stormy);
    }
}

/* A tokenizer that takes long enough is stopped while it learns. */
static void test_tokenizer(void **state) {
    (void)state;
    enum { BYTES = 1 << 19 };
    char *text = malloc(BYTES + 64);
    size_t length = 0;
    uint32_t seed = 1;
    while (length < BYTES) {
        for (int i = 0; i < 12; ++i) {
            seed = seed * 1664525u + 1013904223u;
            text[length++] = (char)(i == 6 ? '\t' : 'a' + seed / (1u << 28));
        }
        text[length++] = '\n';
    }
    xf_corpus *corpus = NULL;
    xf_tokenizer *out = SENTINEL;
    ACCEPTED(xf_corpus_from_memory(world.context, NULL, "m", text, length, &corpus, err));
    free(text);
    xf_config *config = small_config("cpu:ref");
    set(config, "tokenizer.vocab_size", "20000");
    struct watch watch = {world.context, 0, 3000000};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_often, &watch), 0);
    const enum xf_status status = xf_tokenizer_train(world.context, config, corpus, &out, NULL);
    atomic_store(&watch.stop, 1);
    pthread_join(thread, NULL);
    assert_int_equal(status, XF_ERROR_CANCELLED);
    assert_ptr_equal(out, SENTINEL);
    xf_corpus_free(corpus);
    xf_config_free(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_idle),           cmocka_unit_test(test_silent_pipe),
                                       cmocka_unit_test(test_pthread_cancel), cmocka_unit_test(test_one_of_two),
                                       cmocka_unit_test(test_in_the_middle),  cmocka_unit_test(test_tokenizer)};
    return RUN(tests, world_open, world_close);
}
