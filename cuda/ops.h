// The operations of the CUDA backend, which plugin_abi.h defines. Each .cu file implements one operation or several
// that share code.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define XF_NUM_UNTYPED
#include "backend/plugin_abi.h"

namespace xf::cuda {

XF_FOR_EACH_OP(XF_OP_DECLARE)

}  // namespace xf::cuda
