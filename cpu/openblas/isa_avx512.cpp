// The kernels for AVX-512 F, BW, VL and DQ.
//
// The whole of them is in kernels.inl; this file only chooses. Nothing compiled here may run before the CPU was
// asked (plugin.cpp), so no code but the kernels stands here.
//
// SPDX-License-Identifier: Apache-2.0
#define XF_ISA_AVX512 1
#define XF_ISA_NAME "avx512"
#include "kernels.inl"

namespace xf::openblas {

const IsaOps *ops_avx512() { return &kIsa; }

}  // namespace xf::openblas
