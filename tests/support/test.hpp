// A thin C++ layer over cmocka for tests of the internals.
//
// cmocka reports a failed assertion by longjmp, which skips C++ destructors. Therefore CHECK only records a failure.
// The wrapper of each test catches exceptions and makes one cmocka assertion after all destructors have run.
//
//     XF_TEST(adds) { CHECK(1 + 1 == 2); CHECK_EQ(a, b); CHECK_NEAR(x, y, 1e-6); CHECK_FAILS(f(), XF_ERROR_DATA); }
//
// tests/support/main.cpp defines main(). Tests of the public API are written in C and use cmocka directly. The standard
// headers of core/precompiled.h are included here; tests do not repeat them.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.h"
#include "core/precompiled.h"
#include "support/sanitized.h"

namespace xf_test {

struct Registrar {
    Registrar(const char *file, const char *name, void (*body)());
};

void record(const char *file, int line, const std::string &what);

// XF_TEST_DEVICES=cuda runs a program a second time, on GPUs. Tests that use no device have already run then.
inline bool has_run_on_cpu() {
    const char *const kind = std::getenv("XF_TEST_DEVICES");
    return kind != nullptr && std::string_view(kind) == "cuda";
}

template <class A, class B>
void check_equal(const A &a, const B &b, const char *text, const char *file, int line) {
    if (a == b) return;
    std::ostringstream out;
    out << text << ": " << a << " != " << b;
    record(file, line, out.str());
}

inline void check_near(double a, double b, double tolerance, const char *text, const char *file, int line) {
    if (std::fabs(a - b) <= tolerance) return;  // false for NaN
    std::ostringstream out;
    out.precision(17);
    out << text << ": " << a << " and " << b << " differ by more than " << tolerance;
    record(file, line, out.str());
}

// The error that a call threw; XF_OK and an empty message if it returned.
struct CallOutcome {
    xf_status status = XF_OK;
    int native_code = 0;
    std::string message = {};
    bool says(std::string_view part) const { return message.find(part) != std::string::npos; }
};

template <class F>
CallOutcome outcome_of(F &&body) {
    try {
        body();
    } catch (const xf::Error &error) {
        return {error.status(), error.native_code(), error.what()};
    }
    return {};
}

template <class F>
bool out_of_memory(F &&body) {
    try {
        body();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

// Texts in place of a part of a valid text, each of which makes it invalid.
struct Changes {
    const char *from;
    std::vector<const char *> to;
};

// Replaces the first occurrence of `from`.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const size_t at = text.find(from);
    if (at == std::string::npos) xf::fail(XF_ERROR_INTERNAL, "no '%s' in the text", std::string(from).c_str());
    return text.replace(at, from.size(), to);
}

inline void check_fails(const CallOutcome &found, xf_status status, std::string_view part, const char *text,
                        const char *file, int line) {
    if (found.status == XF_OK) return record(file, line, std::string(text) + ": did not fail");
    if (found.status == status && found.says(part)) return;
    record(file, line, std::string(text) + ": status " + xf_status_name(found.status) + ": " + found.message);
}

template <class F>
void check_fails(F &&body, xf_status status, const char *text, const char *file, int line) {
    check_fails(outcome_of(body), status, "", text, file, line);
}

}  // namespace xf_test

#define XF_TEST(name)                                                       \
    static void name();                                                     \
    static const xf_test::Registrar register_##name(__FILE__, #name, name); \
    static void name()
#define CHECK(condition)                                                   \
    do {                                                                   \
        if (!(condition)) xf_test::record(__FILE__, __LINE__, #condition); \
    } while (0)
#define CHECK_EQ(a, b) xf_test::check_equal((a), (b), #a " == " #b, __FILE__, __LINE__)
#define CHECK_NEAR(a, b, tolerance) xf_test::check_near((a), (b), (tolerance), #a " ~ " #b, __FILE__, __LINE__)
#define CHECK_FAILS(expression, status) \
    xf_test::check_fails([&] { (void)(expression); }, (status), #expression, __FILE__, __LINE__)
// The same, with a message that contains a text.
#define CHECK_REFUSED(expression, status, part)                                                                     \
    xf_test::check_fails(xf_test::outcome_of([&] { (void)(expression); }), (status), (part), #expression, __FILE__, \
                         __LINE__)
