// OpenBLAS in the plugin does not end the process, print, or read environment variables.
//
// Tests the real library with the variables that make it print, and a fake one (loud/) that prints by every means and
// calls exit() when it is loaded or when it allocates a buffer. The plugin must work without it or report an error.
//
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/context.h"
#include "support/test.hpp"

namespace {

struct Outcome {
    std::string printed;
    std::string said;  // the description of the context, or the error
    xf_status status = XF_OK;
};

// Opens the plugin of a folder with its base kernels, which use OpenBLAS, and captures descriptors 1 and 2.
Outcome open_base(const char *folder) {
    Outcome outcome;
    setenv("XF_BACKEND_PATH", folder, 1);
    FILE *file = tmpfile();
    std::fflush(stdout);
    const int out = dup(1), errors = dup(2);
    dup2(fileno(file), 1);
    dup2(fileno(file), 2);
    try {
        xf::Options options;
        options.set("context.device", "cpu:openblas");
        options.set("context.isa", "base");
        options.set("context.threads", "2");
        const xf::Context context(options, nullptr);
        outcome.said = context.description();
    } catch (const xf::Error &error) {
        outcome.status = error.status();
        outcome.said = error.what();
    }
    std::fflush(stdout);
    dup2(out, 1);
    dup2(errors, 2);
    close(out);
    close(errors);
    std::rewind(file);
    char text[256];
    while (std::fgets(text, sizeof text, file)) outcome.printed += text;
    std::fclose(file);
    unsetenv("XF_BACKEND_PATH");
    return outcome;
}

bool holds(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

// Must run before other tests load the plugin: it is never unloaded, and it reads variables when it is loaded.
XF_TEST(a_the_real_one_under_its_variables) {
    setenv("OPENBLAS_VERBOSE", "5", 1);
    setenv("OPENBLAS_CORETYPE", "Atom", 1);
    const Outcome outcome = open_base(XF_TEST_REAL);
    unsetenv("OPENBLAS_VERBOSE");
    unsetenv("OPENBLAS_CORETYPE");
    CHECK_EQ(outcome.status, XF_OK);
    CHECK_EQ(outcome.printed, "");
    CHECK(holds(outcome.said, "OpenBLAS"));
    CHECK(!holds(outcome.said, "Atom"));
}

XF_TEST(exit_at_the_start_disables_openblas) {
    setenv("OPENBLAS_VERBOSE", "5", 1);
    const Outcome outcome = open_base(XF_TEST_LOUD "/start");
    unsetenv("OPENBLAS_VERBOSE");
    CHECK_EQ(outcome.status, XF_OK);
    CHECK_EQ(outcome.printed, "");
    CHECK(holds(outcome.said, "own kernels only"));
}

XF_TEST(exit_without_a_buffer_fails_the_device) {
    for (int round = 0; round < 2; ++round) {
        const Outcome outcome = open_base(XF_TEST_LOUD "/buffer");
        CHECK_EQ(outcome.status, XF_ERROR_NO_MEMORY);
        CHECK_EQ(outcome.printed, "");
        CHECK(holds(outcome.said, "work buffer of OpenBLAS"));
    }
}

}  // namespace
