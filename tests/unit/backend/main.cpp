// backend_ops: every operation of every backend, from one case list.
//
//     backend_ops [pattern [other]]  the tests, one per backend and check: those that match the cmocka pattern and do
//                                  not match the other
//     backend_ops --speed OP       GF/s or GB/s of each line of speed_shapes.txt whose operation is OP ("all")
//
// XF_TEST_PLUGINS=/path/a.so:/path/b.so names plugins in place of those of this build; XF_TEST_OP=loss runs only
// the cases of that operation.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <list>

#include "backend/check.h"
#include "core/error.h"
#include "ref/ref.h"

extern "C" {
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
}

namespace {

using namespace xf_test;

struct Test {
    Backend backend;
    int (*check)(const Backend &);
    std::string name;
};

int failures_of(const Test &test) {
    try {
        return test.check(test.backend);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s: threw %s\n", test.name.c_str(), error.what());
        return 1;
    }
}

void test_one(void **state) { assert_int_equal(failures_of(*static_cast<const Test *>(*state)), 0); }

bool runs(int (*check)(const Backend &), const Backend &backend) {
    // With a sanitizer, only checks of memory, not those of numbers from calls like those of check_parity.
    if (XF_TEST_SANITIZED && (check == check_definition || check == check_instructions || check == check_gradients ||
                              check == check_functions || check == check_dropout))
        return false;
    if (check == check_listed || check == check_definition) return backend.table == xf_ref_backend();
    if (check == check_instructions)
        return backend.isa.rfind("avx512", 0) == 0 || backend.isa.rfind("neon-", 0) == 0 || backend.isa == "auto";
    if (check == check_flush)
        return backend.bf16() && backend.isa != "base" && std::strcmp(backend.table->kind, "cpu") == 0;
    if (check == check_gradients || check == check_functions) return !backend.bf16();  // 8 bits are too few
    return check != check_copies || backend.bf16();
}

int test_all() {
    const struct {
        const char *name;
        int (*check)(const Backend &);
    } checks[] = {{"listed", check_listed},
                  {"definition", check_definition},
                  {"parity", check_parity},
                  {"gradients", check_gradients},
                  {"workers", check_workers},
                  {"rows", check_rows},
                  {"instructions", check_instructions},
                  {"flush", check_flush},
                  {"sweep", check_sweep},
                  {"steps", check_steps},
                  {"dropout", check_dropout},
                  {"functions", check_functions},
                  {"nan", check_nan},
                  {"copies", check_copies},
                  {"no_memory", check_no_memory}};
    std::list<Test> tests;
    for (const Backend &backend : load_backends())
        for (const auto &check : checks)
            if (runs(check.check, backend)) tests.push_back({backend, check.check, backend.name() + '/' + check.name});
    std::vector<CMUnitTest> units;
    for (Test &test : tests) units.push_back({test.name.c_str(), test_one, nullptr, nullptr, &test});
    return _cmocka_run_group_tests("backend_ops", units.data(), units.size(), nullptr, nullptr);
}

}  // namespace

int main(int argc, char **argv) {
    try {
        if (argc > 2 && std::string(argv[1]) == "--speed") return speed(argv[2]);
        if (argc > 1) cmocka_set_test_filter(argv[1]);
        if (argc > 2) cmocka_set_skip_filter(argv[2]);
        return test_all();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "backend_ops: %s\n", error.what());
        return 1;
    }
}
