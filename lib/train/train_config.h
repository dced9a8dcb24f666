// The options of the group "train." as a struct, the learning rate of each step, and the rules for changing the options
// when a run is resumed.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/options.h"

namespace xf {

class Model;
class Stream;

// The schedule of the paper (s. 5.3, eq. 3) and three common ones.
struct Schedule {
    enum class Kind { kInverseSqrt, kConstant, kLinear, kCosine } kind;
    double factor;  // train.learning_rate
    double warmup;  // steps
    double d_model;
    double total = 0;  // steps; only for kLinear and kCosine; greater than warmup

    // Returns the learning rate of a step; steps are counted from 1.
    //   kInverseSqrt: factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)
    // The other schedules increase linearly, factor * step / warmup, during the warmup. Then, with
    // x = min(1, (step - warmup) / (total - warmup)):
    //   kConstant: factor;  kLinear: factor * (1 - x);  kCosine: factor * (1 + cos(pi * x)) / 2
    double rate(int64_t step) const {
        constexpr double kPi = 3.14159265358979323846;
        const double s = step;
        if (kind == Kind::kInverseSqrt)
            return factor / std::sqrt(d_model) * std::min(1 / std::sqrt(s), s / (warmup * std::sqrt(warmup)));
        if (kind == Kind::kConstant || s <= warmup) return factor * std::min(1.0, s / warmup);
        const double x = std::min(1.0, (s - warmup) / (total - warmup));
        return x >= 1 ? 0 : kind == Kind::kLinear ? factor * (1 - x) : factor * (0.5 + 0.5 * std::cos(kPi * x));
    }
};

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

// Objects that all parts of a trainer use.
struct TrainPart {
    Model &model_;
    Stream &stream_;
    const TrainConfig &config_;
};

// Returns the options of a resumed run: the saved ones, with the options of the group "train." that are set in
// `changes`. Throws XF_ERROR_STATE if `changes` sets an option to a new value that cannot change.
Options resumed_options(const Options &saved, const Options &changes);

}  // namespace xf
