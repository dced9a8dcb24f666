// Formatting and throwing; see error.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "core/numbers.h"

namespace xf {

std::string vformat(const char *fmt, va_list args) {
    va_list again;
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, fmt, args);
    std::string text(std::max(length, 0), '\0');
    if (length > 0) std::vsnprintf(text.data(), text.size() + 1, fmt, again);
    va_end(again);
    return text;
}

std::string format(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    std::string text = vformat(fmt, args);
    va_end(args);
    return text;
}

NumberText::NumberText(double value) noexcept { *write_number(text_, text_ + sizeof text_ - 1, value) = '\0'; }

std::string number(double value) { return NumberText(value).c_str(); }

void fail(xf_status status, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    std::string text = vformat(fmt, args);
    va_end(args);
    throw Error(status, std::move(text));
}

void fail_errno(int error_number, const char *action, const std::string &path) {
    throw Error(error_number == ENOENT   ? XF_ERROR_NOT_FOUND
                : error_number == ENOMEM ? XF_ERROR_NO_MEMORY
                                         : XF_ERROR_IO,
                format("cannot %s '%s': %s", action, path.c_str(), reason_of(error_number).c_str()), error_number);
}

}  // namespace xf
