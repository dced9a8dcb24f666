/*
 * See held.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "held.h"

#include <malloc.h>
#include <math.h>

#include "../../support/sanitized.h"
#include "../../surfaces/hosts/host.h"

/* Resident memory may grow by 64 KiB an hour, the heap by 4 bytes a cycle (its smallest block has 32), and the heap's
   arenas may split a mapping. In less than half a minute workspaces still find their largest
   batch: some pages more are allowed. */
enum { MOST_AN_HOUR = 64 * 1024, MOST_A_CYCLE = 4, MORE_MAPPINGS = 4, MOST_AT_FIRST = 512 * 1024 };

static double read_field(const char *path, const char *name) {
    char line[256];
    double kilobytes = -1;
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (kilobytes < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) kilobytes = atof(line + strlen(name));
    fclose(file);
    CHECK(kilobytes >= 0);
    return kilobytes * 1024;
}

static int count_mappings(void) {
    int lines = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    for (int c; (c = fgetc(maps)) != EOF;) lines += c == '\n';
    fclose(maps);
    return lines;
}

struct sample count_held(double seconds, double cycle, int threads_expected) {
    struct sample sample = {seconds, cycle, {0}};
    const struct mallinfo2 heap = mallinfo2();
    sample.held[HEAP] = (double)(heap.uordblks + heap.hblkhd);
    /* VmRSS in status is a sum of counters that CPUs update lazily; this value is exact. */
    sample.held[RESIDENT] = read_field("/proc/self/smaps_rollup", "Rss:");
    sample.held[PEAK] = read_field("/proc/self/status", "VmHWM:");
    sample.held[DESCRIPTORS] = count_entries("/proc/self/fd") - 1; /* without the folder's own */
    sample.held[THREADS] = count_threads(threads_expected);
    sample.held[MAPPINGS] = count_mappings();
    return sample;
}

struct line fit(const double *x, const double *y, int count) {
    double mx = 0, my = 0, xx = 0, xy = 0, rest = 0, next = 0, before = 0;
    for (int i = 0; i < count; ++i) mx += x[i] / count, my += y[i] / count;
    for (int i = 0; i < count; ++i) xx += (x[i] - mx) * (x[i] - mx), xy += (x[i] - mx) * (y[i] - my);
    struct line line = {count > 2 && xx > 0 ? xy / xx : 0, 0};
    if (count < 4 || xx == 0) return line;
    for (int i = 0; i < count; ++i) {
        const double error = y[i] - my - line.slope * (x[i] - mx);
        rest += error * error;
        next += i > 0 ? error * before : 0;
        before = error;
    }
    /* A level that stays for a while is not as many facts as it has samples, but n (1 - r) / (1 + r). */
    const double r = rest > 0 ? fmin(fmax(next / rest, 0), 0.999) : 0;
    line.error = sqrt(rest / (count - 2) / xx * (1 + r) / (1 - r));
    return line;
}

static const char *const names[HELDS] = {"resident bytes", "peak bytes", "heap bytes",
                                         "descriptors",    "threads",    "mappings"};

int judge(const struct sample *samples, int first, int count) {
    const int n = count - first;
    int grown = 0;
    double *hours = malloc((size_t)n * sizeof *hours), *cycles = malloc((size_t)n * sizeof *cycles),
           *held = malloc((size_t)n * sizeof *held);
    CHECK(n > 0 && hours != NULL && cycles != NULL && held != NULL);
    for (int i = 0; i < n; ++i) {
        hours[i] = samples[first + i].seconds / 3600;
        cycles[i] = samples[first + i].cycle;
    }
    printf("%d samples from %.0f s to %.0f s, cycles %.0f to %.0f\n", n, samples[first].seconds,
           samples[count - 1].seconds, cycles[0], cycles[n - 1]);
    printf("%-15s %12s %12s %12s %12s %14s %10s %11s  %s\n", "", "first", "last", "least", "most", "an hour", "+-",
           "a cycle", "");
    /* In less than an hour, what the line's own doubt explains is no growth. */
    const double doubt = hours[n - 1] - hours[0] < 1 ? 2 : 0;
    for (int column = 0; column < HELDS; ++column) {
        double least = INFINITY, most = -INFINITY;
        for (int i = 0; i < n; ++i) {
            held[i] = samples[first + i].held[column];
            least = fmin(least, held[i]);
            most = fmax(most, held[i]);
        }
        const struct line hourly = fit(hours, held, n), each = fit(cycles, held, n);
        const int grows = column == PEAK                               ? 0
                          : column == DESCRIPTORS || column == THREADS ? most > least
                          : XF_TEST_SANITIZED                          ? 0 /* a sanitizer has its own heap */
                          : column == MAPPINGS                         ? most > held[0] + MORE_MAPPINGS
                          : hours[n - 1] - hours[0] < 30. / 3600       ? held[n - 1] > held[0] + MOST_AT_FIRST
                          : column == RESIDENT ? hourly.slope - doubt * hourly.error > MOST_AN_HOUR
                                               : each.slope - doubt * each.error > MOST_A_CYCLE;
        printf("%-15s %12.0f %12.0f %12.0f %12.0f %14.1f %10.1f %11.4f  %s\n", names[column], held[0], held[n - 1],
               least, most, hourly.slope, hourly.error, each.slope, grows ? "GROWS" : "");
        grown += grows;
    }
    free(hours);
    free(cycles);
    free(held);
    return grown;
}
