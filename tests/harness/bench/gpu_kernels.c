/*
 * gpu_kernels.c - the time of each kernel of a process, those of recorded graphs too; a part of tests/gpu.sh.
 *
 *     CUDA_INJECTION64_PATH=/path/libgpu_kernels.so XF_KERNEL_TIMES=FILE program ...
 *
 * The driver loads this library when the program first uses the GPU, and CUPTI tells it when each kernel began and
 * ended. At the end of the process FILE gets a line "kernel TAB name TAB calls TAB microseconds in all TAB shortest TAB
 * longest" for each, as the linker names it, and "dropped" for what CUPTI lost. The plugin needs no line for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 1024, BUFFER = 8 << 20 };
static struct kernel {
    char *name;
    uint64_t calls, all, least, most; /* nanoseconds */
} kernels[MOST_NAMES];
static size_t kernel_count, dropped;

int InitializeInjection(void);

static void add(const char *name, uint64_t time) {
    size_t i = 0;
    while (i < kernel_count && strcmp(kernels[i].name, name) != 0) ++i;
    if (i == MOST_NAMES) {
        ++dropped;
        return;
    }
    if (i == kernel_count) kernels[kernel_count++] = (struct kernel){strdup(name), 0, 0, UINT64_MAX, 0};
    struct kernel *k = &kernels[i];
    k->calls += 1;
    k->all += time;
    if (time < k->least) k->least = time;
    if (time > k->most) k->most = time;
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most_records) {
    *size = BUFFER;
    *buffer = aligned_alloc(64, BUFFER);
    *most_records = 0;
    if (*buffer == NULL) *size = 0;
}

/* CUPTI calls it from one thread. */
static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    CUpti_Activity *record = NULL;
    size_t lost = 0;
    (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
        const CUpti_ActivityKernel10 *kernel = (const CUpti_ActivityKernel10 *)(const void *)record;
        if (kernel->name != NULL && kernel->end >= kernel->start) add(kernel->name, kernel->end - kernel->start);
    }
    if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS) dropped += lost;
    free(buffer);
}

static void write_times(void) {
    const char *path = getenv("XF_KERNEL_TIMES");
    cuptiActivityFlushAll(1);
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL) return;
    for (size_t i = 0; i < kernel_count; ++i)
        fprintf(file, "kernel\t%s\t%llu\t%.3f\t%.3f\t%.3f\n", kernels[i].name, (unsigned long long)kernels[i].calls,
                (double)kernels[i].all / 1e3, (double)kernels[i].least / 1e3, (double)kernels[i].most / 1e3);
    fprintf(file, "dropped\t%zu\n", dropped);
    fclose(file);
}

/* The driver's own name for it. */
__attribute__((visibility("default"))) int InitializeInjection(void) {
    if (cuptiActivityRegisterCallbacks(give_buffer, take_buffer) != CUPTI_SUCCESS ||
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS)
        return 0;
    return atexit(write_times) == 0;
}
