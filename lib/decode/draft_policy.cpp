// SPDX-License-Identifier: Apache-2.0
#include "decode/draft_policy.h"

#include <algorithm>

namespace xf {

// The balance never exceeds the cost of this number of steps, so that a draft that stops being right is soon unused.
constexpr double kMostSteps = 2;
// Proposals must be expected to gain this much, because the costs are estimates.
constexpr double kGain = 1.05;

int64_t DraftPolicy::best(int64_t n, double acceptance, int64_t most) const {
    int64_t found = 0;
    double highest = kGain / cost(n), tokens = 1, power = 1;
    for (int64_t k = 1; k <= most; ++k) {
        power *= acceptance;
        tokens += power;
        const double speed = tokens / (cost(n + n * k) + static_cast<double>(k) * draft_step_ * cost(n));
        if (speed > highest) highest = speed, found = k;
    }
    return found;
}

int64_t DraftPolicy::tokens(int64_t n, int64_t most) const {
    if (balance_ < 0 || most < 1) return 0;
    const int64_t found = best(n, acceptance_, most);
    // Without proposals the estimate would never change: tries one token when the balance has recovered.
    return found == 0 && balance_ >= kMostSteps * cost(n) ? best(n, 1, 1) : found;
}

void DraftPolicy::add_step(int64_t n, int64_t proposed, int64_t accepted) {
    const double plain = cost(n);
    const double saved = plain * static_cast<double>(accepted) / static_cast<double>(n) - (cost(n + proposed) - plain);
    balance_ = std::min(balance_ + saved + plain / 16, kMostSteps * plain);
}

}  // namespace xf
