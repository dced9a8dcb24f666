// The gradient of a step with one shard, whose norm the host checks.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/gradient_sum.h"

namespace xf {

class LocalGradientSum : public GradientSum {
public:
    using GradientSum::GradientSum;

    GradientScale finish() override {
        double squares = 0;
        stream_.run(xf_sum_squares{model_.table().total, grads(), &squares});
        return {clipped_scale(squares)};
    }

    void publish(const Batcher *) override {
        stream_.sync();
        set_zero();
    }
};

}  // namespace xf
