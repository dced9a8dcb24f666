// Size arithmetic that throws instead of wrapping.
//
// Every size from a file or a caller must use these functions. A product that wraps gives a tiny buffer for a huge
// tensor, the most common vulnerability of model loaders. Check each step, not the result: 2^42 + 1 rows of 2^22
// columns pass every check after the multiplication.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/error.h"

namespace xf {

// a * b. Throws XF_ERROR_LIMIT, which names `what`, if the product does not fit T.
template <class T>
constexpr T checked_mul(T a, T b, const char *what = "a size") {
    T product{};
    if (__builtin_mul_overflow(a, b, &product))
        fail(XF_ERROR_LIMIT, "%s is a product that exceeds %zu bits, expected a size that fits", what, sizeof(T) * 8);
    return product;
}

// a + b. Throws XF_ERROR_LIMIT, which names `what`, if the sum does not fit T.
template <class T>
constexpr T checked_add(T a, T b, const char *what = "a size") {
    T sum{};
    if (__builtin_add_overflow(a, b, &sum))
        fail(XF_ERROR_LIMIT, "%s is a sum that exceeds %zu bits, expected a size that fits", what, sizeof(T) * 8);
    return sum;
}

// Converts to another integer type. Throws XF_ERROR_LIMIT if the value does not fit, such as a negative size.
template <class To, class From>
constexpr To checked_cast(From value, const char *what = "a size") {
    if (!std::in_range<To>(value))
        fail(XF_ERROR_LIMIT, "%s does not fit %zu bits or is negative, expected a size that fits", what,
             sizeof(To) * 8);
    return static_cast<To>(value);
}

// The number of elements of a shape; 1 for a scalar. Throws XF_ERROR_LIMIT for negative dimensions and overflow.
constexpr uint64_t checked_elements(std::span<const int64_t> shape, const char *what = "a shape") {
    uint64_t elements = 1;
    for (const int64_t dimension : shape)
        elements = checked_mul(elements, checked_cast<uint64_t>(dimension, what), what);
    return elements;
}

}  // namespace xf
