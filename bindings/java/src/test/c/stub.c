/*
 * stub.c - a libxformer.so.0 of another version, for LibraryTest: it answers the one question that is asked first. The
 * other functions are those whose addresses the glue holds, which the loader wants to know before that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>

int32_t xf_version_num(void);
void xf_config_set(void);

int32_t xf_version_num(void) { return STUB_VERSION; }

void xf_config_set(void) {}
