/*
 * encoder.h - measures time and memory of one encoder layer of the library, using only the public API.
 *
 * Two models, one with an additional encoder layer, process the same source sentence of n tokens. The target is only
 * the end token. The time of the layer is the difference between the two. Attention is measured in the same way, with
 * d_model 2, d_ff 1, and unchanged heads, d_k, and d_v: attention does not depend on d_model, and the projections
 * around it, O(n d_model h d_k), shrink to a few percent of its time. They are included in the result.
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
    struct timing forward, both;         /* of one layer; both: forward and all gradients */
    int64_t forward_memory, both_memory; /* peak of all tensors of the model with two such layers, in bytes */
};

/*
 * Measures forward, and with gradients also both. Uses the options of the group "context." from config. Returns -1, or
 * the exit status after printing a message.
 */
int measure_encoder(const xf_config *config, const struct encoder_shape *shape, int repeats, bool gradients,
                    struct encoder_cost *cost);

#endif
