// main() of the C++ tests: runs the tests that XF_TEST registered through cmocka; see test.hpp.
//
//     PROGRAM [GROUP] [PATTERN]
//
// The tests of a file NAME_test.cpp are the group NAME. PATTERN selects tests by name, with * and ?.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include <fnmatch.h>

extern "C" {
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>  // requires the headers above
}

namespace xf_test {
namespace {

struct Case {
    const char *name;
    void (*body)();
};

std::map<std::string, std::vector<Case>> &groups() {
    static std::map<std::string, std::vector<Case>> map;
    return map;
}

std::string group_of(std::string_view file) {
    file.remove_prefix(file.rfind('/') + 1);
    file = file.substr(0, file.rfind('.'));
    if (file.ends_with("_test")) file.remove_suffix(5);
    return std::string(file);
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

Registrar::Registrar(const char *file, const char *name, void (*body)()) {
    groups()[group_of(file)].push_back({name, body});
}

void record(const char *file, int line, const std::string &what) {
    ++failures;
    if (failures <= 20) std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

}  // namespace xf_test

int main(int argc, char **argv) {
    using namespace xf_test;
    const bool one_group = argc > 1 && groups().count(argv[1]) == 1;
    const char *const pattern = argc > 1 + one_group ? argv[1 + one_group] : "*";
    int failed = 0;
    size_t count = 0;
    for (auto &[group, cases] : groups()) {
        if (one_group && group != argv[1]) continue;
        std::vector<CMUnitTest> tests;
        for (Case &test : cases)
            if (fnmatch(pattern, test.name, 0) == 0) tests.push_back({test.name, run_one, nullptr, nullptr, &test});
        if (tests.empty()) continue;
        count += tests.size();
        failed += _cmocka_run_group_tests(group.c_str(), tests.data(), tests.size(), nullptr, nullptr);
    }
    if (count == 0 || argc > 2 + one_group) {
        std::fprintf(stderr, "usage: %s [GROUP] [PATTERN]; no test matches. The groups are:\n", argv[0]);
        for (const auto &[group, cases] : groups())
            std::fprintf(stderr, "  %s: %zu tests\n", group.c_str(), cases.size());
        return 2;
    }
    return failed;
}
