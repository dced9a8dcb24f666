/*
 * version.h and status.h: the two headers without handles.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "support.h"

TEST(version) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", XF_VERSION_MAJOR, XF_VERSION_MINOR, XF_VERSION_PATCH);
    assert_string_equal(xf_version(), text);
    assert_int_equal(xf_version_num(), XF_VERSION_NUM);
    assert_non_null(xf_build_info());
    assert_null(strchr(xf_build_info(), '\n'));
    assert_true(strlen(xf_build_info()) > 10);
}

TEST(status_names) {
#define NAMED(status) assert_string_equal(xf_status_name(status), #status)
    NAMED(XF_OK);
    NAMED(XF_DONE);
    NAMED(XF_ERROR_INVALID_ARGUMENT);
    NAMED(XF_ERROR_NO_MEMORY);
    NAMED(XF_ERROR_NOT_FOUND);
    NAMED(XF_ERROR_OUT_OF_RANGE);
    NAMED(XF_ERROR_BUFFER_TOO_SMALL);
    NAMED(XF_ERROR_STATE);
    NAMED(XF_ERROR_BUSY);
    NAMED(XF_ERROR_IO);
    NAMED(XF_ERROR_CORRUPT);
    NAMED(XF_ERROR_LIMIT);
    NAMED(XF_ERROR_VERSION);
    NAMED(XF_ERROR_DATA);
    NAMED(XF_ERROR_UNSUPPORTED);
    NAMED(XF_ERROR_BACKEND);
    NAMED(XF_ERROR_NONFINITE);
    NAMED(XF_ERROR_FORKED);
    NAMED(XF_ERROR_CANCELLED);
    NAMED(XF_ERROR_CALLBACK);
    NAMED(XF_ERROR_DEADLINE);
    NAMED(XF_ERROR_PEER);
    NAMED(XF_ERROR_DESYNC);
    NAMED(XF_ERROR_INTERNAL);
    int known = 0;
    for (int32_t status = -300; status <= 300; ++status)
        known += strcmp(xf_status_name(status), "XF_STATUS_UNKNOWN") != 0;
    assert_int_equal(known, 24); /* a new code gets a line above */
    assert_string_equal(xf_status_name(INT32_MIN), "XF_STATUS_UNKNOWN");
    assert_string_equal(xf_status_name(INT32_MAX), "XF_STATUS_UNKNOWN");
}

int main(void) { return RUN_TESTS(NULL, NULL); }
