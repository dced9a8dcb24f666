// core/half.h: conversion of every 16-bit number in both directions, and rounding between neighbors. core/int8.h:
// quantization of rows, limits, NaN, and infinity.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/half.h"

#include "core/int8.h"
#include "support/test.hpp"

namespace {

// The value of a half by definition.
double value_of(uint16_t half, int fraction_bits, int bias) {
    const int exponent_bits = 15 - fraction_bits, largest = (1 << exponent_bits) - 1;
    const int exponent = half >> fraction_bits & largest;
    const double fraction = (half & ((1 << fraction_bits) - 1)) / std::exp2(fraction_bits);
    const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    return half >> 15 ? -size : size;
}

void check_format(uint16_t (*to_half)(float), float (*to_float)(uint16_t), int fraction_bits, int bias) {
    const auto infinity = static_cast<uint16_t>(0x7FFF >> fraction_bits << fraction_bits);
    for (uint32_t i = 0; i < 0x10000; ++i) {
        const auto half = static_cast<uint16_t>(i);
        const uint16_t size = half & 0x7FFF;
        if (size > infinity) {
            CHECK(std::isnan(to_float(half)));
            CHECK(std::isnan(to_float(to_half(to_float(half)))));
            continue;
        }
        if (size == infinity) {
            CHECK_EQ(std::isinf(to_float(half)) && std::signbit(to_float(half)) == (half >> 15 != 0), true);
        } else {
            CHECK_EQ(static_cast<double>(to_float(half)), value_of(half, fraction_bits, bias));
        }
        CHECK_EQ(to_half(to_float(half)), half);
        if (size + 1 >= infinity) continue;
        // Between two neighbors, the midpoint rounds to even and other values to the nearest.
        const auto next = static_cast<uint16_t>(half + 1);
        const double middle = (value_of(half, fraction_bits, bias) + value_of(next, fraction_bits, bias)) / 2;
        const auto exact = static_cast<float>(middle);
        if (static_cast<double>(exact) != middle) continue;  // not representable in fp32
        CHECK_EQ(to_half(exact), half % 2 == 0 ? half : next);
        const float outward = std::nextafter(exact, half >> 15 ? -HUGE_VALF : HUGE_VALF);
        CHECK_EQ(to_half(outward), next);
        CHECK_EQ(to_half(std::nextafter(exact, 0.0f)), half);
    }
}

XF_TEST(fp16_is_ieee_754) {
    check_format(xf::to_fp16, xf::from_fp16, 10, 15);
    CHECK_EQ(xf::to_fp16(65504.0f), 0x7BFF);
    CHECK_EQ(xf::to_fp16(65519.99f), 0x7BFF);
    CHECK_EQ(xf::to_fp16(65520.0f), 0x7C00);
    CHECK_EQ(xf::to_fp16(-1e30f), 0xFC00);
    CHECK_EQ(xf::to_fp16(std::numeric_limits<float>::denorm_min()), 0);
}

XF_TEST(bf16_is_the_upper_half_of_fp32) {
    check_format(xf::to_bf16, xf::from_bf16, 7, 127);
    CHECK_EQ(xf::to_bf16(std::numeric_limits<float>::max()), 0x7F80);
}

XF_TEST(numbers_are_rounded_to_the_nearest_step) {
    const float row[] = {127.0f, -127.0f, 0.5f, 1.5f, -2.5f, 126.4f, 0.0f};
    int8_t q[7];
    CHECK_EQ(xf::quantize_row(row, 7, q), 1.0f);
    const std::vector<int> expected = {127, -127, 0, 2, -2, 126, 0};  // ties to even
    CHECK(std::vector<int>(q, q + 7) == expected);
}

XF_TEST(the_largest_number_is_exact_at_every_magnitude) {
    for (float most = 0x1p-99f; most < 1e38f; most *= 7.3f) {
        const float row[] = {most, -most, most / 2};
        int8_t q[3];
        const float scale = xf::quantize_row(row, 3, q);
        CHECK_EQ(int{q[0]}, 127);
        CHECK_EQ(int{q[1]}, -127);
        CHECK(std::fabs(scale * 127.0f - most) <= 1e-6f * most);
    }
}

XF_TEST(rows_of_tiny_values_become_zero) {
    for (const float least : {0.0f, -0.0f, 1e-45f, 0x1.fp-101f}) {
        const float row[] = {least, -least};
        int8_t q[2] = {5, 5};
        CHECK_EQ(xf::quantize_row(row, 2, q), 0.0f);
        CHECK(q[0] == 0 && q[1] == 0);
    }
    CHECK_EQ(xf::quantize_row(nullptr, 0, nullptr), 0.0f);
}

XF_TEST(a_value_that_is_not_finite_affects_the_row) {
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()})
        for (int at = 0; at < 3; ++at) {
            float row[] = {1, 2, 3};
            row[at] = bad;
            int8_t q[3];
            CHECK(std::isnan(xf::quantize_row(row, 3, q)));
        }
}

}  // namespace
