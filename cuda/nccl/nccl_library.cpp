// See nccl_library.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nccl_library.h"

#include <dlfcn.h>

#include <cstdio>
#include <mutex>

#include "comm/plugin_support.h"

// Tests use another one.
#ifndef XF_NCCL_LIBRARY
#define XF_NCCL_LIBRARY "libnccl.so.2"
#endif

namespace xf::nccl {

const Library *open_library(xf_error *err) {
    static std::mutex mutex;
    static Library library;
    const std::lock_guard lock(mutex);
    if (library.version[0] != 0) return &library;
    void *const file = dlopen(XF_NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) {
        const char *const reason = dlerror();
        set_error(XF_ERROR_NOT_FOUND, err, "cannot open NCCL: %.200s", reason != nullptr ? reason : XF_NCCL_LIBRARY);
        return nullptr;
    }
    Library found;
#define XF_NCCL_FIND(name)                                                                                       \
    found.name = reinterpret_cast<decltype(found.name)>(dlsym(file, #name));                                     \
    if (found.name == nullptr) {                                                                                 \
        set_error(XF_ERROR_UNSUPPORTED, err, XF_NCCL_LIBRARY " has no function %s, expected NCCL 2.14 or later", \
                  #name);                                                                                        \
        dlclose(file);                                                                                           \
        return nullptr;                                                                                          \
    }
    XF_FOR_EACH_NCCL_FUNCTION(XF_NCCL_FIND)
#undef XF_NCCL_FIND
    int number = 0;
    found.ncclGetVersion(&number);
    std::snprintf(found.version, sizeof found.version, "NCCL %d.%d.%d", number / 10000, number / 100 % 100,
                  number % 100);
    library = found;
    return &library;
}

}  // namespace xf::nccl
