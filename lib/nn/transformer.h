// The encoder-decoder of the paper's section 3: forward and backward over a packed batch.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/stack.h"

namespace xf {

// The memory of the passes over one batch.
struct TransformerActivations {
    StackActivations encoder, decoder;
    float *token_loss = nullptr, *token_nll = nullptr;  // [T]
    Num diff_output, diff_memory;                       // [T, D], [S, D]; training only
    BackwardScratch scratch{};

    // T is 0 if only the encoder runs.
    void plan(const ModelConfig &config, PassKind kind, int64_t S, int64_t T, Arena *arena);
};

class Transformer {
public:
    Transformer(const Model &model, Stream &stream) : model_(model), stream_(stream) {}

    // Allocates the memory for the passes over a batch. Must be called before them. decoder false: only encode() runs.
    void prepare(const PackedBatch &batch, PassKind kind, bool decoder);

    // Returns the encoder's output [S, D], the "memory" of cross-attention. Valid until the next prepare().
    Num encode(const Pass &pass, const PackedBatch &batch);
    // Returns the decoder's output [T, D].
    Num decode(const Pass &pass, const PackedBatch &batch);

    // Computes the loss of each token [T] (xf_loss). If the pass has gradients, backward() must follow.
    void loss(const Pass &pass, const PackedBatch &batch, float smoothing, bool uniform);
    const float *token_loss() const { return acts_.token_loss; }
    const float *token_nll() const { return acts_.token_nll; }
    // The activations of the last passes. kInference: only those of the last layer are valid.
    const StackActivations &activations(Stack stack) const {
        return stack == Stack::kEncoder ? acts_.encoder : acts_.decoder;
    }
    // Changes when prepare() has allocated a new workspace.
    const void *workspace() const { return workspace_.data(); }

    // Adds the gradients of the sum of the token losses to pass.grads.
    void backward(const Pass &pass, const PackedBatch &batch);

private:
    const Model &model_;
    Stream &stream_;
    Buffer workspace_;
    TransformerActivations acts_;
    Num memory_, output_;
};

}  // namespace xf
