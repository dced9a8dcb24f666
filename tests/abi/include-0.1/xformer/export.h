/*
 * xformer/export.h - the one macro that marks a function as part of the ABI.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_EXPORT_H
#define XFORMER_EXPORT_H

/** @brief Marks a public function: visible in libxformer.so whatever the visibility default. @since 0.1 */
#if defined(__GNUC__)
#define XF_API __attribute__((visibility("default")))
#else
#define XF_API
#endif

#endif /* XFORMER_EXPORT_H */
