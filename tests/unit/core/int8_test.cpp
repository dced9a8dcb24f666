// Quantization of rows to int8: rounding, limits, NaN, and infinity.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/int8.h"

#include "support/test.hpp"

using xf::quantize_row;

XF_TEST(numbers_are_rounded_to_the_nearest_step) {
    const float row[] = {127.0f, -127.0f, 0.5f, 1.5f, -2.5f, 126.4f, 0.0f};
    int8_t q[7];
    CHECK_EQ(quantize_row(row, 7, q), 1.0f);
    const std::vector<int> expected = {127, -127, 0, 2, -2, 126, 0};  // ties to even
    CHECK(std::vector<int>(q, q + 7) == expected);
}

XF_TEST(the_largest_number_is_exact_at_every_magnitude) {
    for (float most = 0x1p-99f; most < 1e38f; most *= 7.3f) {
        const float row[] = {most, -most, most / 2};
        int8_t q[3];
        const float scale = quantize_row(row, 3, q);
        CHECK_EQ(int{q[0]}, 127);
        CHECK_EQ(int{q[1]}, -127);
        CHECK(std::fabs(scale * 127.0f - most) <= 1e-6f * most);
    }
}

XF_TEST(rows_of_tiny_values_become_zero) {
    for (const float least : {0.0f, -0.0f, 1e-45f, 0x1.fp-101f}) {
        const float row[] = {least, -least};
        int8_t q[2] = {5, 5};
        CHECK_EQ(quantize_row(row, 2, q), 0.0f);
        CHECK(q[0] == 0 && q[1] == 0);
    }
    CHECK_EQ(quantize_row(nullptr, 0, nullptr), 0.0f);
}

XF_TEST(a_value_that_is_not_finite_affects_the_row) {
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()})
        for (int at = 0; at < 3; ++at) {
            float row[] = {1, 2, 3};
            row[at] = bad;
            int8_t q[3];
            CHECK(std::isnan(quantize_row(row, 3, q)));
        }
}
