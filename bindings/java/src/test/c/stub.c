/*
 * stub.c - a libxformer.so.0 of another version, for LibraryTest. It has only the function that is called first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>

int32_t xf_version_num(void);

int32_t xf_version_num(void) { return STUB_VERSION; }
