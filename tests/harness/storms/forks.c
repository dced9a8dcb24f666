/*
 * A process that forks while its threads train, decode, save, load, and create contexts. Each child ends within ten
 * seconds: it exits, executes another program, frees inherited handles, receives XF_ERROR_FORKED, or computes the same
 * results with a new context.
 *
 *     storm_forks [FORKS]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "battery.h"
#include "storm.h"

enum { TRAINS, DECODES, SAVES, CREATES, BUSY, KINDS = 6 };
static const char *device;
static long forks;

/* Handles of the threads that are busy, and of an idle one. */
static struct {
    xf_context *context;
    xf_trainer *trainer, *saved;
    xf_model *model;
    xf_decoder *decoder, *idle;
} parent;
static atomic_int stop;
static atomic_long calls;
static char path[64];

static void *be_busy(void *arg) {
    const int what = (int)(intptr_t)arg;
    xf_error err;
    for (int i = 0; !atomic_load(&stop); ++i) {
        const xf_batch batch = batch_of(i % BATCHES);
        uint64_t sum;
        OWNED(context) *context = NULL;
        OWNED(model) *model = NULL;
        switch (what) {
            case TRAINS:
                MUST(xf_train_step(parent.trainer, &batch, 1, NULL, NULL, &err));
                break;
            case DECODES:
                MUST(decode_hash(parent.decoder, i % BATCHES, 4, &sum, &err));
                break;
            case SAVES:
                MUST(save_trainer(parent.saved, NULL, path, &err));
                MUST(load_model(parent.context, path, &model, &err));
                break;
            default:
                context = context_on(device, "2");
                model = model_on(context, device);
        }
        atomic_fetch_add(&calls, 1);
    }
    return NULL;
}

/* The actions of a child; returns 0, or the line of the failed check. */
#define WANT(condition) \
    if (!(condition)) return __LINE__ % 100 + 100
static int child(int what, uint64_t expected) {
    const xf_batch batch = batch_of(0);
    xf_error err;
    uint64_t sum = 0;
    xf_model *model = NULL;
    switch (what) {
        case 0:
            return 0;
        case 1:
            execl("/bin/true", "true", (char *)NULL);
            return 99;
        case 2: /* as a garbage collector: of idle handles, and of those that a thread of the parent is using */
            xf_decoder_free(parent.idle);
            xf_decoder_free(parent.decoder);
            xf_trainer_free(parent.saved);
            xf_trainer_free(parent.trainer);
            xf_model_free(parent.model);
            xf_context_free(parent.context);
            return 0;
        case 3:
            xf_context_cancel(parent.context);
            WANT(xf_train_step(parent.trainer, &batch, 1, NULL, NULL, &err) == XF_ERROR_FORKED);
            WANT(decode_hash(parent.decoder, 0, 4, &sum, &err) == XF_ERROR_FORKED);
            WANT(decode_hash(parent.idle, 0, 4, &sum, &err) == XF_ERROR_FORKED);
            WANT(save_trainer(parent.saved, NULL, path, &err) == XF_ERROR_FORKED);
            WANT(save_model(parent.model, NULL, path, &err) == XF_ERROR_FORKED);
            WANT(load_model(parent.context, path, &model, &err) == XF_ERROR_FORKED);
            return 0;
        default: { /* a new context with one thread or two; a sanitizer allows no threads in a child */
            OWNED(context) *context = context_on(device, what == 4 || XF_TEST_SANITIZED ? "1" : "2");
            WANT(context != NULL);
            OWNED(model) *own = model_on(context, device);
            OWNED(config) *config = small_config(device, "1");
            OWNED(decoder) *decoder = NULL;
            OWNED(trainer) *trainer = trainer_on(context, device);
            WANT(xf_decoder_create(own, NULL, config, &decoder, &err) == XF_OK);
            WANT(decode_hash(decoder, 3, 4, &sum, &err) == XF_OK);
            WANT(sum == expected);
            WANT(xf_train_step(trainer, &batch, 1, NULL, NULL, &err) == XF_OK);
            return 0;
        }
    }
}

/* Forks inside a call of the same thread: the call completes in the parent and in the child. */
static pid_t forked;
static int32_t fork_within(void *user, const xf_constraint_step *step) {
    (void)step;
    if (*(int *)user != 0) return 0;
    *(int *)user = 1;
    fflush(NULL);
    forked = fork();
    if (forked == 0) alarm(10);
    return 0;
}

static void fork_in_a_call(xf_decoder *decoder) {
    const xf_batch batch = batch_of(3);
    xf_error err;
    xf_hypotheses *answers[2] = {NULL, NULL};
    xf_decode_params params = XF_DECODE_PARAMS_INIT;
    xf_hypothesis best[2] = {XF_HYPOTHESIS_INIT, XF_HYPOTHESIS_INIT};
    int done = 0;
    MUST(xf_decode(decoder, &batch, NULL, NULL, &answers[0], &err));
    const xf_constraint constraint = {sizeof constraint, fork_within, &done};
    params.constraint = &constraint;
    MUST(xf_decode(decoder, &batch, &params, NULL, &answers[1], &err));
    for (int i = 0; i < 2; ++i) MUST(xf_hypotheses_get(answers[i], 3, 0, &best[i], &err));
    const int same = best[0].score == best[1].score && best[0].id_count == best[1].id_count;
    for (int i = 0; i < 2; ++i) xf_hypotheses_free(answers[i]);
    if (forked == 0) {
        xf_decoder_free(decoder);
        _exit(same ? 0 : 1);
    }
    int status = 0;
    CHECK(done && forked > 0 && same && waitpid(forked, &status, 0) == forked);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Seconds that the slowest child of each kind took. */
static double slowest[KINDS];

static void fork_once(int what, uint64_t expected) {
    const double start = seconds_now();
    fflush(NULL);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(10); /* a child that hangs is killed, and seen */
        _exit(child(what, expected));
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    const double took = seconds_now() - start;
    if (took > slowest[what]) slowest[what] = took;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    fprintf(stderr, "%s: child of kind %d: %s %d\n", device, what, WIFEXITED(status) ? "status" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    exit(EXIT_FAILURE);
}

static void storm_on(const char *name, xf_context *context) {
    uint32_t seed = 20261123;
    xf_error err;
    uint64_t expected = 0, after = 0;
    OWNED(config) *config = small_config(name, "2");
    device = name;
    parent.context = context;
    snprintf(path, sizeof path, "xf_storm_%ld", (long)getpid());
    parent.model = model_on(context, name);
    parent.trainer = trainer_on(context, name);
    parent.saved = trainer_on(context, name);
    MUST(xf_decoder_create(parent.model, NULL, config, &parent.decoder, &err));
    MUST(xf_decoder_create(parent.model, NULL, config, &parent.idle, &err));
    MUST(decode_hash(parent.idle, 3, 4, &expected, &err));
    atomic_store(&stop, 0);
    atomic_store(&calls, 0);
    pthread_t threads[BUSY];
    for (int i = 0; i < BUSY; ++i) CHECK(pthread_create(&threads[i], NULL, be_busy, (void *)(intptr_t)i) == 0);
    for (long i = 0; i < forks / 2; ++i) {
        const struct timespec pause = {0, chance(&seed) % 2000000};
        nanosleep(&pause, NULL);
        fork_once((int)(i % KINDS), expected);
        if (i % KINDS == 0) fork_in_a_call(parent.idle);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < BUSY; ++i) pthread_join(threads[i], NULL);
    MUST(decode_hash(parent.idle, 3, 4, &after, &err)); /* the parent is as it was */
    CHECK(after == expected);
    printf(
        "%s: %ld forks during %ld calls of %d threads; slowest child %.2f s to exit, %.2f s to exec, %.2f s to free, "
        "%.2f s to be refused, %.2f s to compute\n",
        name, forks / 2, atomic_load(&calls), BUSY, slowest[0], slowest[1], slowest[2], slowest[3],
        slowest[4] > slowest[5] ? slowest[4] : slowest[5]);
    xf_decoder_free(parent.idle);
    xf_decoder_free(parent.decoder);
    xf_trainer_free(parent.trainer);
    xf_trainer_free(parent.saved);
    xf_model_free(parent.model);
    remove_files(path);
}

int main(int argc, char **argv) {
    forks = amount(argc, argv, 120);
    on_each_device("2", storm_on);
    return 0;
}
