// Symmetric int8 quantization with one scale per row, for weights (offline) and activations (at run time). See
// XF_WEIGHTS_INT8 in plugin_abi.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace xf {

constexpr float kLeastMagnitude = 0x1p-100f;  // a row below it becomes zeros, so that 127 / max|row| is finite

// Quantizes one row: q[k] = round(row[k] * 127 / max|row|). Returns the scale max|row| / 127. If the row contains a NaN
// or an infinity, q is zero and the scale is NaN. All operations are fp32, so every CPU produces the same bits.
inline float quantize_row(const float *row, int64_t count, int8_t *q) {
    float largest = 0.0f;
    bool finite = true;
    for (int64_t k = 0; k < count; ++k) {
        finite &= std::isfinite(row[k]);
        largest = std::max(largest, std::fabs(row[k]));
    }
    if (!finite || largest < kLeastMagnitude) {
        std::fill_n(q, count, int8_t{0});
        return finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
    }
    const float factor = 127.0f / largest;
    for (int64_t k = 0; k < count; ++k) q[k] = static_cast<int8_t>(std::nearbyint(row[k] * factor));
    return largest / 127.0f;
}

}  // namespace xf
