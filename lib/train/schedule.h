// The learning rate of each step: the schedule of the paper (s. 5.3, eq. 3) and three common ones.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace xf {

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

}  // namespace xf
