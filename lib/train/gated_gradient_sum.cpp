// See gated_gradient_sum.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/gated_gradient_sum.h"

#include <cmath>

namespace xf {

GradientScale GatedGradientSum::finish() {
    DeviceVerdict *const verdict = batch_.verdict();
    stream_.run(xf_gate{model_.table().total, grads(), &verdict->batch_loss, mean_scale(), kMaxSquare,
                        config_.clip_norm, &verdict->squares});
    return {mean_scale(), &verdict->squares};
}

void GatedGradientSum::publish(const Batcher *next) {
    if (next != nullptr) batch_.prefetch(*next, {static_cast<uint32_t>(optimizer_.steps_done() + 2), 0});
    DeviceVerdict verdict;
    stream_.download(&verdict, batch_.verdict(), sizeof verdict);
    stats_.loss_sum = verdict.loss, stats_.nll_sum = verdict.nll;
    norm_ = std::sqrt(verdict.squares) * mean_scale();
    check_loss(verdict.loss);
    check_gradient(verdict.open != 0);
    set_zero();
}

}  // namespace xf
