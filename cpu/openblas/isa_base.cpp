// The kernels for any CPU the compiler's baseline allows: SSE2 on x86-64.
//
// The whole of them is in kernels.inl; this file only chooses. Nothing compiled here may run before the CPU was
// asked (plugin.cpp), so no code but the kernels stands here.
//
// SPDX-License-Identifier: Apache-2.0
#define XF_ISA_NAME "base"
#include "kernels.inl"

namespace xf::openblas {

const IsaOps *ops_base() { return &kIsa; }

}  // namespace xf::openblas
