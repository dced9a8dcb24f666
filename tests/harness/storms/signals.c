/*
 * A host whose timers fire a thousand times a second, and whose threads signal each other, with handlers that restart
 * no system call. Training, decoding, saving and loading give the bytes that they give in a calm, and no call fails.
 *
 *     storm_signals [ROUNDS]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <unistd.h>

#include "battery.h"
#include "storm.h"

static atomic_long seen;
static long rounds;
static xf_context *_Atomic idle;

/* May cancel an idle context, which affects no other. */
static void handle(int number) {
    (void)number;
    atomic_fetch_add(&seen, 1);
    xf_context_cancel(atomic_load(&idle));
}

struct sender {
    pthread_t to;
    atomic_int stop;
};

static void *send_often(void *arg) {
    struct sender *sender = arg;
    while (!atomic_load(&sender->stop)) {
        const struct timespec pause = {0, 100000};
        pthread_kill(sender->to, SIGUSR1);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void storm_on(const char *device, xf_context *context) {
    char path[64];
    uint64_t calm[RESULTS], found[RESULTS];
    atomic_store(&idle, context);
    snprintf(path, sizeof path, "xf_storm_%ld", (long)getpid());
    work(device, path, calm, NULL);

    const struct sigaction action = {.sa_handler = handle}; /* without SA_RESTART */
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0 && setitimer(ITIMER_PROF, &often, NULL) == 0);
    struct sender sender = {pthread_self(), 0};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, send_often, &sender) == 0);
    const double start = seconds_now();
    const long before = atomic_load(&seen);
    for (long i = 0; i < rounds; ++i) {
        work(device, path, found, NULL);
        CHECK(memcmp(found, calm, sizeof calm) == 0);
    }
    const double took = seconds_now() - start;
    const long signals = atomic_load(&seen) - before;
    atomic_store(&sender.stop, 1);
    pthread_join(thread, NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    setitimer(ITIMER_PROF, &never, NULL);
    printf("%s: %ld rounds under %ld signals in %.1f s: the same bytes\n", device, rounds, signals, took);
    CHECK(XF_TEST_SANITIZED || signals > rounds); /* a sanitizer puts them off */
    remove_files(path);
    atomic_store(&idle, NULL);
}

int main(int argc, char **argv) {
    rounds = amount(argc, argv, 10);
    on_each_device("2", storm_on);
    return 0;
}
