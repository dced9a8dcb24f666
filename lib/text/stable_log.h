// log and exp from additions and multiplications only, so that training and sampling give the same results on every
// machine.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace xf {

// log x to about 12 digits, for x > 0. With x = 2^e m and s = (m - 1) / (m + 1), log m = 2 (s + s^3 / 3 + s^5 / 5 +
// ...), |s| < 0.172.
inline double stable_log(double x) {
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) m *= 2, --exponent;
    const double s = (m - 1) / (m + 1), square = s * s;
    double series = 0;
    for (int k = 15; k >= 1; k -= 2) series = series * square + 1.0 / k;
    return 2 * s * series + exponent * 0.69314718055994531;
}

// exp x to about 12 digits, for x <= 0; 0 below -700. With x = n log 2 + r, |r| < 0.347, exp x = 2^n (1 + r + r^2/2 +
// ...).
inline double stable_exp(double x) {
    if (!(x >= -700)) return 0;
    const double n = std::floor(x * 1.4426950408889634 + 0.5);
    const double r = x - n * 0.69314718055994531;
    double series = 1;
    for (int k = 11; k >= 1; --k) series = 1 + series * r * (1.0 / k);
    return std::ldexp(series, n);
}

}  // namespace xf
