// A stack of encoder or decoder layers: embedding, layers, and the final norm (s. 3.1), forward and backward.
//
// Training, scoring, and decoding steps run the same stack_fwd(). They differ in the Attention that they pass.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/sublayers.h"

namespace xf {

// The input of a stack; device memory.
struct Tokens {
    int64_t rows;
    const int32_t *ids, *positions;  // [rows]
};

// Returns the output of the stack, [rows, D].
Num stack_fwd(const Pass &pass, Stack stack, const Tokens &tokens, Attention *attention, const StackActivations &acts);

// Adds the gradients of the parameters of the stack. diff_output: the gradient of the output of the stack; overwritten.
// diff_memory: receives the gradient of the encoder's output; decoder only.
void stack_bwd(const Pass &pass, Stack stack, const PackedAttention &attention, const StackActivations &acts,
               const BackwardScratch &scratch, Num diff_output, Num diff_memory);

}  // namespace xf
