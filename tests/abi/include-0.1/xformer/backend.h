/*
 * xformer/backend.h - what can compute here, and why something can't.
 *
 * The reference backend ("ref") is part of the library. Others are plugins in the folder "xformer" beside
 * libxformer.so, in the folder of libxformer.so itself, or in the folders of the environment variable
 * XF_BACKEND_PATH (separated by ':'; ignored in set-user-ID programs). The current directory is never searched.
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

/** @brief One backend, present or not. Strings are owned by the context. @since 0.1 */
typedef struct xf_backend_info {
    /** In: sizeof(xf_backend_info) of the caller. */
    size_t struct_size;
    /** "ref", "openblas", "cuda". */
    const char *name;
    /** Version of the plugin and of what it stands on; "" when it could not be loaded. */
    const char *version;
    /** File it was loaded from; "" for the built-in one. */
    const char *path;
    /** Kind of its devices: "cpu" or "cuda". */
    const char *kind;
    /** Number of devices it can open; 0 when it is not available. */
    int32_t device_count;
    /** 1 when this context computes with it. */
    int32_t active;
    /** Why it is not available, one sentence; "" when it is. */
    const char *reason;
} xf_backend_info;

/** @brief A zeroed xf_backend_info with its struct_size. @since 0.1 */
#define XF_BACKEND_INFO_INIT \
    { sizeof(xf_backend_info), NULL, NULL, NULL, NULL, 0, 0, NULL }

/**
 * @brief Loads a backend plugin from a file, beside those found at xf_context_create().
 *
 * The context goes on with its own device; a later context created with "context.device" set uses the plugin when it
 * is loaded into that context by XF_BACKEND_PATH. This call is for looking a plugin over: it is listed afterwards.
 *
 * @param context [in] the context
 * @param path [in] file name as given to open(2)
 * @param err [out] NULL allowed
 * @return XF_OK; XF_ERROR_NOT_FOUND, XF_ERROR_BACKEND (not a plugin), XF_ERROR_VERSION, XF_ERROR_INVALID_ARGUMENT
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_backend_load(xf_context *context, const char *path, xf_error *err);

/**
 * @brief Counts the backends known to a context, available or not.
 * @param context [in] the context
 * @return their number; 0 when context is not a context
 * @threads shared-read
 * @since 0.1
 */
XF_API size_t xf_backend_count(const xf_context *context);

/**
 * @brief Describes one backend.
 * @param context [in] the context
 * @param index [in] from 0 to xf_backend_count() - 1
 * @param info [in,out] struct_size set by the caller
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_backend_get(const xf_context *context, size_t index, xf_backend_info *info, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_BACKEND_H */
