// Size arithmetic at its edges.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/checked.h"

#include "support/test.hpp"

using namespace xf;

static_assert(checked_mul<uint64_t>(6, 7) == 42);
static_assert(checked_add<int64_t>(-2, 3) == 1);
static_assert(checked_cast<uint8_t>(255) == 255);

XF_TEST(values_that_fit_pass_and_overflows_are_rejected) {
    constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
    CHECK_EQ(checked_mul<uint64_t>(kMax, 1), kMax);
    CHECK_EQ(checked_add<uint64_t>(kMax, 0), kMax);
    CHECK_FAILS(checked_mul<uint64_t>((uint64_t{1} << 42) + 1, uint64_t{1} << 22), XF_ERROR_LIMIT);
    CHECK_FAILS(checked_mul<int64_t>(std::numeric_limits<int64_t>::min(), -1), XF_ERROR_LIMIT);
    CHECK_FAILS(checked_add<uint64_t>(kMax, 1), XF_ERROR_LIMIT);
    CHECK_FAILS(checked_add<int64_t>(std::numeric_limits<int64_t>::max(), 1), XF_ERROR_LIMIT);
    CHECK_FAILS((checked_cast<uint64_t>(-1)), XF_ERROR_LIMIT);
    CHECK_FAILS((checked_cast<int64_t>(kMax)), XF_ERROR_LIMIT);
    CHECK_FAILS((checked_cast<int32_t>(int64_t{1} << 31)), XF_ERROR_LIMIT);
}

XF_TEST(shape_products_are_checked_for_overflow) {
    CHECK_EQ(checked_elements(std::vector<int64_t>{}), uint64_t{1});
    CHECK_EQ(checked_elements(std::vector<int64_t>{3, 0, 5}), uint64_t{0});
    CHECK_EQ(checked_elements(std::vector<int64_t>{int64_t{1} << 62, 2}), uint64_t{1} << 63);
    CHECK_FAILS(checked_elements(std::vector<int64_t>{int64_t{1} << 62, 4}), XF_ERROR_LIMIT);
    CHECK_FAILS(checked_elements(std::vector<int64_t>{int64_t{1} << 62, 4, 0}), XF_ERROR_LIMIT);
    CHECK_FAILS(checked_elements(std::vector<int64_t>{2, -1}), XF_ERROR_LIMIT);
}
