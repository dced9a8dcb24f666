// The gradient of a training step: accumulation over batches, its norm, and whether it is finite.
//
// Gradients of the SUM of the token losses are added in one block, over one batch or several. The update divides them
// by the number of target tokens, so the result depends on the division into batches only by rounding.
//
// There are three implementations: LocalGradientSum (one shard, the host decides whether the gradient is finite),
// GatedGradientSum (one shard, the device decides), and ShardedGradientSum (several shards, on one or several ranks).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "train/batch_gradient.h"
#include "train/optimizer.h"

namespace xf {

class GradientSum : protected TrainPart {
public:
    GradientSum(const TrainPart &part, Optimizer &optimizer);
    virtual ~GradientSum() = default;
    GradientSum(const GradientSum &) = delete;
    GradientSum &operator=(const GradientSum &) = delete;

    // Adds the batches of a step.
    virtual void add_step(const xf_batch *batches, size_t count, const Call &call);
    // Adds the next train.accumulate batches of the batcher, fewer at the end of a chunk.
    virtual void add_step(Batcher *batcher, const Call &call);
    // Adds one batch; the caller decides when the step is complete.
    virtual ShardStats accumulate(const xf_batch &batch, const Call &call);
    // Same as Batcher::next_chunk().
    virtual bool next_chunk(Batcher *batcher, const Call &call);

    // Completes the sum and returns its scale: 1 / target tokens, reduced by train.clip_norm. Throws
    // XF_ERROR_NONFINITE if the gradient is not finite.
    virtual GradientScale finish() = 0;
    // Completes the update after Optimizer::apply(). The model then has the new parameters, and clear() follows. next:
    // provides the next batch; may be null. Throws XF_ERROR_NONFINITE if the device has rejected the update.
    virtual void publish(const Batcher *next) = 0;
    // Called if a step has failed after its batches were added.
    virtual void abandon(const std::exception &) noexcept {}

    // Discards the sum.
    void clear() noexcept;

    // Of the batches so far.
    const ShardStats &stats() const { return stats_; }
    double norm() const { return norm_; }
    uint32_t pending_batches() const { return pending_; }
    float *grads() const { return grads_.floats(); }
    // The block of gradients as scratch memory, between steps.
    float *scratch();
    // Downloads the gradient of the mean loss for one parameter.
    void read(const Parameter &parameter, float *values);

protected:
    [[noreturn]] void fail_nonfinite(const char *what, const char *why);
    void check_loss(double loss);
    void check_gradient(bool finite);
    double mean_scale() const { return 1.0 / stats_.tgt_tokens; }
    // Sets the norm, checks it, and returns the scale with the factor that clips it. squares: of the sum.
    double clipped_scale(double squares);

    StepTime time() const { return {step_number(), pending_}; }
    // Of the step in progress, from 1.
    uint32_t step_number() const { return optimizer_.steps_done() + 1; }
    void load(const xf_batch &batch, const Call &call);
    void load_next(Batcher *batcher, const Call &call);
    // Adds the gradient of the loaded batch. wait: for its losses, as BatchGradient::run().
    ShardStats add_loaded(const Call &call, bool wait);
    // After the update has set the block to zero.
    void set_zero() { contents_ = Contents::kZero; }

    // A gradient whose square exceeds fp32 would make Adam's second moment infinite permanently.
    static constexpr double kMaxSquare = 1e36;

    Optimizer &optimizer_;
    BatchGradient batch_;
    Buffer grads_;
    ShardStats stats_;
    double norm_ = 0;
    uint32_t pending_ = 0;  // batches in the sum; the index of the next batch in its step

private:
    enum class Contents { kZero, kSum, kStale };  // kStale: must be set to zero before a sum begins
    Contents contents_ = Contents::kZero;         // of grads_
};

}  // namespace xf
