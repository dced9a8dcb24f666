// Instantiates kernels.inl for AVX2 and FMA.
//
// Code in this file may run only after plugin.cpp has checked the CPU, so the file contains nothing else.
//
// SPDX-License-Identifier: Apache-2.0
#define XF_ISA_AVX2 1
#define XF_ISA_NAME "avx2"
#include "kernels.inl"

namespace xf::openblas {

const IsaOps *ops_avx2() { return &kIsa; }

}  // namespace xf::openblas
