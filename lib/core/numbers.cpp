// See numbers.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/numbers.h"

#if defined(XF_OWN_FLOAT_TEXT)
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace xf {
namespace {

float convert(const char *text, char **end, float) { return std::strtof(text, end); }
double convert(const char *text, char **end, double) { return std::strtod(text, end); }

// from_chars() accepts no leading space or plus sign.
bool may_begin_number(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return text.find_first_of("0123456789.iInN") == 0;
}

template <class T>
std::from_chars_result read(const char *begin, const char *end, T *value) {
    const std::string_view all(begin, end - begin);
    const std::string text(all.substr(0, all.find_first_of("xX")));  // "0x10" is 0: digits are decimal
    if (!may_begin_number(text)) return {begin, std::errc::invalid_argument};
    char *stop = nullptr;
    const T number = convert(text.c_str(), &stop, T{});
    if (stop == text.c_str()) return {begin, std::errc::invalid_argument};
    const std::string_view used(text.c_str(), stop - text.c_str());
    const char *const next = begin + used.size();
    // A number without a nonzero digit in its mantissa is exactly 0.
    const bool tiny = number == 0 && used.substr(0, used.find_first_of("eE")).find_first_of("123456789") != used.npos;
    const bool huge = std::isinf(number) && used.find_first_of("0123456789") != used.npos;
    if (tiny || huge) return {next, std::errc::result_out_of_range};
    *value = number;
    return {next, std::errc()};
}

// Like std::to_chars(): the shorter of the two notations, or without an exponent if they are equally long. Some powers
// of two get one digit more than necessary, because only the nearest number of each length is tried.
template <class T>
char *write(char *begin, T value) noexcept {
    char scientific[40], fixed[400];
    int digits = 0;  // after the first
    for (;; ++digits) {
        std::snprintf(scientific, sizeof scientific, "%.*e", digits, double{value});
        if (digits == 16 || !std::isfinite(value) || convert(scientific, nullptr, T{}) == value) break;
    }
    const char *const exponent = std::strchr(scientific, 'e');
    const int decimals = exponent == nullptr ? 0 : digits - std::atoi(exponent + 1);
    std::snprintf(fixed, sizeof fixed, "%.*f", decimals < 0 ? 0 : decimals, double{value});
    const char *const shorter = std::strlen(fixed) <= std::strlen(scientific) ? fixed : scientific;
    const size_t length = std::strlen(shorter);
    std::memcpy(begin, shorter, length);
    return begin + length;
}

}  // namespace

std::from_chars_result read_number(const char *begin, const char *end, float *value) { return read(begin, end, value); }
std::from_chars_result read_number(const char *begin, const char *end, double *value) {
    return read(begin, end, value);
}
char *write_number(char *begin, char *, float value) noexcept { return write(begin, value); }
char *write_number(char *begin, char *, double value) noexcept { return write(begin, value); }

}  // namespace xf
#endif
