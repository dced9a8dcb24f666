// The functions of NCCL, loaded at run time, so that the plugin can be opened without NCCL and report that.
//
// ncclConfig_t contains the size and version of the header. A library of the same version or a later one accepts it.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include "comm/plugin.h"

namespace xf::nccl {

// The functions that are used. Reductions are not, because NCCL chooses their order.
#define XF_FOR_EACH_NCCL_FUNCTION(X) \
    X(ncclGetVersion)                \
    X(ncclGetUniqueId)               \
    X(ncclCommInitRankConfig)        \
    X(ncclCommGetAsyncError)         \
    X(ncclCommAbort)                 \
    X(ncclGetErrorString)            \
    X(ncclGetLastError)              \
    X(ncclSend)                      \
    X(ncclRecv)                      \
    X(ncclGroupStart)                \
    X(ncclGroupEnd)

struct Library {
#define XF_NCCL_MEMBER(name) decltype(&::name) name = nullptr;
    XF_FOR_EACH_NCCL_FUNCTION(XF_NCCL_MEMBER)
#undef XF_NCCL_MEMBER
    char version[48] = "";
};

// Returns NULL, and the reason, if NCCL is missing or too old. The library is opened once and never closed.
const Library *open_library(xf_error *err);

}  // namespace xf::nccl
