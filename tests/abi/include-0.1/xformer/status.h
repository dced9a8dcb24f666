/*
 * xformer/status.h - status codes and the error object.
 *
 * Every function that can fail returns an enum xf_status and, when the caller passes an xf_error, fills it with
 * one sentence that says which value was found and which was expected. There is no thread-local "last error".
 *
 * Conventions of all headers:
 * - On an error no output is written, but for the size with XF_ERROR_BUFFER_TOO_SMALL: *out and every output struct
 *   stay as they were. So set a handle to NULL before the call that makes it, and any path may free it.
 * - A struct that begins with struct_size may grow at its end in later versions. The caller sets it to sizeof of its
 * own (XF_HYPOTHESIS_INIT and its like do). Outputs: the library fills what both sides know and zeroes the rest.
 * Inputs: what it does not know must be zero, else XF_ERROR_UNSUPPORTED. In an array all have one size.
 * - Names: a noun returns what it says (xf_model_config), "_count" counts, "get" writes to its outputs and returns a
 *   status, "read" and "write" copy numbers. A function is named after the object it acts on, its first parameter; what
 *   makes one takes first what that is made from. These stand alone: xf_train_*() act on a trainer; xf_decode(),
 *   xf_translate(), xf_score(), xf_evaluate*(), xf_attention_weights() on a decoder; xf_backend_*() on a context.
 * - Strings are UTF-8 and NUL-terminated; where a length stands beside, NUL is a character like others.
 * - "exclusive", "shared-read", "any" in the thread rules are explained in context.h.
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
 * @brief What a call returns, and where the reason is found.
 * @{
 */

/**
 * @brief Result of a call: 0 is success, a negative value is an error, a positive value a documented non-error.
 *
 * The numbers are part of the ABI: none is ever changed or used again.
 *
 * @since 0.1
 */
enum xf_status {
    /** Success. */
    XF_OK = 0,
    /** Not an error: an iterator has nothing more to give. */
    XF_DONE = 1,

    /** A NULL, a handle of the wrong kind, a value the parameter can't take. */
    XF_ERROR_INVALID_ARGUMENT = -1,
    /** The allocator gave nothing, or the context's memory budget would be exceeded. */
    XF_ERROR_NO_MEMORY = -2,
    /** No option, file, backend or tensor of that name. */
    XF_ERROR_NOT_FOUND = -3,
    /** A number outside the documented bounds, or a word that is none of those allowed (an option's, say). */
    XF_ERROR_OUT_OF_RANGE = -4,
    /** The caller's buffer is too small; the size needed was written to its size argument. */
    XF_ERROR_BUFFER_TOO_SMALL = -5,
    /** The call is not allowed in the handle's present state. */
    XF_ERROR_STATE = -6,
    /** Another call uses the handle in a way that this one can't share; see context.h. Nothing was done. */
    XF_ERROR_BUSY = -7,

    /** The operating system refused to open, read or write; native_code is errno. */
    XF_ERROR_IO = -20,
    /** The file is damaged: truncated, a wrong checksum, a field that contradicts another. */
    XF_ERROR_CORRUPT = -21,
    /** The file or the input asks for more than the documented limits allow. */
    XF_ERROR_LIMIT = -22,
    /** The file or the plugin was written for another version of the library. */
    XF_ERROR_VERSION = -23,
    /** Text is not valid UTF-8, or training data are not of the promised form. */
    XF_ERROR_DATA = -24,

    /** This build, backend or device can't do it. */
    XF_ERROR_UNSUPPORTED = -40,
    /** A backend failed; native_code is its own code (a cudaError_t, say). */
    XF_ERROR_BACKEND = -41,
    /** Loss or gradients are not finite; weights and optimizer state are as before the call. */
    XF_ERROR_NONFINITE = -42,
    /** The handle belongs to a process from which this one was forked. */
    XF_ERROR_FORKED = -43,

    /** The call was cancelled. The handle is usable; what it holds is as documented for errors. */
    XF_ERROR_CANCELLED = -60,
    /** The caller's callback asked to stop. */
    XF_ERROR_CALLBACK = -61,
    /** "decode.deadline_ms" passed before there was anything to give. */
    XF_ERROR_DEADLINE = -62,

    /** Another rank failed, ended or was silent for "context.comm_timeout"; see comm.h. */
    XF_ERROR_PEER = -80,
    /** The ranks do not train the same thing: other options, data, versions or parameters. The message names a rank. */
    XF_ERROR_DESYNC = -81,

    /** A defect of the library: please report it. */
    XF_ERROR_INTERNAL = -99
};

/** @brief Bytes of xf_error::message, its terminating NUL included. @since 0.1 */
#define XF_ERROR_MESSAGE_SIZE 248

/**
 * @brief Why a call failed. Owned by the caller; 256 bytes, frozen for ever; may live on the stack.
 *
 * Filled only when a call returns a negative status. The library neither keeps the pointer nor allocates,
 * so running out of memory is reported too.
 *
 * @since 0.1
 */
typedef struct xf_error {
    /** The same value as was returned, an enum xf_status. */
    int32_t status;
    /** errno, a cudaError_t, or 0: the code of the layer below. */
    int32_t native_code;
    /** One line of UTF-8, NUL-terminated: the value found and the value expected. */
    char message[XF_ERROR_MESSAGE_SIZE];
} xf_error;

/**
 * @brief Names a status code.
 *
 * @param status [in] any value, also one this version does not know
 * @return a static string such as "XF_ERROR_CORRUPT", never NULL; "XF_STATUS_UNKNOWN" for an unknown value
 * @threads any
 * @since 0.1
 */
XF_API const char *xf_status_name(int32_t status);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_STATUS_H */
