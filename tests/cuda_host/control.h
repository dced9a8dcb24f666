// The controls of the emulation, for tests; a plugin built with it exports them beside xf_plugin_init. README.md lists
// the names.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

extern "C" {
__attribute__((visibility("default"))) int64_t xf_cuda_host_get(const char *name);
__attribute__((visibility("default"))) void xf_cuda_host_set(const char *name, int64_t value);
// Work of another library in a stream: when the stream has come to it, poll(arg) is called again and again, until it
// returns other than 0, by whoever waits for the stream or asks it. It may touch device memory and may not wait.
// Returns 0, or CUDA's error.
__attribute__((visibility("default"))) int32_t xf_cuda_host_external(void *stream, int32_t (*poll)(void *arg),
                                                                     void *arg);
}
