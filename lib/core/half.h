// Numbers of 16 bits: IEEE 754 binary16 and bfloat16, to and from fp32. Nearest, ties to even.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace xf {

uint16_t to_fp16(float value);  // from 65520 on infinity
float from_fp16(uint16_t half);
uint16_t to_bf16(float value);
float from_bf16(uint16_t half);

}  // namespace xf
