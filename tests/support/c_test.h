/*
 * A test program in C with cmocka:
 *
 *     TEST(name) { assert_true(1 + 1 == 2); }
 *     int main(void) { return RUN_TESTS(setup, teardown); }
 *
 * TEST registers itself; the tests of the file run in their order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_C_TEST_H
#define XF_TEST_C_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct CMUnitTest tests_of_file[32] __attribute__((unused));
static size_t test_count __attribute__((unused));

/* The priority of the constructor is the line, so that the order is that of the file. */
#define TEST(name)                                                                               \
    static void test_##name(void **state);                                                       \
    __attribute__((constructor(1000 + __LINE__))) static void register_##name(void) {            \
        if (test_count == sizeof tests_of_file / sizeof *tests_of_file) abort();                 \
        tests_of_file[test_count++] = (struct CMUnitTest){#name, test_##name, NULL, NULL, NULL}; \
    }                                                                                            \
    static void test_##name(void **state __attribute__((unused)))
#define RUN_TESTS(setup, teardown) _cmocka_run_group_tests(__FILE__, tests_of_file, test_count, setup, teardown)

#endif
