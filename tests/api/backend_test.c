/*
 * backend.h: what is no plugin is refused with a reason, and what was told stays true after another is loaded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

static void test_refusals(void **state) {
    (void)state;
    xf_backend_info info;
    memset(&info, 0x5A, sizeof info);
    info.struct_size = sizeof info;
    const size_t count = xf_backend_count(world.context);
    assert_true(count >= 1);
    for (int i = 0; i < WRONG_HANDLES; ++i)
        if (i != CONTEXT) assert_int_equal(xf_backend_count(wrong_handle(i)), 0);
    REFUSED_HANDLE(CONTEXT, info, xf_backend_get(handle, 0, &info, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, info, xf_backend_get(world.context, count, &info, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, info, xf_backend_get(world.context, SIZE_MAX, &info, err));
    CHECK_OUTPUT_STRUCT(xf_backend_info, out, xf_backend_get(world.context, 0, out, err));
    REFUSED_HANDLE(CONTEXT, nothing, xf_backend_load(handle, "libxformer_none.so", err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_backend_load(world.context, NULL, err));
    REFUSED(XF_ERROR_INVALID_ARGUMENT, nothing, xf_backend_load(world.context, "", err));
    REFUSED(XF_ERROR_NOT_FOUND, nothing, xf_backend_load(world.context, "/nowhere/libxformer_none.so", err));
    REFUSED(XF_ERROR_NOT_FOUND, nothing, xf_backend_load(world.context, "libm.so.6", err)); /* no search by name */
    REFUSED(XF_ERROR_BACKEND, nothing, xf_backend_load(world.context, "/", err));
    REFUSED(XF_ERROR_BACKEND, nothing, xf_backend_load(world.context, "/dev/null", err));
    REFUSED(XF_ERROR_BACKEND, nothing, xf_backend_load(world.context, XF_TEST_LIBRARY, err)); /* a library, no plugin */
    const char *path = scratch_path("plugin.so");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("\177ELF and then something else\n", file);
    fclose(file);
    REFUSED(XF_ERROR_BACKEND, nothing, xf_backend_load(world.context, path, err));
    assert_int_equal(xf_backend_count(world.context), count); /* what failed is not listed */
}

static void test_list(void **state) {
    (void)state;
    int active = 0;
    for (size_t i = 0; i < xf_backend_count(world.context); ++i) {
        xf_backend_info info = {.struct_size = sizeof info};
        ACCEPTED(xf_backend_get(world.context, i, &info, err));
        assert_true(info.name && info.version && info.path && info.kind && info.reason);
        assert_int_equal(info.device_count > 0, info.reason[0] == 0);
        active += info.active;
        assert_int_equal(info.active, strcmp(info.name, "ref") == 0);
    }
    assert_int_equal(active, 1);
}

/* The strings are the context's, so loading more must not move them. */
static void test_load(void **state) {
    (void)state;
    if (XF_TEST_PLUGIN[0] == 0) {
        print_message("NOT TESTED: this build has no plugin\n");
        skip();
    }
    xf_backend_info first = {.struct_size = sizeof first}, last = {.struct_size = sizeof last};
    ACCEPTED(xf_backend_get(world.context, 0, &first, err));
    const size_t count = xf_backend_count(world.context);
    for (int i = 0; i < 20; ++i) ACCEPTED(xf_backend_load(world.context, XF_TEST_PLUGIN, err));
    assert_int_equal(xf_backend_count(world.context), count + 20);
    assert_string_equal(first.name, "ref");
    assert_string_equal(first.kind, "cpu");
    ACCEPTED(xf_backend_get(world.context, count + 19, &last, err));
    assert_string_equal(last.name, "openblas");
    assert_string_equal(last.path, XF_TEST_PLUGIN);
    assert_string_equal(last.reason, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals), cmocka_unit_test(test_list),
                                       cmocka_unit_test(test_load)};
    return RUN(tests, world_open, world_close);
}
