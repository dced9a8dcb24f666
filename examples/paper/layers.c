/*
 * layers.c - a recurrent and a convolutional layer over OpenBLAS; see layers.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "layers.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "timing.h"

/* Pseudorandom values from -scale to scale, the same in every run. */
static void fill(float *x, int64_t count, float scale) {
    uint32_t state = 12345;
    for (int64_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        x[i] = scale * ((float)(state >> 8) / 8388608.0f - 1.0f);
    }
}

static float *numbers(int64_t count) {
    float *x = allocate((size_t)count * sizeof *x);
    memset(x, 0, (size_t)count * sizeof *x);
    return x;
}

void layer_open(struct layer *layer, int64_t n, int64_t d, int64_t kernel) {
    const int64_t weights = (kernel > 0 ? kernel : 1) * d * d;
    *layer = (struct layer){.n = n, .d = d, .kernel = kernel};
    layer->x = numbers(n * d);
    layer->y = numbers(n * d);
    layer->weight = numbers(weights);
    layer->diff_x = numbers(n * d);
    layer->diff_y = numbers(n * d);
    layer->diff_weight = numbers(weights);
    fill(layer->x, n * d, 1.0f);
    fill(layer->diff_y, n * d, 1.0f);
    fill(layer->weight, weights, 1.0f / sqrtf((float)d));
}

void layer_close(struct layer *layer) {
    free(layer->x);
    free(layer->y);
    free(layer->weight);
    free(layer->diff_x);
    free(layer->diff_y);
    free(layer->diff_weight);
}

bool recurrent_forward(void *user) {
    const struct layer *l = user;
    const int d = (int)l->d;
    memcpy(l->y, l->x, (size_t)(l->n * l->d) * sizeof *l->y);
    for (int64_t t = 0; t < l->n; ++t) {
        float *h = l->y + t * l->d;
        if (t > 0) cblas_sgemv(CblasRowMajor, CblasNoTrans, d, d, 1.0f, l->weight, d, h - l->d, 1, 1.0f, h, 1);
        for (int64_t i = 0; i < l->d; ++i) h[i] = tanhf(h[i]);
    }
    return true;
}

bool recurrent_both(void *user) {
    const struct layer *l = user;
    const int d = (int)l->d;
    recurrent_forward(user);
    memcpy(l->diff_x, l->diff_y, (size_t)(l->n * l->d) * sizeof *l->diff_x);
    for (int64_t t = l->n - 1; t >= 0; --t) {
        const float *h = l->y + t * l->d;
        float *diff = l->diff_x + t * l->d;
        if (t + 1 < l->n)
            cblas_sgemv(CblasRowMajor, CblasTrans, d, d, 1.0f, l->weight, d, diff + l->d, 1, 1.0f, diff, 1);
        for (int64_t i = 0; i < l->d; ++i) diff[i] *= 1.0f - h[i] * h[i];
    }
    /* The gradient of U is one product over all steps. */
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, d, d, (int)l->n - 1, 1.0f, l->diff_x + d, d, l->y, d, 0.0f,
                l->diff_weight, d);
    return true;
}

/* Which rows of the output use which rows of the input at a position of the kernel. */
struct shift {
    int64_t out, in, rows;
};

static struct shift shift_of(const struct layer *l, int64_t place) {
    const int64_t by = place - l->kernel / 2;
    const int64_t away = by < 0 ? -by : by;
    return (struct shift){by < 0 ? away : 0, by < 0 ? 0 : away, l->n > away ? l->n - away : 0};
}

bool convolution_forward(void *user) {
    const struct layer *l = user;
    const int d = (int)l->d;
    memset(l->y, 0, (size_t)(l->n * l->d) * sizeof *l->y);
    for (int64_t j = 0; j < l->kernel; ++j) {
        const struct shift s = shift_of(l, j);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)s.rows, d, d, 1.0f, l->x + s.in * d, d,
                    l->weight + j * d * d, d, 1.0f, l->y + s.out * d, d);
    }
    return true;
}

bool convolution_both(void *user) {
    const struct layer *l = user;
    const int d = (int)l->d;
    convolution_forward(user);
    memset(l->diff_x, 0, (size_t)(l->n * l->d) * sizeof *l->diff_x);
    for (int64_t j = 0; j < l->kernel; ++j) {
        const struct shift s = shift_of(l, j);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)s.rows, d, d, 1.0f, l->diff_y + s.out * d, d,
                    l->weight + j * d * d, d, 1.0f, l->diff_x + s.in * d, d);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, d, d, (int)s.rows, 1.0f, l->x + s.in * d, d,
                    l->diff_y + s.out * d, d, 0.0f, l->diff_weight + j * d * d, d);
    }
    return true;
}

int device_threads(const char *device) {
    int threads = 1;
    for (const char *at = device; (at = strstr(at, ", ")) != NULL;) {
        int end = 0; /* a processor name may also begin with a number: "12th Gen" */
        at += 2;
        if (sscanf(at, "%d thread%n", &threads, &end) == 1 && end > 0) return threads;
    }
    return 1;
}

double product_speed(void) {
    struct layer large;
    struct timing timing = {NAN, NAN, NAN};
    layer_open(&large, 1024, 1024, 1);
    time_work(convolution_forward, &large, 5, &timing);
    layer_close(&large);
    return 2.0 * 1024 * 1024 * 1024 / timing.least;
}
