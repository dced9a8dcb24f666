/*
 * Eight threads create, use, cancel, and free handles as fast as possible, in a private context each and in a shared
 * one. They also free or cancel objects that another thread is using. Each status is one that the headers allow, each
 * result is equal to that of an undisturbed run, and no memory of the context, threads, or descriptors remain.
 *
 *     storm_lives [LIVES [SEED]]
 *
 * A handle that is freed in a call's middle belongs to that call, which began before (it says so from within, by a
 * constraint or a progress function): to begin a call on a freed handle is the host's error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "storm.h"

enum { THREADS = 8 };

static struct {
    const char *device;
    xf_context *shared;
    uint64_t decoded, trained; /* by a life without a storm */
    long lives;
    uint32_t seed;
    atomic_long next, cancelled, freed_in_use, whole;
} storm;

/* A helper thread that strikes while a call runs: cancels, or frees. */
struct strike {
    _Atomic int32_t cancelled; /* the flag of its calls */
    xf_decoder *decoder;
    xf_trainer *trainer;
    int frees;
    int64_t after_ns;
    atomic_int inside, over;
};

static void *strike_once(void *arg) {
    struct strike *strike = arg;
    const struct timespec pause = {0, strike->after_ns};
    while (strike->frees && !atomic_load(&strike->inside)) sched_yield();
    nanosleep(&pause, NULL);
    if (strike->frees) {
        xf_decoder_free(strike->decoder);
        xf_trainer_free(strike->trainer);
        return NULL;
    }
    for (int shots = strike->after_ns % 2 ? 4 : 1; shots > 0 && !atomic_load(&strike->over); --shots) {
        atomic_store(&strike->cancelled, 1);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static xf_call call_of(struct strike *strike) {
    xf_call call = XF_CALL_INIT;
    call.cancelled = (const volatile int32_t *)&strike->cancelled;
    return call;
}

static int32_t tell(void *user, const xf_constraint_step *step) {
    struct strike *strike = user;
    (void)step;
    atomic_store(&strike->inside, 1);
    sched_yield();
    return 0;
}

/* A call that a strike may meet: its status is right, and so is its answer when it has one. */
static void decode_in_storm(xf_decoder *decoder, struct strike *strike, pthread_t thread) {
    const xf_batch batch = batch_of(2);
    xf_error err;
    OWNED(hypotheses) *answers = NULL;
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    const xf_constraint constraint = {sizeof constraint, tell, strike};
    const xf_call call = call_of(strike);
    params.constraint = &constraint;
    const xf_status status = xf_decode(decoder, &batch, &params, &call, &answers, &err);
    atomic_store(&strike->over, 1);
    pthread_join(thread, NULL);
    if (status == XF_ERROR_CANCELLED && !strike->frees) {
        CHECK(answers == NULL);
        atomic_fetch_add(&storm.cancelled, 1);
        return;
    }
    MUST(status);
    uint64_t decoded = XF_TEST_FNV_INIT;
    hash_answers(answers, &decoded);
    CHECK(decoded == storm.decoded);
    atomic_fetch_add(strike->frees ? &storm.freed_in_use : &storm.whole, 1);
}

/* With a strike the calls may be cancelled; the results are the same. */
static uint64_t train_steps(xf_trainer *trainer, struct strike *strike) {
    uint64_t sum = XF_TEST_FNV_INIT;
    for (int i = 0; i < 2;) {
        const xf_batch batch = batch_of(i);
        xf_error err;
        xf_step_stats stats = XF_STEP_STATS_INIT;
        xf_call call = XF_CALL_INIT;
        if (strike != NULL) call = call_of(strike);
        const xf_status status = xf_train_step(trainer, &batch, 1, &call, &stats, &err);
        if (status == XF_ERROR_CANCELLED && strike != NULL) {
            atomic_fetch_add(&storm.cancelled, 1);
            atomic_store(&strike->cancelled, 0);
            continue;
        }
        MUST(status);
        fnv_add(&sum, &stats, sizeof stats);
        ++i;
    }
    return sum;
}

/* The host's executor tells that a step has begun. */
static void run_and_tell(void *user, const xf_job *job) {
    struct strike *strike = user;
    atomic_store(&strike->inside, 1);
    sched_yield();
    for (int32_t i = 0; i < job->count; ++i) job->run(job->arg, i);
}

/* The trainer, its model and its context are freed in the middle of a step. */
static void free_in_a_step(uint32_t *seed) {
    struct strike strike = {.frees = 1, .after_ns = chance(seed) % 200000};
    const xf_batch batch = batch_of(0);
    xf_error err;
    xf_context *context = NULL;
    xf_step_stats stats = XF_STEP_STATS_INIT;
    xf_host host = XF_HOST_INIT;
    host.parallel = run_and_tell;
    host.parallel_user = &strike;
    OWNED(config) *config = small_config(storm.device, "2");
    MUST(xf_context_create(config, &host, &context, &err));
    xf_trainer *trainer = trainer_on(context, storm.device);
    xf_context_free(context);
    MUST(xf_train_step(trainer, &batch, 1, NULL, &stats, &err)); /* workspaces are there */
    atomic_store(&strike.inside, 0);
    strike.trainer = trainer;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, strike_once, &strike) == 0);
    uint64_t sum = XF_TEST_FNV_INIT;
    fnv_add(&sum, &stats, sizeof stats);
    const xf_batch next = batch_of(1);
    MUST(xf_train_step(trainer, &next, 1, NULL, &stats, &err));
    pthread_join(thread, NULL);
    fnv_add(&sum, &stats, sizeof stats);
    CHECK(sum == storm.trained);
    atomic_fetch_add(&storm.freed_in_use, 1);
}

static void live(uint32_t *seed) {
    if (chance(seed) % 5 == 0) {
        free_in_a_step(seed);
        return;
    }
    xf_error err;
    static const char *const threads[] = {"1", "2", "3"};
    const int own = chance(seed) % 2 == 0, what = (int)(chance(seed) % 3);
    xf_context *context = own ? context_on(storm.device, threads[chance(seed) % 3]) : storm.shared;
    OWNED(trainer) *trainer = trainer_on(context, storm.device);
    OWNED(config) *config = small_config(storm.device, "1");
    OWNED(model) *model = model_on(context, storm.device);
    OWNED(decoder) *decoder = NULL;
    MUST(xf_decoder_create(model, NULL, config, &decoder, &err));
    if (own) xf_context_free(context); /* its children hold it */
    if (chance(seed) % 2 == 0) {
        xf_model_free(model);
        model = NULL;
    }
    struct strike strike = {.frees = what == 0, .after_ns = chance(seed) % 400000};
    pthread_t thread;
    if (what == 2) { /* the trainer is cancelled; what it learns is what it learns */
        strike.trainer = trainer;
        CHECK(pthread_create(&thread, NULL, strike_once, &strike) == 0);
        const uint64_t trained = train_steps(trainer, &strike);
        atomic_store(&strike.over, 1);
        pthread_join(thread, NULL);
        CHECK(trained == storm.trained);
    } else { /* the decoder is cancelled, or freed */
        strike.decoder = decoder;
        CHECK(pthread_create(&thread, NULL, strike_once, &strike) == 0);
        decode_in_storm(decoder, &strike, thread);
        if (strike.frees) decoder = NULL;
        CHECK(train_steps(trainer, NULL) == storm.trained);
    }
}

static void *live_often(void *arg) {
    uint32_t seed = (uint32_t)(uintptr_t)arg;
    while (atomic_fetch_add(&storm.next, 1) < storm.lives) live(&seed);
    return NULL;
}

/* The results of an undisturbed run. */
static void learn(void) {
    const xf_batch batch = batch_of(2);
    xf_error err;
    OWNED(hypotheses) *answers = NULL;
    OWNED(decoder) *decoder = NULL;
    OWNED(config) *config = small_config(storm.device, "1");
    OWNED(model) *model = model_on(storm.shared, storm.device);
    OWNED(trainer) *trainer = trainer_on(storm.shared, storm.device);
    MUST(xf_decoder_create(model, NULL, config, &decoder, &err));
    MUST(xf_decode(decoder, &batch, NULL, NULL, &answers, &err));
    storm.decoded = XF_TEST_FNV_INIT;
    hash_answers(answers, &storm.decoded);
    storm.trained = train_steps(trainer, NULL);
}

static void storm_on(const char *device, xf_context *context) {
    xf_error err;
    xf_memory_stats before = XF_MEMORY_STATS_INIT, after = XF_MEMORY_STATS_INIT;
    storm.device = device;
    storm.shared = context;
    learn();
    MUST(xf_context_get_memory(context, &before, &err));
    const int threads_before = count_entries("/proc/self/task"), files_before = count_entries("/proc/self/fd");
    atomic_store(&storm.next, 0);
    atomic_store(&storm.cancelled, 0);
    atomic_store(&storm.freed_in_use, 0);
    pthread_t threads[THREADS];
    const double start = seconds_now();
    for (uint32_t i = 0; i < THREADS; ++i)
        CHECK(pthread_create(&threads[i], NULL, live_often, (void *)(uintptr_t)(storm.seed + i)) == 0);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    const double took = seconds_now() - start;
    MUST(xf_context_get_memory(context, &after, &err));
    printf("%s: %ld lives on %d threads in %.1f s, %ld calls cancelled, %ld handles freed in use\n", device,
           storm.lives, THREADS, took, atomic_load(&storm.cancelled), atomic_load(&storm.freed_in_use));
    CHECK(count_threads(threads_before) == threads_before && count_entries("/proc/self/fd") == files_before);
    CHECK(after.current == before.current);
    CHECK(atomic_load(&storm.cancelled) > 0 && atomic_load(&storm.freed_in_use) > 0);
}

int main(int argc, char **argv) {
    storm.seed = argc > 2 ? (uint32_t)atol(argv[2]) : 4711;
    storm.lives = amount(argc, argv, 400) / 2;
    on_each_device("2", storm_on);
    return 0;
}
