/*
 * Train, save, resume, decode, cancel, fail, free: the same cycle for hours. The results are the same in each cycle,
 * and the process has no more resources at the end than after warming up.
 *
 *     soak SECONDS [DEVICE...]    devices take turns; cpu:ref and cpu:openblas when none is named
 *
 * A line a minute says how it goes, and each ten minutes and the end have a table: what was held, and the slope of the
 * straight line through it, in bytes an hour. 1: something grows, or came out differently. SIGTERM ends it early, with
 * a judgement.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "../../surfaces/hosts/host.h"
#include "held.h"
#include "work.h"

enum { SAMPLES = 4096, DEVICES = 4, TURNS = 2 };

static struct sample samples[SAMPLES];
static volatile sig_atomic_t stop;

static void end_early(int number) {
    (void)number;
    stop = 1;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void remove_folder(const char *path) {
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.') unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(path);
}

/* A fifth of the time is for warming up: the heap's arenas find their sizes. */
static int judge_so_far(int count, double spent) {
    int first = 0;
    while (first < count - 2 && samples[first].seconds < spent / 5) ++first;
    const int grown = judge(samples, first, count);
    fflush(stdout);
    return grown;
}

int main(int argc, char **argv) {
    static const char *const usual[] = {"soak", "0", "cpu:ref", "cpu:openblas"};
    const double seconds = argc > 1 ? atof(argv[1]) : 0;
    const char *const *names = argc > 2 ? (const char *const *)argv + 2 : usual + 2;
    const int named = argc > 2 ? argc - 2 : 2;
    CHECK(seconds > 0 && named <= DEVICES);
    signal(SIGTERM, end_early);
    memset(samples, 0xFF, sizeof samples); /* its pages are there before any is counted */
    char folder[] = "xf_soak_XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    struct lasting *lasting[DEVICES];
    int devices = 0;
    for (int i = 0; i < named; ++i) {
        lasting[devices] = lasting_create(names[i], folder);
        if (lasting[devices] != NULL)
            ++devices;
        else
            printf("NOT TESTED on %s: no such device\n", names[i]);
    }
    CHECK(devices > 0);

    /* Each device has its turn with one thread and with two; the bits of a device are those of its first cycle. */
    uint64_t expected[DEVICES] = {0};
    const double start = now(), apart = seconds / (SAMPLES - 8);
    double next_sample = 0, next_line = 60, next_table = 600, spent = 0;
    long cycles = 0;
    int count = 0, different = 0, threads = INT_MAX;
    while (!stop && ((spent = now() - start) < seconds || count < 2)) { /* what is compared needs two */
        for (int turn = 0; turn < TURNS * devices; ++turn, ++cycles) {
            const int device = turn % devices;
            const uint64_t found = cycle(lasting[device], 1 + turn / devices);
            if (expected[device] == 0) expected[device] = found;
            if (found != expected[device]) {
                printf("cycle %ld on %s gave %016llx, the first gave %016llx\n", cycles, names[device],
                       (unsigned long long)found, (unsigned long long)expected[device]);
                ++different;
            }
        }
        spent = now() - start;
        if (spent >= next_sample && count < SAMPLES) {
            samples[count] = count_held(spent, (double)cycles, threads);
            threads = (int)samples[0].held[THREADS];
            ++count;
            next_sample = spent + apart;
        }
        if (spent >= next_line) {
            const double *const held = samples[count - 1].held;
            printf(
                "%6.0f s, %7ld cycles: %.0f resident, %.0f in the heap, %.0f descriptors, %.0f threads, %.0f "
                "mappings\n",
                spent, cycles, held[RESIDENT], held[HEAP], held[DESCRIPTORS], held[THREADS], held[MAPPINGS]);
            fflush(stdout);
            next_line += 60;
        }
        if (spent >= next_table) {
            judge_so_far(count, spent);
            next_table += 600;
        }
    }
    const int grown = judge_so_far(count, spent);
    for (int i = 0; i < devices; ++i) lasting_free(lasting[i]);
    remove_folder(folder);
    printf(
        "%.0f s, %ld cycles on %d devices, %ld calls cancelled, %ld errors met as they should: %d different, %d grow\n",
        spent, cycles, devices, cancelled_calls, errors_met, different, grown);
    CHECK(cancelled_calls > 0 && cycles > TURNS * devices);
    return grown > 0 || different > 0;
}
