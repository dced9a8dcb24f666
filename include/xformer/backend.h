/*
 * xformer/backend.h - lists the backends, and the reason why a backend cannot be used.
 *
 * The reference backend ("ref") is part of the library. The others are plugins: files named libxformer_NAME.so. The
 * library searches these folders in this order, and uses the first file that it finds for each name:
 * 1. the folders of the option "context.backend_path";
 * 2. unless "context.backend_search" is "given": the folders of the environment variable XF_BACKEND_PATH (ignored in
 *    set-user-ID programs), the folder "xformer" next to libxformer.so, and the folder of libxformer.so.
 *
 * The current directory is never searched. A plugin is opened when a context needs it for its device, and remains open
 * until the process ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_BACKEND_H
#define XFORMER_BACKEND_H

#include "xformer/context.h"
#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup backend Backends
 * @brief The backends of this machine.
 * @{
 */

/** @brief State of a backend in a context. @since 0.1 */
enum {
    /** No file of that name was found. */
    XF_BACKEND_ABSENT = 1,
    /** The file exists; it was not opened because the context's device does not need it. */
    XF_BACKEND_FOUND = 2,
    /** The file was opened but cannot be used; see xf_backend_info::reason. */
    XF_BACKEND_UNUSABLE = 3,
    /** The file was opened and can be used, but the context computes with another backend. */
    XF_BACKEND_USABLE = 4,
    /** The context computes with it. */
    XF_BACKEND_ACTIVE = 5
};

/** @brief Description of one backend. The strings are owned by the context. @since 0.1 */
typedef struct xf_backend_info {
    /** In: sizeof(xf_backend_info) of the caller. */
    size_t struct_size;
    /** "ref", "openblas", or "cuda". */
    const char *name;
    /** Version of the plugin and of the libraries that it uses; "" if it was not opened. */
    const char *version;
    /** Path of its file; "" for the built-in backend and for an absent one. */
    const char *path;
    /** Kind of its devices: "cpu" or "cuda". */
    const char *kind;
    /** One of XF_BACKEND_.... */
    int32_t state;
    /** Number of devices that it can open; 0 if it was not opened or cannot be used. */
    int32_t device_count;
    /** The reason why it cannot be used, one sentence; otherwise "". */
    const char *reason;
} xf_backend_info;

/** @brief An xf_backend_info with its struct_size. @since 0.1 */
#define XF_BACKEND_INFO_INIT \
    { sizeof(xf_backend_info), NULL, NULL, NULL, NULL, 0, 0, NULL }

/**
 * @brief Returns the number of backends that the library supports, available or not.
 * @param context [in] the context
 * @return the number; 0 if context is NULL or another kind of handle
 * @threads any
 * @since 0.1
 */
XF_API size_t xf_context_backend_count(const xf_context *context);

/**
 * @brief Describes one backend. Does not open it.
 * @param context [in] the context
 * @param index [in] from 0 to xf_context_backend_count() - 1
 * @param info [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (index)
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_context_get_backend(const xf_context *context, size_t index, xf_backend_info *info, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_BACKEND_H */
