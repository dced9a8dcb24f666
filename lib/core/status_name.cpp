// xf_status_name: here rather than in lib/api, because error messages and tests of the internals need it too.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/status.h"

extern "C" const char *xf_status_name(xf_status status) {
    switch (status) {
        case XF_OK:
            return "XF_OK";
        case XF_DONE:
            return "XF_DONE";
        case XF_ERROR_INVALID_ARGUMENT:
            return "XF_ERROR_INVALID_ARGUMENT";
        case XF_ERROR_NO_MEMORY:
            return "XF_ERROR_NO_MEMORY";
        case XF_ERROR_NOT_FOUND:
            return "XF_ERROR_NOT_FOUND";
        case XF_ERROR_OUT_OF_RANGE:
            return "XF_ERROR_OUT_OF_RANGE";
        case XF_ERROR_BUFFER_TOO_SMALL:
            return "XF_ERROR_BUFFER_TOO_SMALL";
        case XF_ERROR_STATE:
            return "XF_ERROR_STATE";
        case XF_ERROR_BUSY:
            return "XF_ERROR_BUSY";
        case XF_ERROR_IO:
            return "XF_ERROR_IO";
        case XF_ERROR_CORRUPT:
            return "XF_ERROR_CORRUPT";
        case XF_ERROR_LIMIT:
            return "XF_ERROR_LIMIT";
        case XF_ERROR_VERSION:
            return "XF_ERROR_VERSION";
        case XF_ERROR_DATA:
            return "XF_ERROR_DATA";
        case XF_ERROR_UNSUPPORTED:
            return "XF_ERROR_UNSUPPORTED";
        case XF_ERROR_BACKEND:
            return "XF_ERROR_BACKEND";
        case XF_ERROR_NONFINITE:
            return "XF_ERROR_NONFINITE";
        case XF_ERROR_FORKED:
            return "XF_ERROR_FORKED";
        case XF_ERROR_CANCELLED:
            return "XF_ERROR_CANCELLED";
        case XF_ERROR_CALLBACK:
            return "XF_ERROR_CALLBACK";
        case XF_ERROR_DEADLINE:
            return "XF_ERROR_DEADLINE";
        case XF_ERROR_PEER:
            return "XF_ERROR_PEER";
        case XF_ERROR_DESYNC:
            return "XF_ERROR_DESYNC";
        case XF_ERROR_INTERNAL:
            return "XF_ERROR_INTERNAL";
        default:
            return "XF_STATUS_UNKNOWN";
    }
}
