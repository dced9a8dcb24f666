/*
 * encoder.h - the time and memory of one of the library's encoder layers, through the public API alone.
 *
 * Two models that differ in nothing but one encoder layer work at the same sentence of n tokens, whose target is the
 * end symbol alone; what the second takes longer is the layer. Attention itself is measured the same way at d_model 2
 * and d_ff 1, while heads, d_k and d_v stay: attention does not know d_model, and the products around it, O(n d_model h
 * d_k), shrink to some hundredths of it, which are left in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_ENCODER_H
#define PAPER_ENCODER_H

#include <xformer/xformer.h>

#include "timing.h"

struct encoder_shape {
    int64_t n, d_model, d_ff, heads, d_k, window; /* d_v is d_k; window 0: full attention */
};

struct encoder_cost {
    struct timing forward, both;         /* of one layer; both: with all gradients */
    int64_t forward_memory, both_memory; /* peak of the tensors of the model with two such layers, bytes */
};

/*
 * Measures; `both` only where gradients are wanted. Takes the options of the group "context." from config. Returns -1,
 * or the exit status after a message.
 */
int measure_encoder(const xf_config *config, const struct encoder_shape *shape, int repeats, bool gradients,
                    struct encoder_cost *cost);

#endif
