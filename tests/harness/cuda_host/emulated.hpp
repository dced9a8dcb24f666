// For tests of the library on the emulated GPU: the controls of the emulation, in the very plugin that contexts load.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include "support/test.hpp"

namespace xf_test {

template <class Function>
Function control(const char *name) {
    static const char *const other = std::getenv("XF_TEST_CUDA_HOST_PLUGIN");
    static void *const library = dlopen(other != nullptr ? other : XF_TEST_CUDA_HOST, RTLD_NOW | RTLD_LOCAL);
    const auto function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
    XF_CHECK(function != nullptr, XF_ERROR_NOT_FOUND, "no %s in " XF_TEST_CUDA_HOST, name);
    return function;
}
inline int64_t get(const char *name) { return control<int64_t (*)(const char *)>("xf_cuda_host_get")(name); }
inline void set(const char *name, int64_t value) {
    control<void (*)(const char *, int64_t)>("xf_cuda_host_set")(name, value);
}

inline void check_nothing_lives(const std::string &when) {
    for (const char *what :
         {"live_allocations", "live_bytes", "live_pinned", "live_streams", "live_graphs", "live_events"})
        CHECK_EQ(when + ": " + what + ' ' + std::to_string(get(what)), when + ": " + what + " 0");
}

}  // namespace xf_test
