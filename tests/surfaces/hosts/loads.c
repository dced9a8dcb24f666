/*
 * A host that loads a plugin, lets it work, and unloads it with libxformer two thousand times, and counts the memory,
 * threads, descriptors, and mappings that remain.
 *
 *     loads PLUGIN DEVICE
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>

#include <xformer/status.h>

#include "host.h"

/* The count of the heap includes blocks that it keeps for reuse. They grow for hundreds of loads: by about 20 KB in the
   first thousand and 5 KB in the second. The smallest block has 32 bytes, so one leaked block per load exceeds the
   tolerance. */
enum { WARM = 1000, LOADS = 2000, SLACK = (LOADS - WARM) * 24 };

struct held {
    size_t bytes;
    int threads, descriptors, mappings, libraries;
};

static struct held count_held(void) {
    struct held held = {0, count_threads(1), count_entries("/proc/self/fd"), 0, 0};
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        ++held.mappings;
        held.libraries += strstr(line, "/libxformer.so") != NULL;
    }
    fclose(maps);
    malloc_trim(0);
    const struct mallinfo2 heap = mallinfo2();
    held.bytes = heap.uordblks + heap.hblkhd;
    return held;
}

int main(int argc, char **argv) {
    struct held first = {0}, last = {0};
    double expected = 0, score = 0;
    CHECK(argc == 3);
    for (int i = 0; i <= LOADS; ++i) {
        xf_error err = {0};
        int (*use)(const char *, double *, xf_error *) = NULL;
        void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (plugin == NULL) fprintf(stderr, "%s\n", dlerror());
        CHECK(plugin != NULL);
        *(void **)&use = dlsym(plugin, "use");
        CHECK(use != NULL);
        const int status = use(argv[2], &score, &err);
        if (status != XF_OK) fprintf(stderr, "load %d: %d %s\n", i, status, err.message);
        CHECK(status == XF_OK);
        CHECK(dlclose(plugin) == 0);
        if (i == 0) expected = score;
        CHECK(score == expected);
        if (i == WARM) first = count_held();
        if (i == LOADS) last = count_held();
    }
    printf("after %d and %d loads: %zu and %zu bytes, %d and %d mappings, %d and %d threads, %d and %d descriptors\n",
           WARM, LOADS, first.bytes, last.bytes, first.mappings, last.mappings, first.threads, last.threads,
           first.descriptors, last.descriptors);
    CHECK(last.libraries == 0); /* libxformer.so is really gone */
    CHECK(last.threads == 1 && last.descriptors == first.descriptors);
    CHECK(last.mappings <= first.mappings + 4);
    CHECK(last.bytes <= first.bytes + SLACK);
    return 0;
}
