// The result of a training step.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ranks/rank_group.h"

namespace xf {

enum class Outcome { kUpdated = 0, kSkipped = 1, kRolledBack = 2 };

struct StepStats : ShardStats {
    int64_t step = 0;
    double learning_rate = 0, gradient_norm = 0;
    Outcome outcome = Outcome::kUpdated;
};

}  // namespace xf
