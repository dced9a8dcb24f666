// The encoder-decoder of the paper's section 3: forward and backward over a packed batch.
//
// Post-LN (the paper) and pre-LN share one code: see boundary_fwd() in sublayers.h. Pre-LN has one more boundary at
// each end of a stack.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "nn/arena.h"
#include "nn/sublayers.h"

namespace xf {

class Transformer {
public:
    // kTrain keeps what the backward pass needs; kInfer reuses memory from layer to layer.
    enum class Mode { kTrain, kInfer };

    // activation_dropout: passes in training may drop inner values of the feed-forward.
    Transformer(const Model &model, Stream &stream, bool activation_dropout = false)
        : model_(model), stream_(stream), activation_dropout_(activation_dropout) {}

    // Sizes the workspace for a batch; call before the passes. decoder false: encoder only.
    void prepare(const PackedBatch &batch, Mode mode, bool decoder);

    // The encoder's output, "memory" [S, D], valid until the next prepare().
    Num encode(const Pass &pass, const PackedBatch &batch);
    // The decoder's output [T, D].
    Num decode(const Pass &pass, const PackedBatch &batch);

    // Per-token losses [T] (xf_loss). With gradients when the pass has them: then backward() follows.
    void loss(const Pass &pass, const PackedBatch &batch, float smoothing, bool uniform);
    const float *token_loss() const { return token_loss_; }
    const float *token_nll() const { return token_nll_; }
    // What the last passes left of a layer's attention; every layer's in kTrain alone.
    const AttentionActivations &encoder_self(int64_t layer) const { return encoder_[static_cast<size_t>(layer)].self; }
    const AttentionActivations &decoder_self(int64_t layer) const { return decoder_[static_cast<size_t>(layer)].self; }
    const AttentionActivations &cross(int64_t layer) const { return decoder_[static_cast<size_t>(layer)].cross; }
    // Changes when prepare() had to take another workspace.
    const void *workspace() const { return workspace_.data(); }

    // Adds all parameter gradients of the sum of the token losses, from the end of the block to its beginning;
    // pass.done hears how far, but not of the end.
    void backward(const Pass &pass, const PackedBatch &batch);

private:
    struct EncoderLayer {
        AttentionActivations self;
        FeedForwardActivations ff;
    };
    struct DecoderLayer {
        AttentionActivations self, cross;
        FeedForwardActivations ff;
    };
    // The gradients of a Flow on the way back.
    struct DiffFlow {
        Num input;              // of the value that entered, post-LN: of the residual too
        Num residual;           // pre-LN only
        bool residual_is_zero;  // nothing has been written to residual yet
    };

    void plan(const PackedBatch &batch, Mode mode, bool decoder, Arena *arena);
    Flow enter(const Pass &pass, Stack stack, const PackedSide &side, const NormOffsets &first);
    // What came out of enter(): the residual, and the input of the first sub-layer.
    Num entered(Stack stack) const;
    Num first_input(Stack stack) const;
    void boundary_bwd(const Pass &pass, const NormOffsets &norm, int64_t rows, const NormActivations &acts,
                      uint32_t site, DiffFlow *flow, Num diff_out, float *diff_out_bias = nullptr);
    void normalise_bwd(const Pass &pass, const NormOffsets &norm, int64_t rows, Num src, const float *stats, Num diff);
    void leave_bwd(const Pass &pass, Stack stack, const PackedSide &side, const NormOffsets &first, DiffFlow *flow);
    void encoder_bwd(const Pass &pass, const PackedBatch &batch);
    void decoder_bwd(const Pass &pass, const PackedBatch &batch);

    const Model &model_;
    Stream &stream_;
    Buffer workspace_;
    const bool activation_dropout_;
    Num embedded_[2] = {};                    // [rows, D] by stack
    NormActivations embedding_norm_[2] = {};  // where the model has one
    NormActivations entry_norm_[2] = {};      // pre-LN: the boundary before the first sub-layer
    std::vector<EncoderLayer> encoder_;
    std::vector<DecoderLayer> decoder_;
    Num memory_, output_;
    float *token_loss_ = nullptr, *token_nll_ = nullptr;
    Num diff_output_, diff_memory_, diff_residual_;
    BackwardScratch scratch_{};
};

}  // namespace xf
