// The controls of the emulation, for tests; a plugin built with it exports them beside xf_plugin_init. README.md lists
// the names.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

extern "C" {
__attribute__((visibility("default"))) int64_t xf_cuda_host_get(const char *name);
__attribute__((visibility("default"))) void xf_cuda_host_set(const char *name, int64_t value);
// Enqueues work of another library. When the stream reaches it, each wait for or query of the stream calls poll(arg)
// until it returns a nonzero value. poll may access device memory and must not wait. Returns 0 or a CUDA error.
__attribute__((visibility("default"))) int32_t xf_cuda_host_external(void *stream, int32_t (*poll)(void *arg),
                                                                     void *arg);
}
