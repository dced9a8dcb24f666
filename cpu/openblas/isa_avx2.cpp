// The kernels for AVX2 and FMA.
//
// The whole of them is in kernels.inl; this file only chooses. Nothing compiled here may run before the CPU was
// asked (plugin.cpp), so no code but the kernels stands here.
//
// SPDX-License-Identifier: Apache-2.0
#define XF_ISA_AVX2 1
#define XF_ISA_NAME "avx2"
#include "kernels.inl"

namespace xf::openblas {

const IsaOps *ops_avx2() { return &kIsa; }

}  // namespace xf::openblas
