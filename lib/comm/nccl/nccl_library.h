// NCCL's functions, found at run time: the plugin loads on a machine without NCCL and says so.
//
// ncclConfig_t has the size and version of the header, by which a library of the same age or younger knows what is set.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include "xformer/status.h"

namespace xf::nccl {

// Every function that is used. Reductions are not among them: their order is NCCL's.
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

// NULL, with the reason, when there is none or it is too old. Opened once and never closed.
const Library *open_library(xf_error *err);

}  // namespace xf::nccl
