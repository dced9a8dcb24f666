/*
 * layers.h - the two layers of Table 1 that the library does not have, a recurrent and a convolutional one. They use
 * OpenBLAS on one thread.
 *
 * Recurrent: h(t) = tanh(x(t) + U h(t - 1)), n sequential steps. Convolutional: y(t) is the sum over the k positions j
 * of x(t + j - k / 2) W(j), computed for all t at once. U and each W(j) are [d, d]. Neither layer has an input
 * projection, because the paper's O(n d^2) and O(k n d^2) include none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_LAYERS_H
#define PAPER_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

struct layer {
    int64_t n, d, kernel;
    float *x, *weight, *y;                /* [n, d], [kernel, d, d] or [d, d], [n, d] */
    float *diff_y, *diff_x, *diff_weight; /* gradients, of the same sizes */
};

/* Creates a layer with values that do not overflow. kernel 0: a recurrent layer. */
void layer_open(struct layer *layer, int64_t n, int64_t d, int64_t kernel);
void layer_close(struct layer *layer);

/* Forward, and forward with the gradients of x and of the weights. All have the type work_fn of timing.h. */
bool recurrent_forward(void *layer);
bool recurrent_both(void *layer);
bool convolution_forward(void *layer);
bool convolution_both(void *layer);

/* Returns the FLOP/s of a large matrix product on one thread, an estimate of what the machine sustains. */
double product_speed(void);
/* Parses the number of threads in a device description, such as "openblas on cpu:0, CPU, avx2, 8 threads, fp32". */
int device_threads(const char *device);

#endif
