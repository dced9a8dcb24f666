// main() of the C++ tests: runs what XF_TEST registered through cmocka; see test.hpp. An argument selects tests by
// a cmocka pattern.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include <cstdio>
#include <cstring>
#include <vector>

extern "C" {
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>  // needs those above
}

namespace xf_test {
namespace {

struct Case {
    const char *name;
    void (*body)();
};

std::vector<Case> &cases() {
    static std::vector<Case> list;
    return list;
}

int failures = 0;

void run_one(void **state) {
    const Case *test = static_cast<const Case *>(*state);
    failures = 0;
    try {
        test->body();
    } catch (const xf::Error &error) {
        record(test->name, 0, std::string("threw ") + xf_status_name(error.status()) + ": " + error.what());
    } catch (const std::exception &error) {
        record(test->name, 0, std::string("threw ") + error.what());
    }
    assert_int_equal(failures, 0);
}

}  // namespace

Registrar::Registrar(const char *name, void (*body)()) { cases().push_back({name, body}); }

void record(const char *file, int line, const std::string &what) {
    ++failures;
    if (failures <= 20) std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

}  // namespace xf_test

int main(int argc, char **argv) {
    using namespace xf_test;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    std::vector<CMUnitTest> tests;
    for (Case &test : cases()) tests.push_back({test.name, run_one, nullptr, nullptr, &test});
    const char *slash = std::strrchr(argv[0], '/');
    return _cmocka_run_group_tests(slash ? slash + 1 : argv[0], tests.data(), tests.size(), nullptr, nullptr);
}
