// Runs the tests that TEST() registered; an argument selects those whose names hold it.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.hpp"

namespace {
struct Case {
    const char *name;
    void (*body)();
};
std::vector<Case> &cases() {
    static std::vector<Case> list;
    return list;
}
}  // namespace

check::Test::Test(const char *name, void (*body)()) { cases().push_back({name, body}); }

int main(int argc, char **argv) {
    int run = 0, failed = 0;
    for (const Case &test : cases()) {
        if (argc > 1 && std::strstr(test.name, argv[1]) == nullptr) continue;
        ++run;
        try {
            test.body();
        } catch (const std::exception &error) {
            ++failed;
            std::fprintf(stderr, "FAILED %s: %s\n", test.name, error.what());
        }
    }
    std::printf("%d tests, %d failed\n", run, failed);
    return failed != 0 || run == 0;
}
