// Instantiates kernels.inl for AVX-512 F, BW, VL, and DQ.
//
// Code in this file may run only after plugin.cpp has checked the CPU, so the file contains nothing else.
//
// SPDX-License-Identifier: Apache-2.0
#define XF_ISA_AVX512 1
#define XF_ISA_NAME "avx512"
#include "kernels.inl"

namespace xf::openblas {

const IsaOps *ops_avx512() { return &kIsa; }

}  // namespace xf::openblas
