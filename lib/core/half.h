// Conversion between fp32 and the 16-bit types: IEEE 754 binary16 and bfloat16. Rounds to nearest, ties to even.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace xf {

uint16_t to_fp16(float value);  // 65520 and above become infinity
float from_fp16(uint16_t half);
uint16_t to_bf16(float value);
float from_bf16(uint16_t half);

}  // namespace xf
