// Tests as functions, and checks that throw: a failed one unwinds, so every destructor of a test runs.
//
//     TEST(adds) { CHECK(1 + 1 == 2); CHECK_THROWS(XF_ERROR_STATE, trainer.update()); if (odd) FAIL("odd"); }
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <xformer/xformer.hpp>

namespace check {

struct Test {
    Test(const char *name, void (*body)());
};

struct Failure : std::runtime_error {
    Failure(const char *file, int line, const std::string &what)
        : std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what) {}
};

// The Error that a body throws, which must be one with this status and a sentence.
template <class Body>
xformer::Error caught(xf_status status, const Body &body, const char *text, const char *file, int line) {
    try {
        body();
    } catch (const xformer::Error &error) {
        if (error.status() != status)
            throw Failure(file, line, std::string(text) + ": " + xf_status_name(error.status()) + ", " + error.what());
        if (std::string(error.what()).size() < 8) throw Failure(file, line, std::string(text) + ": no sentence");
        return error;
    }
    throw Failure(file, line, std::string(text) + " did not throw");
}

}  // namespace check

#define TEST(name)                                      \
    static void name();                                 \
    static const check::Test test_##name(#name, &name); \
    static void name()
#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) throw check::Failure(__FILE__, __LINE__, #condition); \
    } while (false)
#define CHECK_THROWS(status, ...) \
    check::caught(                \
        status, [&] { (void)(__VA_ARGS__); }, #__VA_ARGS__, __FILE__, __LINE__)
#define FAIL(what) throw check::Failure(__FILE__, __LINE__, what)
