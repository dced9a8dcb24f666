/*
 * layers.h - the two layers of Table 1 that the library does not have: a recurrent and a convolutional one, over
 * OpenBLAS on one thread.
 *
 * Recurrent: h(t) = tanh(x(t) + U h(t - 1)), n steps that wait for each other. Convolutional: y(t) is the sum over k
 * places of x(t + j - k / 2) W(j), all t at once. U and each W(j) are [d, d]. Neither has the product that would make
 * x out of its input, as the paper's O(n d^2) and O(k n d^2) count none.
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
    float *diff_y, *diff_x, *diff_weight; /* gradients, as large */
};

/* Makes a layer with numbers that make no overflow. kernel 0: a recurrent layer. */
void layer_open(struct layer *layer, int64_t n, int64_t d, int64_t kernel);
void layer_close(struct layer *layer);

/* Forward; and forward with the gradients of x and of the weights. Both are work_fn of timing.h. */
bool recurrent_forward(void *layer);
bool recurrent_both(void *layer);
bool convolution_forward(void *layer);
bool convolution_both(void *layer);

/* FLOP/s that a large product reaches on one thread: the arithmetic that the machine can sustain. */
double product_speed(void);
/* Threads in what xf_context_device() says: "openblas on cpu:0, CPU, avx2, 8 threads, fp32". */
int device_threads(const char *device);

#endif
