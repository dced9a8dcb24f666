// Learning rate by step (paper s. 5.3, eq. 3).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace xf {

struct Schedule {
    enum class Kind { kInverseSqrt, kConstant } kind;
    double factor;  // train.learning_rate
    double warmup;  // steps
    double d_model;

    // step counts from 1. kInverseSqrt: factor d_model^-0.5 min(step^-0.5, step warmup^-1.5);
    // kConstant: factor min(1, step / warmup).
    double rate(int64_t step) const {
        const double s = static_cast<double>(step);
        if (kind == Kind::kConstant) return factor * std::min(1.0, s / warmup);
        return factor / std::sqrt(d_model) * std::min(1 / std::sqrt(s), s / (warmup * std::sqrt(warmup)));
    }
};

}  // namespace xf
