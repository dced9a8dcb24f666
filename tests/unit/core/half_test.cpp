// core/half.h: conversion of every 16-bit number in both directions, and rounding between neighbors.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/half.h"

#include "test.hpp"

namespace {

// The value of a half by definition.
double value_of(uint16_t half, int fraction_bits, int bias) {
    const int exponent_bits = 15 - fraction_bits, largest = (1 << exponent_bits) - 1;
    const int exponent = half >> fraction_bits & largest;
    const double fraction = (half & ((1 << fraction_bits) - 1)) / std::exp2(fraction_bits);
    const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    return half >> 15 ? -size : size;
}

void check_format(uint16_t (*narrow)(float), float (*widen)(uint16_t), int fraction_bits, int bias) {
    const auto infinity = static_cast<uint16_t>(0x7FFF >> fraction_bits << fraction_bits);
    for (uint32_t i = 0; i < 0x10000; ++i) {
        const auto half = static_cast<uint16_t>(i);
        const uint16_t size = half & 0x7FFF;
        if (size > infinity) {
            CHECK(std::isnan(widen(half)));
            CHECK(std::isnan(widen(narrow(widen(half)))));
            continue;
        }
        if (size == infinity) {
            CHECK_EQ(std::isinf(widen(half)) && std::signbit(widen(half)) == (half >> 15 != 0), true);
        } else {
            CHECK_EQ(static_cast<double>(widen(half)), value_of(half, fraction_bits, bias));
        }
        CHECK_EQ(narrow(widen(half)), half);
        if (size + 1 >= infinity) continue;
        // Between two neighbors, the midpoint rounds to even and other values to the nearest.
        const auto next = static_cast<uint16_t>(half + 1);
        const double middle = (value_of(half, fraction_bits, bias) + value_of(next, fraction_bits, bias)) / 2;
        const auto exact = static_cast<float>(middle);
        if (static_cast<double>(exact) != middle) continue;  // not representable in fp32
        CHECK_EQ(narrow(exact), half % 2 == 0 ? half : next);
        const float outward = std::nextafter(exact, half >> 15 ? -HUGE_VALF : HUGE_VALF);
        CHECK_EQ(narrow(outward), next);
        CHECK_EQ(narrow(std::nextafter(exact, 0.0f)), half);
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

}  // namespace
