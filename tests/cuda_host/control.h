// The controls of the emulation, for tests; a plugin built with it exports them beside xf_plugin_init. README.md lists
// the names.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

extern "C" {
__attribute__((visibility("default"))) int64_t xf_cuda_host_get(const char *name);
__attribute__((visibility("default"))) void xf_cuda_host_set(const char *name, int64_t value);
}
