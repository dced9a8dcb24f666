// The gradient of a step with one shard, whose norm the host checks.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/gradient_sum.h"

namespace xf {

class LocalGradientSum : public GradientSum {
public:
    using GradientSum::GradientSum;
    GradientScale finish() override;
    void publish(const Batcher *next) override;
};

}  // namespace xf
