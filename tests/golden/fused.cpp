// A CPU backend whose instruction set "base" has vectors of 128 bits like NEON and a fused multiply-add like AVX2, so
// that its bits must be those of all others (bits.txt). It runs only on CPUs with FMA, in a test.
//
// SPDX-License-Identifier: Apache-2.0
#define XF_ISA_FUSED 1
#define XF_ISA_NAME "base"
#include "kernels.inl"

namespace xf::openblas {

const IsaOps *ops_base() { return &kIsa; }
const IsaOps *ops_avx2() { return nullptr; }
const IsaOps *ops_avx512() { return nullptr; }

}  // namespace xf::openblas
