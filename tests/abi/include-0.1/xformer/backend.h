/*
 * xformer/backend.h - what can compute here, and why something can't.
 *
 * The reference backend ("ref") is part of the library. Others are plugins, files named libxformer_NAME.so in the
 * folders of the option "context.backend_path", in those of the environment variable XF_BACKEND_PATH (ignored in
 * set-user-ID programs), in the folder "xformer" beside libxformer.so, or in the folder of libxformer.so itself. They
 * are searched in this order, and the first file of a name counts. The current directory is never searched. A plugin is
 * opened when a context needs it for its device, and stays open until the process ends.
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

/** @brief What a context knows of a backend. @since 0.1 */
enum xf_backend_state {
    /** There is no file of that name. */
    XF_BACKEND_ABSENT = 0,
    /** The file is there; the context's device did not need it, so it was not opened. */
    XF_BACKEND_FOUND = 1,
    /** It was opened and can't serve; reason says why. */
    XF_BACKEND_UNUSABLE = 2,
    /** It was opened and could serve. */
    XF_BACKEND_USABLE = 3,
    /** The context computes with it. */
    XF_BACKEND_ACTIVE = 4
};

/** @brief One backend, present or not. Strings are owned by the context. @since 0.1 */
typedef struct xf_backend_info {
    /** In: sizeof(xf_backend_info) of the caller. */
    size_t struct_size;
    /** "ref", "openblas", "cuda". */
    const char *name;
    /** Version of the plugin and of what it stands on; "" when it was not opened. */
    const char *version;
    /** Its file; "" for the built-in one and for one that is absent. */
    const char *path;
    /** Kind of its devices: "cpu" or "cuda". */
    const char *kind;
    /** An enum xf_backend_state. */
    int32_t state;
    /** Number of devices it can open; 0 when it was not opened or can't serve. */
    int32_t device_count;
    /** Why it can't serve, one sentence; "" when it can, or was not asked. */
    const char *reason;
} xf_backend_info;

/** @brief A zeroed xf_backend_info with its struct_size. @since 0.1 */
#define XF_BACKEND_INFO_INIT \
    { sizeof(xf_backend_info), NULL, NULL, NULL, NULL, 0, 0, NULL }

/**
 * @brief Counts the backends known to a context, available or not.
 * @param context [in] the context
 * @return their number; 0 when context is not a context
 * @threads any
 * @since 0.1
 */
XF_API size_t xf_backend_count(const xf_context *context);

/**
 * @brief Describes one backend. Opens nothing.
 * @param context [in] the context
 * @param index [in] from 0 to xf_backend_count() - 1
 * @param info [in,out] struct_size set by the caller
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE
 * @threads any
 * @since 0.1
 */
XF_API enum xf_status xf_backend_get(const xf_context *context, size_t index, xf_backend_info *info, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_BACKEND_H */
