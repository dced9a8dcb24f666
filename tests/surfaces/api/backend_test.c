/*
 * backend.h: the available backends, their status, and that listing them opens nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

/* Reads the mappings of this process: a CPU context does not load CUDA. The first test, as plugins stay loaded. */
static int is_mapped(const char *part) {
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    char line[512];
    int found = 0;
    while (fgets(line, sizeof line, maps)) found |= strstr(line, part) != NULL;
    fclose(maps);
    return found;
}

TEST(cpu_needs_no_gpu) {
    static const char *const devices[] = {"cpu:ref", "cpu:openblas", "cpu"};
    for (int d = 0; d < 3; ++d) {
        xf_context *context = context_on(devices[d]);
        xf_context_free(context);
        assert_false(is_mapped("libcudart") || is_mapped("libcuda.so") || is_mapped("libxformer_cuda"));
        if (d == 0) assert_false(is_mapped("libxformer_openblas"));
    }
}

TEST(refusals) {
    PAINTED(xf_backend_info, info);
    const size_t count = xf_context_backend_count(world.context);
    assert_true(count >= 3);
    REFUSED(XF_ERROR_OUT_OF_RANGE, info, xf_context_get_backend(world.context, count, &info, err));
    REFUSED(XF_ERROR_OUT_OF_RANGE, info, xf_context_get_backend(world.context, SIZE_MAX, &info, err));
}

/* The state of a backend of this name; -1 when it is not listed. */
static int32_t state_of(const xf_context *context, const char *name) {
    int32_t found = -1;
    for (size_t i = 0; i < xf_context_backend_count(context); ++i) {
        xf_backend_info info = XF_BACKEND_INFO_INIT;
        ACCEPTED(xf_context_get_backend(context, i, &info, err));
        assert_true(info.name && info.version && info.path && info.kind && info.reason);
        assert_int_equal(info.device_count > 0, info.state >= XF_BACKEND_USABLE);
        assert_int_equal(info.reason[0] != 0, info.state == XF_BACKEND_ABSENT || info.state == XF_BACKEND_UNUSABLE);
        if (strcmp(info.name, "ref") != 0) assert_int_equal(info.path[0] == 0, info.state == XF_BACKEND_ABSENT);
        assert_int_equal(info.version[0] != 0, info.state >= XF_BACKEND_USABLE);
        if (strcmp(info.name, name) == 0) found = info.state;
    }
    return found;
}

TEST(list) {
    assert_int_equal(state_of(world.context, "ref"), XF_BACKEND_ACTIVE);
    assert_true(state_of(world.context, "openblas") <= XF_BACKEND_FOUND); /* there or not, it was not opened */
    assert_true(state_of(world.context, "cuda") <= XF_BACKEND_FOUND);
    assert_int_equal(state_of(world.context, "foo"), -1);
    OWNED_CONTEXT *other = context_on("cpu:openblas");
    if (other == NULL) return;
    assert_int_equal(state_of(other, "openblas"), XF_BACKEND_ACTIVE);
    assert_int_equal(state_of(other, "ref"), XF_BACKEND_USABLE);
}

int main(void) { return RUN_TESTS(world_open, world_close); }
