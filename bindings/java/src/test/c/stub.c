/*
 * stub.c - a libxformer.so.0 of another version, for LibraryTest: it answers the one question that is asked first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>

int32_t xf_version_num(void);

int32_t xf_version_num(void) { return STUB_VERSION; }
