// xf_status_name: here rather than in lib/api, because error messages and tests of the internals need it too.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/status.h"

#define XF_NAME(status) \
    case status:        \
        return #status;

extern "C" const char *xf_status_name(xf_status status) {
    switch (status) {
        XF_NAME(XF_OK)
        XF_NAME(XF_DONE)
        XF_NAME(XF_ERROR_INVALID_ARGUMENT)
        XF_NAME(XF_ERROR_NO_MEMORY)
        XF_NAME(XF_ERROR_NOT_FOUND)
        XF_NAME(XF_ERROR_OUT_OF_RANGE)
        XF_NAME(XF_ERROR_BUFFER_TOO_SMALL)
        XF_NAME(XF_ERROR_STATE)
        XF_NAME(XF_ERROR_BUSY)
        XF_NAME(XF_ERROR_IO)
        XF_NAME(XF_ERROR_CORRUPT)
        XF_NAME(XF_ERROR_LIMIT)
        XF_NAME(XF_ERROR_VERSION)
        XF_NAME(XF_ERROR_DATA)
        XF_NAME(XF_ERROR_UNSUPPORTED)
        XF_NAME(XF_ERROR_BACKEND)
        XF_NAME(XF_ERROR_NONFINITE)
        XF_NAME(XF_ERROR_FORKED)
        XF_NAME(XF_ERROR_CANCELLED)
        XF_NAME(XF_ERROR_CALLBACK)
        XF_NAME(XF_ERROR_DEADLINE)
        XF_NAME(XF_ERROR_PEER)
        XF_NAME(XF_ERROR_DESYNC)
        XF_NAME(XF_ERROR_INTERNAL)
        default:
            return "XF_STATUS_UNKNOWN";
    }
}
