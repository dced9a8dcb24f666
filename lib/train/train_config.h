// The options of the group "train." as a typed struct, and which of them a resumed run may change.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/options.h"
#include "train/schedule.h"

namespace xf {

struct TrainConfig {
    enum class OnNonfinite { kStop, kSkip, kRollback };

    float dropout, attention_dropout, activation_dropout, label_smoothing;
    bool smooth_uniform;
    Schedule schedule;
    double beta1, beta2, epsilon;
    double weight_decay;    // of matrices; 0: none
    double clip_norm;       // 0: none
    double ema;             // 0: none
    int64_t accumulate;     // batches of a batcher to an update
    int64_t shards;         // 0: one for each rank
    bool narrow_sums;       // what the tree of shards adds is rounded to bf16
    int64_t compare_steps;  // 0: only before the first step
    OnNonfinite on_nonfinite;
    uint64_t seed;

    // Throws XF_ERROR_INVALID_ARGUMENT when the options contradict each other.
    static TrainConfig from(const Options &options, int64_t d_model);
};

// The options of a run that goes on: the saved ones, and of `changes` what was set there and may change. Throws
// XF_ERROR_STATE that names an option of the group "train." or "model." that was set to another value and may not.
Options resumed_options(const Options &saved, const Options &changes);

}  // namespace xf
