// Instantiates kernels.inl for NEON, which every ARM64 CPU has. Kernels for other instructions are in int8_dot.cpp and
// int8_i8mm.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#define XF_ISA_NEON 1
#define XF_ISA_NAME "neon"
#include "kernels.inl"

namespace xf::openblas {

const IsaOps *ops_neon() { return &kIsa; }

}  // namespace xf::openblas
