/*
 * xformer/status.h - status codes and the error object.
 *
 * Conventions of all headers:
 * - A function that can fail returns an xf_status. On an error, it fills the xf_error of the caller, if any, with one
 *   sentence: what was found, what was expected, and what to do. There is no thread-local "last error".
 * - Parameters come in this order: the object, inputs, xf_config, xf_call, outputs, xf_error.
 * - On an error, no output parameter is written, except the required size if the status is XF_ERROR_BUFFER_TOO_SMALL.
 *   Initialize handles to NULL, so that cleanup code can free them whether or not they were created.
 * - Zero means "not set": 0, NULL, and a zeroed struct (with its struct_size) select the defaults. A member that has no
 *   default, such as xf_source::kind, must be set.
 * - A struct that begins with struct_size may grow at its end in later versions. The caller sets struct_size to the
 *   size of its struct; XF_..._INIT does so. In outputs, the library fills the members that it has, up to struct_size,
 *   and zeroes the others. In inputs, members that the library does not have must be zero; otherwise, the call returns
 *   XF_ERROR_UNSUPPORTED. All elements of an array of such structs must have the same struct_size.
 * - Constants are int32_t values; no enum type occurs in a function, a callback, or a struct.
 * - Names: functions with "_count" return a number, functions with "get" fill outputs of the caller, and functions with
 *   "read" and "write" copy tensors. A function named by a noun, such as xf_model_config(), returns a handle that its
 *   object owns. The functions xf_train_...() act on a trainer; xf_decode(), xf_translate(), xf_score(),
 *   xf_score_texts(), and xf_evaluate() act on a decoder.
 * - Strings are UTF-8 and NUL-terminated. Where a length is passed, the string may contain NUL and needs no terminator.
 * - The thread rules "exclusive", "shared-read", and "any" are defined in context.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_STATUS_H
#define XFORMER_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "xformer/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup status Status codes and errors
 * @brief The result of a call and the reason for a failure.
 * @{
 */

/**
 * @brief Result of a call: 0 is success, a negative value is an error, and a positive value is another documented
 * result.
 *
 * The numbers are part of the ABI. They never change and are never reused. Later versions may add numbers.
 *
 * @since 0.1
 */
typedef int32_t xf_status;

/** @brief Values of xf_status. @since 0.1 */
enum {
    /** Success. */
    XF_OK = 0,
    /** Not an error: nothing is left, for example at the end of an epoch or of a list. */
    XF_DONE = 1,

    /** An argument is NULL, a handle of another kind, or a value that the parameter does not accept. */
    XF_ERROR_INVALID_ARGUMENT = -1,
    /** An allocation failed, or the context's memory budget would be exceeded. */
    XF_ERROR_NO_MEMORY = -2,
    /** No file, option, preset, device, plugin, metadata, or engine request of that name or number exists. */
    XF_ERROR_NOT_FOUND = -3,
    /** A number is outside the documented bounds, or the value of a text option is not one of its choices. */
    XF_ERROR_OUT_OF_RANGE = -4,
    /** The caller's buffer is too small. The required size was written to the size argument. */
    XF_ERROR_BUFFER_TOO_SMALL = -5,
    /** The current state of the handle does not allow the call. */
    XF_ERROR_STATE = -6,
    /** Another call is using the handle (see context.h), or an engine holds its maximum. Nothing was done. */
    XF_ERROR_BUSY = -7,

    /**
     * A file could not be opened, read, or written (native_code is errno), or a callback of an xf_source or xf_sink
     * failed.
     */
    XF_ERROR_IO = -20,
    /** The file is damaged: it is truncated, its checksum is wrong, or its fields contradict each other. */
    XF_ERROR_CORRUPT = -21,
    /** The file or the input exceeds a documented limit. */
    XF_ERROR_LIMIT = -22,
    /** The file or the plugin was written for another version of the library. */
    XF_ERROR_VERSION = -23,
    /** Text is not valid UTF-8, or training data do not have the documented form. */
    XF_ERROR_DATA = -24,

    /** This build, backend, or device does not support the request. */
    XF_ERROR_UNSUPPORTED = -40,
    /** A backend failed; native_code is the backend's own code, for example a cudaError_t. */
    XF_ERROR_BACKEND = -41,
    /** The loss, the gradient, or a parameter is NaN or infinity. Parameters and optimizer state are unchanged. */
    XF_ERROR_NONFINITE = -42,
    /** The handle was created before fork(), by a parent of this process; see context.h. */
    XF_ERROR_FORKED = -43,

    /** The call was cancelled. The handle remains usable. */
    XF_ERROR_CANCELLED = -60,
    /** A callback of the caller requested to stop. */
    XF_ERROR_CALLBACK = -61,
    /** xf_call::deadline_ms passed before the call had a result. The handle remains usable. */
    XF_ERROR_DEADLINE = -62,

    /** Another rank failed, ended, or was silent for "context.comm_timeout"; see experimental.h. */
    XF_ERROR_PEER = -80,
    /**
     * The ranks do not train the same model: options, data, versions, or parameters differ. The message names a rank.
     */
    XF_ERROR_DESYNC = -81,

    /** A defect of the library. Please report it. */
    XF_ERROR_INTERNAL = -99
};

/** @brief Size of xf_error::message in bytes, including the terminating NUL. @since 0.1 */
#define XF_ERROR_MESSAGE_SIZE 248

/**
 * @brief The reason for a failure. Owned by the caller, usually on the stack. 256 bytes; the layout never changes.
 *
 * Filled only when a call returns a negative status. The library neither keeps the pointer nor allocates memory for it.
 *
 * @since 0.1
 */
typedef struct xf_error {
    /** The returned xf_status. */
    int32_t status;
    /** Error code of the operating system or of the backend: errno, a cudaError_t, or 0. */
    int32_t native_code;
    /** One line of UTF-8, NUL-terminated. */
    char message[XF_ERROR_MESSAGE_SIZE];
} xf_error;

/**
 * @brief Returns the name of a status code.
 *
 * @param status [in] any value
 * @return a static string such as "XF_ERROR_CORRUPT", never NULL; "XF_STATUS_UNKNOWN" for a value that this version
 *         does not define
 * @threads any
 * @since 0.1
 */
XF_API const char *xf_status_name(xf_status status);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_STATUS_H */
