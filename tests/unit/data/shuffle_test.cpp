// Permutation: a bijection for every size, uniform, and with frozen results.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include "data/shuffle.h"

namespace {

void check_bijection(uint64_t seed, uint64_t epoch, uint64_t n) {
    const xf::Permutation permutation(seed, epoch, n);
    std::vector<bool> seen(n, false);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < n; ++i) {
        const uint64_t at = permutation(i);
        if (at >= n || seen[at]) {
            ++wrong;
            continue;
        }
        seen[at] = true;
    }
    CHECK_EQ(wrong, 0u);
}

}  // namespace

XF_TEST(every_size_is_a_bijection) {
    for (uint64_t n = 0; n <= 1100; ++n) check_bijection(7, n % 5, n);
    for (uint64_t n : {4095, 4096, 4097, 65537, 386458, 1000003}) check_bijection(n, 3, n);
}

XF_TEST(huge_sizes_stay_in_range) {
    for (uint64_t n : {(uint64_t{1} << 32) + 1, (uint64_t{1} << 62) - 1, (uint64_t{1} << 63) + 5, ~uint64_t{0}}) {
        const xf::Permutation permutation(1, 0, n);
        std::set<uint64_t> values;
        for (uint64_t i = 0; i < 1000; ++i) values.insert(permutation(i));
        CHECK_EQ(values.size(), 1000u);
        CHECK(*values.rbegin() < n);
        CHECK(*values.rbegin() > n / 2);
    }
}

// Each position must have each value equally often over many epochs. n*n cells; chi-squared about (n-1)^2.
XF_TEST(positions_are_near_uniform) {
    for (uint64_t n : {2, 3, 5, 10, 16, 33}) {
        const uint64_t epochs = 400 * n;
        std::vector<double> hits(n * n, 0);
        for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
            const xf::Permutation permutation(11, epoch, n);
            for (uint64_t i = 0; i < n; ++i) hits[i * n + permutation(i)] += 1;
        }
        const double expected = static_cast<double>(epochs) / static_cast<double>(n);
        double chi2 = 0;
        for (double hit : hits) chi2 += (hit - expected) * (hit - expected) / expected;
        const double freedom = static_cast<double>((n - 1) * (n - 1));
        CHECK(chi2 < freedom + 5 * std::sqrt(2 * freedom) + 5);
    }
}

// Adjacent values must be separated: in a random order their mean distance is n/3.
XF_TEST(adjacent_values_are_separated) {
    const uint64_t n = 100000;
    const xf::Permutation permutation(3, 1, n);
    double distance = 0, rank_product = 0;
    for (uint64_t i = 0; i + 1 < n; ++i) {
        const auto a = static_cast<double>(permutation(i)), b = static_cast<double>(permutation(i + 1));
        distance += std::fabs(a - b) / static_cast<double>(n);
        rank_product += (a / n - 0.5) * (static_cast<double>(i) / n - 0.5);
    }
    CHECK_NEAR(distance / n, 1.0 / 3, 0.005);
    CHECK_NEAR(12 * rank_product / n, 0, 0.015);  // correlation of position and value
}

XF_TEST(seed_and_epoch_both_matter) {
    const xf::Permutation base(1, 0, 1000), epoch(1, 1, 1000), seed(2, 0, 1000), again(1, 0, 1000);
    int same_epoch = 0, same_seed = 0, same_again = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
        same_epoch += base(i) == epoch(i);
        same_seed += base(i) == seed(i);
        same_again += base(i) == again(i);
    }
    CHECK(same_epoch < 12);
    CHECK(same_seed < 12);
    CHECK_EQ(same_again, 1000);
}

// Checkpoints depend on these numbers.
XF_TEST(order_is_frozen) {
    const xf::Permutation permutation(42, 7, 1000);
    const uint64_t expected[] = {871, 918, 406, 272};
    for (uint64_t i = 0; i < 4; ++i) CHECK_EQ(permutation(i), expected[i]);
}
