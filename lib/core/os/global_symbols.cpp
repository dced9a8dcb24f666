// make_symbols_global(); see plugin.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "core/os/plugin.h"

namespace xf {

void make_symbols_global(const void *address) {
    Dl_info info{};
    if (dladdr(address, &info) != 0 && info.dli_fname != nullptr)
        dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

}  // namespace xf
