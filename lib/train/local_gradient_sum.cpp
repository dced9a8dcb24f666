// See local_gradient_sum.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/local_gradient_sum.h"

namespace xf {

GradientScale LocalGradientSum::finish() {
    double squares = 0;
    stream_.run(xf_sum_squares{model_.table().total, grads(), &squares});
    return {clipped_scale(squares)};
}

void LocalGradientSum::publish(const Batcher *) {
    stream_.sync();
    set_zero();
}

}  // namespace xf
