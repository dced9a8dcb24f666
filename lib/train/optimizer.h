// Adam with decoupled weight decay and an exponential moving average of the parameters (docs/ops/adam.md).
//
// With several ranks each rank holds the moments and the average of its slice only (ranks/slices.h). The updated
// parameters of the slice are written to separate memory, because the model must not change before the slices of all
// ranks have arrived.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <vector>

#include "nn/model.h"
#include "ranks/block_exchange.h"
#include "train/train_config.h"

namespace xf {

// The factor of the gradients.
struct GradientScale {
    double factor = 0;
    const double *gate = nullptr;  // in device memory: xf_adam.gate; null: the update is applied
};

class Optimizer : private TrainPart {
public:
    // exchange: null for one rank.
    Optimizer(const TrainPart &part, BlockExchange *exchange);

    int64_t steps_done() const { return step_; }  // any thread, at any time
    // Returns whether the moving average has values, that is, after the first update.
    bool has_average() const { return has_average_; }
    // The moments and the average of the slice.
    float *m() const { return m_.floats(); }
    float *v() const { return v_.floats(); }
    float *average() const { return average_.floats(); }
    // The updated parameters of the slice, with several ranks.
    const float *updated_slice() const { return updated_slice_.floats(); }

    // Enqueues the update of the next step. With one rank this updates the parameters and clears grads.
    void apply(float *grads, const GradientScale &scale, double rate);
    // Completes the step after all parameters are updated.
    void commit();
    // After a failed step with several ranks: the moments may belong to the next step, the parameters to the last one.
    void abandon(const char *reason) noexcept;

    // Around the loading of a checkpoint: the state is inconsistent until end_load().
    void begin_load(const char *path) noexcept;
    void load_slices(const float *m, const float *v, const float *average);
    void end_load(int64_t step);
    // Throws XF_ERROR_STATE if parameters and moments do not belong to the same step.
    void check_consistent() const;

private:
    // Consecutive parameters that are all decayed, or all not.
    struct Run {
        int64_t begin, end;
        bool decays;
    };
    void find_runs();
    void take_slice(const Buffer &slice, const float *block);
    void update(xf_adam *args, const Run &run, Range segment, int64_t offset, float decay, float *grads);

    BlockExchange *exchange_;
    Buffer m_, v_, average_, updated_slice_;  // of the slice
    std::vector<Run> runs_;
    std::atomic<int64_t> step_{0};
    bool has_average_ = false;
    bool applying_ = false;        // with several ranks: between apply() and commit()
    char inconsistent_[240] = "";  // the reason; empty: consistent
};

}  // namespace xf
