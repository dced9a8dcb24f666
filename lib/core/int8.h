// Numbers as 8-bit integers and a scale: how the weights of an int8 model come to be, and what multiplying with them
// makes of the other factor (plugin_abi.h, XF_WEIGHTS_INT8).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace xf {

constexpr float kLeastMagnitude = 0x1p-100f;  // a row whose numbers are all below it counts as zeros: 127 / a is finite

// q[k] = row[k] * 127 / a to the nearest integer, a = max |row[k]|; gives the scale a / 127. A row with a NaN or an
// infinity has zeros and the scale NaN. Every operation is one of fp32, so that every machine gives the same bits.
inline float quantize_row(const float *row, int64_t count, int8_t *q) {
    float most = 0.0f;
    bool finite = true;
    for (int64_t k = 0; k < count; ++k) {
        finite &= std::isfinite(row[k]);
        most = std::max(most, std::fabs(row[k]));
    }
    if (!finite || most < kLeastMagnitude) {
        std::fill_n(q, count, int8_t{0});
        return finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
    }
    const float factor = 127.0f / most;
    for (int64_t k = 0; k < count; ++k) q[k] = static_cast<int8_t>(std::nearbyint(row[k] * factor));
    return most / 127.0f;
}

}  // namespace xf
