// The operations of the CUDA backend: one .cu file each, or one for a pair that shares its code. See plugin_abi.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define XF_NUM_UNTYPED
#include "backend/plugin_abi.h"

namespace xf::cuda {

XF_FOR_EACH_OP(XF_OP_DECLARE)

}  // namespace xf::cuda
