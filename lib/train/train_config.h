// The options of the group "train." as a struct, and the rules for changing them when a run is resumed.
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
    double weight_decay;          // of matrices; 0: off
    double clip_norm;             // 0: off
    double ema;                   // decay of the moving average; 0: off
    int64_t accumulate;           // batches of a batcher per update and shard
    int64_t shards;               // 0: one per rank
    bool bf16_sums;               // the addends of the tree of shards are rounded to bf16
    int64_t compare_steps = 100;  // ranks compare their parameters before the first step and every so many steps
    OnNonfinite on_nonfinite;
    uint64_t seed;

    // Throws XF_ERROR_INVALID_ARGUMENT if the options contradict each other.
    static TrainConfig from(const Options &options, int64_t d_model);
};

// Returns the options of a resumed run: the saved ones, with the options of the group "train." that are set in
// `changes`. Throws XF_ERROR_STATE if `changes` sets an option to a new value that cannot change.
Options resumed_options(const Options &saved, const Options &changes);

}  // namespace xf
