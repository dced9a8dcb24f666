// version.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/version.h"

#include <utf8proc.h>

#define XF_TEXT2(x) #x
#define XF_TEXT(x) XF_TEXT2(x)

extern "C" {

const char *xf_version(void) {
    return XF_TEXT(XF_VERSION_MAJOR) "." XF_TEXT(XF_VERSION_MINOR) "." XF_TEXT(XF_VERSION_PATCH);
}

int32_t xf_version_num(void) { return XF_VERSION_NUM; }

const char *xf_build_info(void) {
    return "libxformer " XF_TEXT(XF_VERSION_MAJOR) "." XF_TEXT(XF_VERSION_MINOR) "." XF_TEXT(
        XF_VERSION_PATCH) ", compiler " __VERSION__
#if defined(NDEBUG)
                          ", release"
#else
                          ", debug"
#endif
                          ", utf8proc " XF_TEXT(UTF8PROC_VERSION_MAJOR) "." XF_TEXT(UTF8PROC_VERSION_MINOR);
}

}  // extern "C"
