// Training: the order of a step, and what follows a step that is not finite.
//
// A step adds the gradients of its batches (gradient_sum.h), updates the parameters (optimizer.h), and publishes them.
// A step whose loss or gradient is not finite changes nothing. train.on_nonfinite decides what follows: an error, the
// next batch, or a return to the last checkpoint (checkpoint.h). Nothing can be saved until a later step is finite, so
// that a diverged run does not replace its last good checkpoint.
//
// The steady state allocates nothing: memory is reused and grows with the largest batch.
//
// With several ranks, all of them make the same calls, and each call has the same outcome on all of them.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nn/model_file.h"
#include "ranks/shard_sums.h"
#include "train/checkpoint.h"
#include "train/gradient_sum.h"
#include "xformer/train.h"

namespace xf {

// The result of a training step.
struct StepStats : ShardStats {
    int64_t step = 0;
    double learning_rate = 0, gradient_norm = 0;
    int32_t outcome = XF_STEP_UPDATED;
};

class Trainer {
public:
    Trainer(std::shared_ptr<Model> model, const Options &options);

    // Creates a trainer from a checkpoint, with the options that `changes` sets. The caller loads the tokenizer.
    static std::unique_ptr<Trainer> resume(const std::shared_ptr<Context> &context, const ModelFile &file,
                                           const Options &changes, const Call &call = {});

    // For tests: how often ranks compare their parameters.
    void set_compare_steps(int64_t steps) { config_.compare_steps = steps; }

    // Makes one update. After an error everything is as before.
    StepStats step(const xf_batch *batches, size_t count, const Call &call = {});
    // Makes one update with the next train.accumulate batches of a batcher, fewer at the end of an epoch. Returns
    // false, with no update, where an epoch has ended. After an error the position of the batcher is as before.
    bool next(Batcher *batcher, StepStats *stats, const Call &call = {});

    // Adds the gradient of one batch. After an error the caller calls drop_gradients().
    StepStats accumulate(const xf_batch &batch, const Call &call = {});
    // Makes one update with the gradients that were accumulated.
    StepStats update();
    void drop_gradients() noexcept { sum_->clear(); }
    // Downloads the accumulated gradient of the mean loss.
    void read_gradient(const Parameter &parameter, float *values) { sum_->read(parameter, values); }

    void save(const CheckpointTarget &target, const std::string &tokenizer, const DataPosition &position,
              const Call &call = {});
    // Returns a new model whose parameters are the moving average. prepare: receives the model before it has
    // parameters; what it throws is an error of this call on all ranks.
    std::shared_ptr<Model> average(const std::function<void(const std::shared_ptr<Model> &)> &prepare = {});

    // Called in a handler of an error that prevents this rank from a call: the call fails on all ranks.
    void report_failure(Collective call) noexcept;

    // Moves a batcher to the position of the checkpoint, or to the same fraction of the epoch, which is logged.
    void seek(Batcher *batcher, const Call &call = Call()) const;

    int64_t steps_done() const { return optimizer_->steps_done(); }  // any thread, at any time
    const std::shared_ptr<Model> &model() const { return model_; }
    const Options &options() const { return options_; }

private:
    void create_shards();
    template <class AddBatches>
    StepStats make_step(const AddBatches &add_batches, const Batcher *next);
    StepStats finish(const Batcher *next);
    StepStats handle_nonfinite(const Error &error, StepStats stats);
    void check_no_pending_gradients() const;
    void check_savable(const CheckpointTarget &target) const;

    std::shared_ptr<Model> model_;
    Options options_;
    TrainConfig config_;
    Stream stream_;
    std::unique_ptr<BlockExchange> exchange_;  // this one and the next two: null with one shard
    std::unique_ptr<ShardSums> shards_;
    std::unique_ptr<RankGroup> group_;
    std::unique_ptr<Optimizer> optimizer_;
    std::unique_ptr<RankProtocol> ranks_;  // null with one rank
    std::unique_ptr<GradientSum> sum_;
    std::unique_ptr<Checkpoint> checkpoint_;
    DataPosition position_;    // of the checkpoint that was resumed
    int nonfinite_steps_ = 0;  // since the last good one
};

}  // namespace xf
