// The gradient of a step with one shard, on a device that decides whether the update is applied (xf_gate).
//
// The host waits only once, at the end of the step. The next batch is packed and uploaded before that (prefetcher.h).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "train/gradient_sum.h"

namespace xf {

class GatedGradientSum : public GradientSum {
public:
    using GradientSum::GradientSum;

    GradientScale finish() override {
        DeviceVerdict *const verdict = batch_.verdict();
        stream_.run(xf_gate{model_.table().total, grads(), &verdict->batch_loss, mean_scale(), kMaxSquare,
                            config_.clip_norm, &verdict->squares});
        return {mean_scale(), &verdict->squares};
    }

    void publish(const Batcher *next) override {
        if (next != nullptr) batch_.prefetch(*next, {step_number() + 1, 0});
        DeviceVerdict verdict;
        stream_.download(&verdict, batch_.verdict(), sizeof verdict);
        stats_.loss_sum = verdict.loss, stats_.nll_sum = verdict.nll;
        norm_ = std::sqrt(verdict.squares) * mean_scale();
        check_loss(verdict.loss);
        check_gradient(verdict.open != 0);
        set_zero();
    }
};

}  // namespace xf
