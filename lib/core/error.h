// The one exception type of the library.
//
// Inside lib/ errors are exceptions. lib/api converts them to an xf_status and an xf_error at the C edge
// (lib/api/guard.h), so no exception leaves the library. A message is one sentence: what was found, what was expected,
// what to do. Messages use printf formats without %f and %g, which depend on the host's locale; use number() for
// doubles.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cinttypes>  // PRId64 in formats
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

// printf() to a std::string.
std::string format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
std::string vformat(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));

// The shortest decimal form that reads back as the same double, in any locale.
std::string number(double value);

// The same without allocation, where nothing may fail.
class NumberText {
public:
    explicit NumberText(double value) noexcept;
    const char *c_str() const noexcept { return text_; }

private:
    char text_[40];
};

[[noreturn]] void fail(xf_status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// The description of an errno value, in English. strerror() depends on the host's locale. Defined in core/os.
std::string reason_of(int error_number);

// Throws XF_ERROR_IO (NOT_FOUND for ENOENT, NO_MEMORY for ENOMEM) as "cannot <action> '<path>': <reason>", with errno
// as the native code.
[[noreturn]] void fail_errno(int error_number, const char *action, const std::string &path);

}  // namespace xf

#define XF_CHECK(condition, status, ...)                   \
    do {                                                   \
        if (!(condition)) ::xf::fail(status, __VA_ARGS__); \
    } while (0)
