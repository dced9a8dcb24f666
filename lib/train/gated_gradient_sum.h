// The gradient of a step with one shard, on a device that decides whether the update is applied (xf_gate).
//
// The host waits only once, at the end of the step. The next batch is packed and uploaded before that (prefetcher.h).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/gradient_sum.h"

namespace xf {

class GatedGradientSum : public GradientSum {
public:
    using GradientSum::GradientSum;
    GradientScale finish() override;
    void publish(const Batcher *next) override;
};

}  // namespace xf
