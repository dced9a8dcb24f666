/*
 * xformer/version.h - which library this is, at compile time and at run time.
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
 * @brief The version of the headers and of the library that is loaded.
 * @{
 */

/**
 * @brief Major version of these headers: changes when the ABI breaks, from 1 on.
 *
 * While it is 0 a minor version may break the ABI. Its symbols then stand in a new version node (XFORMER_0.2), so a
 * program linked with the old ones does not start rather than run wrong.
 *
 * @since 0.1
 */
#define XF_VERSION_MAJOR 0
/** @brief Minor version of these headers: changes when functions or options are added. @since 0.1 */
#define XF_VERSION_MINOR 1
/** @brief Patch version of these headers: changes when defects are mended. @since 0.1 */
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
 * @return a number that grows with each release
 * @threads any
 * @since 0.1
 */
XF_API int32_t xf_version_num(void);

/**
 * @brief Tells how the library was built: compiler, build type, utf8proc version.
 * @return one line of static text for bug reports, never NULL; its form may change
 * @threads any
 * @since 0.1
 */
XF_API const char *xf_build_info(void);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_VERSION_H */
