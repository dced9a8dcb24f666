// Instantiates kernels.inl for the compiler's baseline: SSE2 on x86-64.
//
// SPDX-License-Identifier: Apache-2.0
#define XF_ISA_NAME "base"
#include "kernels.inl"

namespace xf::openblas {

const IsaOps *ops_base() { return &kIsa; }

}  // namespace xf::openblas
