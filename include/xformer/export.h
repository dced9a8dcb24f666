/*
 * xformer/export.h - the macro that exports the functions of the ABI.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_EXPORT_H
#define XFORMER_EXPORT_H

/**
 * @brief Exports a public function from libxformer.so, even if the default visibility is hidden. For Windows, the list
 * of the functions is part of the build.
 * @since 0.1
 */
#if defined(__GNUC__) && !defined(_WIN32)
#define XF_API __attribute__((visibility("default")))
#else
#define XF_API
#endif

#endif /* XFORMER_EXPORT_H */
