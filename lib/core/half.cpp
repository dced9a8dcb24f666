// SPDX-License-Identifier: Apache-2.0
#include "core/half.h"

#include <cmath>

#include "core/numbers.h"

namespace xf {

// Between 2^-14 and 65504 fp16 has 10 of fp32's 23 bits; below, a number is a multiple of 2^-24.
uint16_t to_fp16(float value) {
    const uint16_t sign = bits_as<uint32_t>(value) >> 16 & 0x8000u;
    const uint32_t bits = bits_as<uint32_t>(value) & 0x7FFFFFFFu;
    if (bits > 0x7F800000u) return sign | 0x7E00u;   // NaN
    if (bits >= 0x477FF000u) return sign | 0x7C00u;  // from 65520 on: infinity
    if (bits < 0x38800000u) {
        // Adding 0.5 leaves multiples of 2^-24 and rounds as the processor does.
        const float shifted = bits_as<float>(bits) + 0.5f;
        return sign | (bits_as<uint32_t>(shifted) - 0x3F000000u);
    }
    const uint32_t rounded = bits + 0xFFFu + (bits >> 13 & 1u);
    return sign | ((rounded >> 13) - (112u << 10));
}

float from_fp16(uint16_t half) {
    const uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 0x1Fu;
    const uint32_t fraction = half & 0x3FFu;
    if (exponent == 0) {
        const float small = fraction * 0x1p-24f;
        return sign != 0 ? -small : small;
    }
    return bits_as<float>(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13);
}

uint16_t to_bf16(float value) {
    const auto bits = bits_as<uint32_t>(value);
    if (std::isnan(value)) return bits >> 16 | 0x40u;
    return (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
}

float from_bf16(uint16_t half) { return bits_as<float>(uint32_t{half} << 16); }

}  // namespace xf
