/*
 * xformer/version.h - the version of the headers and of the loaded library.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_VERSION_H
#define XFORMER_VERSION_H

#include <stdint.h>

#include "xformer/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup version Version
 * @brief The version of the headers and of the loaded library.
 * @{
 */

/**
 * @brief Major version of these headers. From version 1 on, it changes when the ABI breaks.
 *
 * While it is 0, a minor version may break the ABI. The symbols of that version are in a new version node, such as
 * XFORMER_0.2, so a program that was linked with the old symbols fails to start instead of misbehaving.
 *
 * @since 0.1
 */
#define XF_VERSION_MAJOR 0
/** @brief Minor version of these headers. It changes when functions or options are added. @since 0.1 */
#define XF_VERSION_MINOR 1
/** @brief Patch version of these headers. It changes when defects are fixed. @since 0.1 */
#define XF_VERSION_PATCH 0
/** @brief The three parts as one number 0xXXYYZZ, for comparison. @since 0.1 */
#define XF_VERSION_NUM ((XF_VERSION_MAJOR << 16) | (XF_VERSION_MINOR << 8) | XF_VERSION_PATCH)

/**
 * @brief Returns the version of the loaded library, such as "0.1.0".
 * @return a static string, never NULL
 * @threads any
 * @since 0.1
 */
XF_API const char *xf_version(void);

/**
 * @brief Returns the version of the loaded library in the form of XF_VERSION_NUM.
 * @return a number that increases with each release
 * @threads any
 * @since 0.1
 */
XF_API int32_t xf_version_num(void);

/**
 * @brief Returns how the library was built: compiler, build type, and version of utf8proc.
 * @return one static line for bug reports, never NULL; its form may change
 * @threads any
 * @since 0.1
 */
XF_API const char *xf_build_info(void);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_VERSION_H */
