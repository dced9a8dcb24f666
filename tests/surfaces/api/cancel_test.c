/*
 * Cancelling by flag and by context: before a call, while nothing runs, from another thread or a signal handler in the
 * middle of a call, one decoder of two; deadlines; and that nothing changed by it. And pthread_cancel(), which is not
 * the library's business.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Each call that can be cancelled, on the world's handles. */
enum { CALLS = 22 };
static xf_status dispatch(int number, const xf_batch *batch, const xf_call *call, struct world *made, xf_error *err) {
    static const char *const texts[] = {"one two"}, *const answers[] = {"eins zwei"};
    const xf_source sources[2] = {XF_SOURCE_PATH(scratch_path("model")), XF_SOURCE_PATH(scratch_path("checkpoint"))};
    const xf_source tokenizer_source = XF_SOURCE_PATH(scratch_path("tokenizer"));
    const xf_sink sink = XF_SINK_PATH(scratch_path("saved"));
    double scores[64];
    xf_eval_stats stats = XF_EVAL_STATS_INIT;
    xf_status status;
    if (number == 0) return xf_train_step(world.trainer, batch, 1, call, NULL, err);
    if (number == 1) {
        status = xf_train_accumulate(world.trainer, batch, call, NULL, err);
        return status == XF_OK ? xf_train_update(world.trainer, NULL, err) : status;
    }
    if (number == 2) {
        status = xf_train_next(world.trainer, world.batcher, call, NULL, err);
        return status == XF_DONE ? xf_train_next(world.trainer, world.batcher, call, NULL, err) : status;
    }
    if (number == 3) return xf_decode(world.decoder, batch, NULL, call, &made->hypotheses, err);
    if (number == 4) return xf_translate(world.decoder, texts, NULL, 1, NULL, call, &made->hypotheses, err);
    if (number == 5) return xf_score(world.decoder, batch, call, scores, err);
    if (number == 6) return xf_score_texts(world.decoder, texts, NULL, answers, NULL, 1, call, scores, NULL, err);
    if (number == 7) return xf_evaluate(world.decoder, world.batcher, call, &stats, err);
    if (number == 8) return xf_tokenizer_train(world.context, world.corpus, world.config, call, &made->tokenizer, err);
    if (number == 9) return xf_batcher_create(world.corpus, world.tokenizer, world.config, call, &made->batcher, err);
    if (number == 10)
        return xf_corpus_from_pairs(world.context, texts, NULL, texts, NULL, 1, NULL, call, &made->corpus, err);
    if (number == 11)
        return xf_corpus_open(world.context, scratch_path("pairs.tsv"), NULL, NULL, call, &made->corpus, err);
    if (number == 12) return xf_corpus_from_ids(world.context, batch, call, &made->corpus, err);
    if (number == 13) return xf_model_load(world.context, &sources[0], NULL, call, &made->model, err);
    if (number == 14) return xf_model_save(world.model, NULL, call, &sink, err);
    if (number == 15) return xf_model_average(world.context, sources, 2, call, &made->model, err);
    if (number == 16) return xf_model_copy(world.model, NULL, NULL, call, &made->model, err);
    if (number == 17) return xf_trainer_save(world.trainer, NULL, call, &sink, err);
    if (number == 18) return xf_trainer_resume(world.context, &sources[1], NULL, call, &made->trainer, err);
    if (number == 19)
        return xf_corpus_encode(world.context, scratch_path("pairs.tsv"), NULL, world.tokenizer, NULL, call,
                                scratch_path("cancel.encoded"), err);
    if (number == 20)
        return xf_corpus_open(world.context, scratch_path("cancel.encoded"), NULL, NULL, call, &made->corpus, err);
    status = xf_tokenizer_load(world.context, &tokenizer_source, call, &made->tokenizer, err);
    return status == XF_OK ? xf_tokenizer_save(world.tokenizer, call, &sink, err) : status;
}

static xf_status call_number(int number, const xf_batch *batch, const xf_call *call, xf_error *err) {
    static const struct world none;
    struct world made = none;
    const xf_status status = dispatch(number, batch, call, &made, err);
    if (status != XF_OK) assert_memory_equal(&made, &none, sizeof made);
    free_objects(&made);
    return status;
}

static void write_files(void) {
    write_file(scratch_path("pairs.tsv"), "a\tb\n", 4);
    ACCEPTED(save_model(world.model, NULL, scratch_path("model"), err));
    ACCEPTED(save_trainer(world.trainer, NULL, scratch_path("checkpoint"), err));
    ACCEPTED(save_tokenizer(world.tokenizer, scratch_path("tokenizer"), err));
}

/* Cancelling a context on which nothing runs has no effect. */
TEST(idle) {
    write_files();
    const xf_batch batch = next_batch(world.batcher);
    for (int i = 0; i < CALLS; ++i) {
        xf_context_cancel(world.context);
        ACCEPTED(call_number(i, &batch, NULL, err));
    }
}

/* A flag that is set before the call stops every call, every time, and changes nothing. */
TEST(set_before) {
    write_files();
    int32_t flag = 1;
    const xf_call call = {sizeof call, &flag, 0, NULL, NULL};
    const int64_t steps = xf_trainer_step_count(world.trainer);
    size_t count;
    OWNED_MEMORY float *before = all_params(world.model, &count);
    remove(scratch_path("saved"));
    int cancelled = 0;
    for (int round = 0; round < 15; ++round)
        for (int i = 0; i < CALLS; ++i) {
            xf_error error;
            const xf_status status = call_number(i, &two_pairs, &call, &error);
            if (status != XF_ERROR_CANCELLED) print_message("call %d: %s\n", i, xf_status_name(status));
            cancelled += status == XF_ERROR_CANCELLED && error.status == status;
        }
    assert_int_equal(cancelled, 15 * CALLS);
    assert_int_equal(xf_trainer_step_count(world.trainer), steps);
    assert_int_equal(access(scratch_path("saved"), F_OK), -1);
    OWNED_MEMORY float *after = all_params(world.model, &count);
    assert_memory_equal(before, after, count * sizeof *before);
    REFUSED(XF_ERROR_STATE, nothing, xf_train_update(world.trainer, NULL, err)); /* no gradients are pending */
    flag = 0;
    for (int i = 0; i < CALLS; ++i) ACCEPTED(call_number(i, &two_pairs, &call, err));
}

/* A call of another version is refused by every function. */
TEST(struct) {
    write_files();
    struct {
        xf_call known;
        void *tail;
    } c = {XF_CALL_INIT, NULL};
    const size_t sizes[] = {0, sizeof c.known - 1, SIZE_MAX};
    for (int i = 0; i < CALLS; ++i) {
        for (int k = 0; k < 3; ++k) {
            c.known.struct_size = sizes[k];
            REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, call_number(i, &two_pairs, &c.known, err));
        }
        c.known.struct_size = sizeof c;
        c.tail = &c;
        REFUSED(XF_ERROR_UNSUPPORTED, nothing, call_number(i, &two_pairs, &c.known, err));
        c.tail = NULL;
        ACCEPTED(call_number(i, &two_pairs, &c.known, err));
        c.known.deadline_ms = -1;
        REFUSED(XF_ERROR_OUT_OF_RANGE, nothing, call_number(i, &two_pairs, &c.known, err));
        c.known.deadline_ms = 0;
    }
}

static xf_context *waiting;

static void cancel_it(int number) {
    (void)number;
    xf_context_cancel(waiting);
}

static volatile int32_t flag_of_handler;

static void set_flag(int number) {
    (void)number;
    flag_of_handler = 1;
}

struct watch {
    xf_context *context;
    atomic_int stop;
    atomic_llong delay_ns;
};

static void *cancel_often(void *arg) {
    struct watch *watch = arg;
    while (!atomic_load(&watch->stop)) {
        const long long delay = atomic_load(&watch->delay_ns);
        const struct timespec pause = {(time_t)(delay / 1000000000), (long)(delay % 1000000000)};
        nanosleep(&pause, NULL);
        xf_context_cancel(watch->context);
    }
    return NULL;
}

/* Closes the writing end of a pipe when it has been read. */
static void *close_later(void *arg) {
    const int fd = (int)(intptr_t)arg;
    const struct timespec pause = {0, 1000000};
    int left = 1;
    while (ioctl(fd, FIONREAD, &left) == 0 && left > 0) nanosleep(&pause, NULL);
    close(fd);
    return NULL;
}

#define REFUSED_ONCE(expected, call)                                \
    do {                                                            \
        xf_error error_;                                            \
        xf_error *err = &error_;                                    \
        check_refusal((expected), (call), err, __FILE__, __LINE__); \
    } while (0)

/* A pipe whose writer is silent: cancelled by another thread, and by a handler whose signal restarts calls. */
TEST(silent_pipe) {
    const char *path = scratch_path("pipe");
    remove(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const int writer = open(path, O_RDWR);
    assert_true(writer >= 0);
    OWNED_CORPUS *corpus = NULL;
    struct watch watch = {world.context, 0, 50000000};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_often, &watch), 0);
    REFUSED_ONCE(XF_ERROR_CANCELLED, xf_corpus_open(world.context, path, NULL, NULL, NULL, &corpus, err));
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
    REFUSED_ONCE(XF_ERROR_CANCELLED, xf_corpus_open(world.context, path, NULL, NULL, NULL, &corpus, err));
    /* The same with a flag, which a handler may set. */
    const xf_call call = {sizeof call, &flag_of_handler, 0, NULL, NULL};
    action.sa_handler = set_flag;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    flag_of_handler = 0;
    REFUSED_ONCE(XF_ERROR_CANCELLED, xf_corpus_open(world.context, path, NULL, NULL, &call, &corpus, err));
    assert_int_equal(flag_of_handler, 1);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    sigaction(SIGALRM, &before, NULL);

    /* And with a deadline. */
    const xf_call brief = {sizeof brief, NULL, 100, NULL, NULL};
    REFUSED_ONCE(XF_ERROR_DEADLINE, xf_corpus_open(world.context, path, NULL, NULL, &brief, &corpus, err));

    /* It continues reading. */
    assert_int_equal(write(writer, "a\tb\n", 4), 4);
    assert_int_equal(pthread_create(&thread, NULL, close_later, (void *)(intptr_t)writer), 0);
    ACCEPTED(xf_corpus_open(world.context, path, NULL, NULL, NULL, &corpus, err));
    assert_int_equal(xf_corpus_pair_count(corpus), 1);
    pthread_join(thread, NULL);
}

struct reader {
    const char *path;
    xf_status status;
    atomic_int begun;
};

static void *read_pipe(void *arg) {
    struct reader *reader = arg;
    xf_corpus *corpus = NULL;
    atomic_store(&reader->begun, 1);
    reader->status = xf_corpus_open(world.context, reader->path, NULL, NULL, NULL, &corpus, NULL);
    pthread_testcancel();
    return NULL;
}

/* A thread that pthread_cancel() meets within a call ends after the call. */
TEST(pthread_cancel) {
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

/* Two decoders work at the same time: one is cancelled, the other continues. */
struct side {
    xf_decoder *decoder;
    const xf_batch *batch;
    xf_status status;
    atomic_int *inside; /* how many of the two are in the middle of their call */
    atomic_int asked, go_on;
    volatile int32_t cancelled;
};

static int32_t wait_inside(void *user, const xf_constraint_step *step) {
    struct side *side = user;
    (void)step;
    if (atomic_fetch_add(&side->asked, 1) == 0) atomic_fetch_add(side->inside, 1);
    while (!atomic_load(&side->go_on)) usleep(1000);
    return 0;
}

static void *decode_side(void *arg) {
    struct side *side = arg;
    OWNED_HYPOTHESES *answers = NULL;
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    const xf_constraint constraint = {sizeof constraint, wait_inside, side};
    const xf_call call = {sizeof call, &side->cancelled, 0, NULL, NULL};
    params.constraint = &constraint;
    side->status = xf_decode(side->decoder, side->batch, &params, &call, &answers, NULL);
    return NULL;
}

TEST(one_of_two) {
    const xf_batch batch = next_batch(world.batcher);
    struct side sides[2];
    pthread_t threads[2];
    atomic_int inside = 0;
    for (int i = 0; i < 2; ++i) {
        sides[i] = (struct side){NULL, &batch, XF_OK, &inside, 0, 0, 0};
        ACCEPTED(xf_decoder_create(world.model, NULL, world.config, &sides[i].decoder, err));
        assert_int_equal(pthread_create(&threads[i], NULL, decode_side, &sides[i]), 0);
    }
    while (atomic_load(&inside) < 2) usleep(1000);
    sides[0].cancelled = 1;
    for (int i = 0; i < 2; ++i) atomic_store(&sides[i].go_on, 1);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    assert_int_equal(sides[0].status, XF_ERROR_CANCELLED);
    assert_int_equal(sides[1].status, XF_OK);
    for (int i = 0; i < 2; ++i) xf_decoder_free(sides[i].decoder);
}

/* Separate objects on a device, with a larger model, so that a call runs long enough to be cancelled. */
struct bench {
    xf_config *config;
    xf_context *context;
    xf_model *model;
    xf_trainer *trainer;
    xf_decoder *decoder;
};

static struct bench open_bench(const char *device) {
    struct bench b = {config_with(device, "model.vocab_size=600 model.decoder_layers=3"), NULL, NULL, NULL, NULL};
    ACCEPTED(xf_context_create(b.config, NULL, &b.context, err));
    ACCEPTED(xf_model_create(b.context, NULL, b.config, &b.model, err));
    ACCEPTED(xf_trainer_create(b.model, b.config, &b.trainer, err));
    ACCEPTED(xf_decoder_create(b.model, NULL, b.config, &b.decoder, err));
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
TEST(in_the_middle) {
    enum { B = 12 };
    const xf_batch batch = make_batch(B, 12, 500);
    ON_EACH_DEVICE(d) {
        struct bench calm = open_bench(cpu_devices[d]), stormy = open_bench(cpu_devices[d]);
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
            ACCEPTED(xf_train_step(calm.trainer, &batch, 1, NULL, &expected, err));
            xf_status status;
            while ((status = xf_train_step(stormy.trainer, &batch, 1, NULL, &found, NULL)) == XF_ERROR_CANCELLED) {
                ++cancelled_steps;
                atomic_store(&watch.delay_ns, watch.delay_ns * 4 / 3);
                assert_int_equal(xf_trainer_step_count(stormy.trainer), step - 1);
            }
            assert_int_equal(status, XF_OK);
            assert_memory_equal(&expected, &found, sizeof found);
            ACCEPTED(xf_decode(calm.decoder, &batch, NULL, NULL, &answers[0], err));
            while ((status = xf_decode(stormy.decoder, &batch, NULL, NULL, &answers[1], NULL)) == XF_ERROR_CANCELLED) {
                ++cancelled_decodes;
                atomic_store(&watch.delay_ns, watch.delay_ns * 4 / 3);
            }
            assert_int_equal(status, XF_OK);
            for (size_t i = 0; i < B; ++i) {
                const xf_hypothesis a = get_hypothesis(answers[0], i, 0), b = get_hypothesis(answers[1], i, 0);
                assert_true(a.score == b.score && a.id_count == b.id_count);
            }
            for (int k = 0; k < 2; ++k) xf_hypotheses_free(answers[k]);
            ACCEPTED(xf_score(calm.decoder, &batch, NULL, scores[0], err));
            while ((status = xf_score(stormy.decoder, &batch, NULL, scores[1], NULL)) == XF_ERROR_CANCELLED)
                atomic_store(&watch.delay_ns, watch.delay_ns * 4 / 3);
            assert_memory_equal(scores[0], scores[1], sizeof *scores);
        }
        atomic_store(&watch.stop, 1);
        pthread_join(thread, NULL);
        size_t count;
        OWNED_MEMORY float *a = all_params(calm.model, &count), *b = all_params(stormy.model, &count);
        assert_memory_equal(a, b, count * sizeof *a);
        print_message("%s: %d steps and %d decodes were cancelled\n", cpu_devices[d], cancelled_steps,
                      cancelled_decodes);
        assert_true(cancelled_steps > 0 && cancelled_decodes > 0);
        close_bench(&calm);
        close_bench(&stormy);
    }
}

/* A tokenizer that takes long enough is stopped while it learns. */
TEST(tokenizer) {
    enum { BYTES = 1 << 19 };
    OWNED_MEMORY char *text = malloc(BYTES + 64);
    size_t length = 0;
    uint32_t seed = 1;
    while (length < BYTES) {
        for (int i = 0; i < 12; ++i) {
            seed = seed * 1664525u + 1013904223u;
            text[length++] = (char)(i == 6 ? '\t' : 'a' + seed / (1u << 28));
        }
        text[length++] = '\n';
    }
    xf_tokenizer *out = SENTINEL;
    MAKE(corpus, corpus, corpus_from_text(world.context, NULL, text, length, &corpus, err));
    OWNED_CONFIG *config = config_with("cpu:ref", "tokenizer.vocab_size=20000");
    struct watch watch = {world.context, 0, 3000000};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_often, &watch), 0);
    const xf_status status = xf_tokenizer_train(world.context, corpus, config, NULL, &out, NULL);
    atomic_store(&watch.stop, 1);
    pthread_join(thread, NULL);
    assert_int_equal(status, XF_ERROR_CANCELLED);
    assert_ptr_equal(out, SENTINEL);
}

/* The deadline of a call that cannot return part of its result. */
static int32_t slow_read(void *user, uint64_t offset, void *dst, size_t bytes) {
    const unsigned char *data = user;
    usleep(20000);
    memcpy(dst, data + offset, bytes);
    return 0;
}

TEST(deadlines) {
    write_files();
    const xf_call call = {sizeof call, NULL, 1, NULL, NULL};
    size_t size = 0;
    const char *const names[] = {"model", "checkpoint", "tokenizer"};
    for (int i = 0; i < 3; ++i) {
        OWNED_MEMORY unsigned char *data = file_bytes(scratch_path(names[i]), &size);
        xf_source source = XF_SOURCE_INIT;
        source.kind = XF_IO_CALLBACK;
        source.read = slow_read;
        source.user = data;
        source.size = size;
        xf_model *model = NULL;
        xf_trainer *trainer = NULL;
        xf_tokenizer *tokenizer = NULL;
        if (i == 0) REFUSED(XF_ERROR_DEADLINE, model, xf_model_load(world.context, &source, NULL, &call, &model, err));
        if (i == 0) REFUSED(XF_ERROR_DEADLINE, model, xf_model_average(world.context, &source, 1, &call, &model, err));
        if (i == 1)
            REFUSED(XF_ERROR_DEADLINE, trainer, xf_trainer_resume(world.context, &source, NULL, &call, &trainer, err));
        if (i == 2)
            REFUSED(XF_ERROR_DEADLINE, tokenizer, xf_tokenizer_load(world.context, &source, &call, &tokenizer, err));
    }
    /* A step that takes longer than its deadline is not made. */
    struct bench b = open_bench("cpu:ref");
    enum { B = 60 };
    const xf_batch batch = make_batch(B, 60, 500);
    size_t count;
    OWNED_MEMORY float *before = all_params(b.model, &count);
    double scores[B];
    xf_step_stats stats = XF_STEP_STATS_INIT;
    memset(scores, 0x5A, sizeof scores);
    REFUSED(XF_ERROR_DEADLINE, stats, xf_train_step(b.trainer, &batch, 1, &call, &stats, err));
    REFUSED(XF_ERROR_DEADLINE, stats, xf_train_accumulate(b.trainer, &batch, &call, &stats, err));
    REFUSED(XF_ERROR_STATE, stats, xf_train_update(b.trainer, &stats, err));
    REFUSED(XF_ERROR_DEADLINE, scores, xf_score(b.decoder, &batch, &call, scores, err));
    OWNED_MEMORY float *after = all_params(b.model, &count);
    assert_memory_equal(before, after, count * sizeof *before);
    assert_int_equal(xf_trainer_step_count(b.trainer), 0);
    /* A search returns what it has: hypotheses that are not complete, or the status of a sentence that was not begun.
     */
    MAKE(hypotheses, found, xf_decode(b.decoder, &batch, NULL, &call, &found, err));
    int late = 0;
    for (size_t i = 0; i < B; ++i) {
        xf_sentence_info info = XF_SENTENCE_INFO_INIT;
        ACCEPTED(xf_hypotheses_get_sentence(found, i, &info, err));
        assert_true(info.status == XF_OK || info.status == XF_ERROR_DEADLINE);
        late += info.status != XF_OK || !get_hypothesis(found, i, 0).complete;
    }
    assert_true(late > 0);
    const xf_call enough = {sizeof enough, NULL, 600000, NULL, NULL};
    ACCEPTED(xf_train_step(b.trainer, &batch, 1, &enough, &stats, err));
    close_bench(&b);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
