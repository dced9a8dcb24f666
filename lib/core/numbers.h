// Conversions of numbers that not every C++ library has: floating-point text and bits.
//
// libc++ before version 20, with which emscripten compiles, cannot read floating-point numbers. Some versions cannot
// write them or lack std::bit_cast. The replacements below use the C library of emscripten, which has no locales.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#define XF_OWN_FLOAT_TEXT 1
#endif

namespace xf {

// std::bit_cast().
template <class To, class From>
constexpr To bits_as(const From &value) noexcept {
    static_assert(sizeof(To) == sizeof(From));
    return __builtin_bit_cast(To, value);
}

#if defined(XF_OWN_FLOAT_TEXT)
std::from_chars_result read_number(const char *begin, const char *end, float *value);
std::from_chars_result read_number(const char *begin, const char *end, double *value);
// The buffer must have at least 40 bytes.
char *write_number(char *begin, char *end, float value) noexcept;
char *write_number(char *begin, char *end, double value) noexcept;
#else
// Writes the shortest text from which the same number is read, without a NUL. Returns its end.
template <class T>
char *write_number(char *begin, char *end, T value) noexcept {
    return std::to_chars(begin, end, value).ptr;
}
#endif

// std::from_chars().
template <class T>
std::from_chars_result read_number(const char *begin, const char *end, T *value) {
    return std::from_chars(begin, end, *value);
}

}  // namespace xf
