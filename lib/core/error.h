// The one exception type of the library.
//
// Inside lib/ errors are thrown; lib/api turns them into an xf_status and an xf_error at the C edge
// (lib/api/guard.h) and no exception leaves the library. A message is one sentence: the value found, the value
// expected. Text comes from printf formats without %f or %g, because these follow the host's locale: format
// doubles with number().
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdarg>
#include <exception>
#include <string>

#include "xformer/status.h"

namespace xf {

class Error : public std::exception {
public:
    Error(xf_status status, std::string message, int native_code = 0)
        : status_(status), native_code_(native_code), message_(std::move(message)) {}

    xf_status status() const noexcept { return status_; }
    int native_code() const noexcept { return native_code_; }
    const char *what() const noexcept override { return message_.c_str(); }

private:
    xf_status status_;
    int native_code_;
    std::string message_;
};

// printf into a std::string.
std::string format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
std::string vformat(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));

// A double in the shortest form that reads back the same, with a point whatever the locale.
std::string number(double value);

// The same where nothing may fail.
class NumberText {
public:
    explicit NumberText(double value) noexcept;
    const char *c_str() const noexcept { return text_; }

private:
    char text_[40];
};

[[noreturn]] void fail(xf_status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// What errno says, in English: strerror() follows the host's locale, and its encoding.
std::string reason_of(int error_number);

// Throws XF_ERROR_IO (NOT_FOUND for ENOENT, NO_MEMORY for ENOMEM) as "cannot <action> <path>: <strerror>", keeping
// errno.
[[noreturn]] void fail_errno(int error_number, const char *action, const std::string &path);

}  // namespace xf

#define XF_CHECK(condition, status, ...)                   \
    do {                                                   \
        if (!(condition)) ::xf::fail(status, __VA_ARGS__); \
    } while (0)
